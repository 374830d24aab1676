package mcpwire

// Waiting returns the number of requests whose response was not seen.
func (l *Log) Waiting() int { return len(l.log.waiting) }
