// Package oversize keeps the ends of messages that are too long to be read, so that the
// requests that they belong to can be found.
package oversize

// MaxPart is the maximum size of Head and of Tail, in bytes.
const MaxPart = 4 << 10

// Message is a message that is skipped. The zero value is one of which nothing has come.
type Message struct {
	Size int    // so far
	Head []byte // the first bytes
	Tail []byte // the last bytes, which may overlap the first
}

// Add adds the next part of the message, which it copies as far as it keeps it.
func (m *Message) Add(part []byte) {
	m.Size += len(part)
	if room := MaxPart - len(m.Head); room > 0 {
		m.Head = append(m.Head, part[:min(room, len(part))]...)
	}
	if len(part) >= MaxPart {
		m.Tail = append(m.Tail[:0], part[len(part)-MaxPart:]...)
		return
	}
	if excess := len(m.Tail) + len(part) - MaxPart; excess > 0 {
		m.Tail = m.Tail[:copy(m.Tail, m.Tail[excess:])]
	}
	m.Tail = append(m.Tail, part...)
}
