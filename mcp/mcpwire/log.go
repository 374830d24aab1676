package mcpwire

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// LogOptions are the options of a Log. The zero value, like a nil pointer, gives the defaults.
type LogOptions struct {
	// JSON writes each line as a JSON object, for programs. Its members are described at [Line].
	JSON bool
	// MaxBytes limits the message in a line, in bytes. A line of a longer message has the
	// beginning, and the size of the message. Default: 4 KiB.
	MaxBytes int
	// MaxText limits each text in a message, in bytes. Of a longer one the line has the first 128 bytes.
	// Default: 512.
	MaxText int
}

func (o *LogOptions) orZero() LogOptions {
	if o == nil {
		return LogOptions{}
	}
	return *o
}

// Log writes messages to an io.Writer. It is safe for concurrent use. Make one with NewLog.
type Log struct {
	name string
	log  *shared
}

// shared is what all Logs of one NewLog share.
type shared struct {
	options    LogOptions
	maxWaiting int

	mu      sync.Mutex
	w       io.Writer
	waiting requests
	clients clients
	forms   forms
}

// NewLog returns a Log that writes to w. Each line is one call of Write, and no two calls are made at
// once; a message waits until its line is written. Errors of Write are ignored.
func NewLog(w io.Writer, o *LogOptions) *Log {
	return &Log{log: &shared{options: o.orZero(), maxWaiting: maxWaiting, w: w}}
}

// As returns a Log whose lines have a name, such as that of the server that a client is connected to.
// It writes to the same io.Writer.
func (l *Log) As(name string) *Log { return &Log{name, l.log} }

// Record writes a line for each message of m. It is made for the option OnMessage of servers and clients.
func (l *Log) Record(m mcp.WireMessage) {
	now := time.Now()
	messages := split(m.Data)
	if len(messages) == 0 {
		messages = []jsontext.Value{nil}
	}
	for _, data := range messages {
		line := l.line(now, m, data)
		l.log.write(line)
	}
}

func (l *Log) line(now time.Time, m mcp.WireMessage, data jsontext.Value) *Line {
	line := &Line{Time: now, Name: l.name, Conn: m.Conn, Sent: m.Sent, Bytes: len(data)}
	if m.HTTP != nil {
		line.HTTP = newHTTPLine(m.HTTP)
		line.session = strings.Join(m.HTTP.Header[httpheader.SessionID], "")
	}
	if len(data) > 0 {
		o := &l.log.options
		line.read(data, form{most: cmp.Or(o.MaxBytes, defaultMaxBytes), maxText: cmp.Or(o.MaxText, maxText), brief: !o.JSON})
	}
	return line
}

const defaultMaxBytes = 4 << 10

// write completes a line with what is known of its request and its client, and writes it.
func (s *shared) write(line *Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !line.Sent {
		s.clients.name(line)
	}
	s.waiting.complete(line, s.maxWaiting)
	s.forms.complete(line)
	if line.Sent {
		s.clients.open(line)
	}
	text := line.text
	if s.options.JSON {
		text = line.json
	}
	_, _ = s.w.Write(append(text(), '\n'))
}

// split returns the messages of a batch, or the only message.
func split(data []byte) []jsontext.Value {
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) == 0 || text[0] != '[' {
		return []jsontext.Value{data}
	}
	var messages []jsontext.Value
	if unmarshal(data, &messages) != nil {
		return []jsontext.Value{data}
	}
	return messages
}
