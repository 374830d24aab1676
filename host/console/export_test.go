package console

// The limits, for the comparison with docs/limits.md.
const (
	MaxLinks      = maxLinks
	MaxSessions   = maxSessions
	MaxStreams    = maxStreams
	MaxForm       = maxForm
	KeptDurations = keptDurations
	MaxMessages   = maxMessages
)
