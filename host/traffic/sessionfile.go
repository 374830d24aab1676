package traffic

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// sessionFile is a session and its file. A session of which nothing was heard for long may get another one.
type sessionFile struct {
	directory *Directory
	owner     owner
	key       string // of the session, see sessionKey
	begins    bool   // the first file begins with the session
	log       *mcpwire.Log
	base      string // of the names of its files
	header    []byte // the first line of each file

	// The writer of the directory alone uses the following.
	part  int
	path  string // of the current part, empty before there is one
	size  int64
	start int64    // the size with the header and the handshake alone
	open  *os.File // nil if it is not open
}

func newSessionFile(d *Directory, of owner, key, name string) *sessionFile {
	upstream := of.upstream
	header := mcpwire.RecordingHeader{Side: mcpwire.ClientSide, Name: cmp.Or(upstream, name), Program: "fondaco " + host.Version}
	if upstream == "" {
		header.Side = mcpwire.ServerSide
	}
	now := time.Now().UTC()
	f := &sessionFile{directory: d, owner: of, key: key, base: now.Format("20060102-150405.000") + "-" + fileWord(cmp.Or(upstream, "clients")) + "-" + fileWord(name)}
	f.log, _ = mcpwire.NewRecording(f, header) // it fails only for another side
	return f
}

// fileWord returns a text as part of the name of a file.
func fileWord(text string) string {
	const longest = 32
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, text[:min(len(text), longest)])
}

// Write queues a line. The first one is the header.
func (f *sessionFile) Write(line []byte) (int, error) {
	if f.header == nil {
		f.header = slices.Clone(line)
		return len(line), nil
	}
	if text := f.directory.withoutSecrets(line); len(text) > 0 {
		f.directory.enqueue(queuedLine{f, text})
	}
	return len(line), nil
}

// firstLines returns what the next file begins with: the header and, if the session has begun before, its handshake.
func (f *sessionFile) firstLines() []byte {
	lines := slices.Clone(f.header)
	if f.part <= 1 && f.begins {
		return lines
	}
	for _, line := range f.directory.handshakes.lines(f.key) {
		lines = append(lines, f.directory.withoutSecrets(line)...)
	}
	return lines
}

// withoutSecrets returns a copy of a line without the secrets of DirectoryOptions.Hide.
func (d *Directory) withoutSecrets(line []byte) []byte {
	if d.hide == nil {
		return slices.Clone(line)
	}
	return hidden(line, d.hide)
}

// hidden returns a line without secrets. If one was a number, what is left is no JSON, and nobody could read the
// recording: the line then lacks the body of the message, or is nil if that is not enough.
func hidden(line []byte, hide func(string) string) []byte {
	text := []byte(hide(string(line)))
	if bytes.Equal(text, line) || jsontext.Value(text).IsValid() {
		return text
	}
	var l mcpwire.Line
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	l.Payload, l.Cut = nil, true
	short, err := json.Marshal(&l)
	text = []byte(hide(string(short) + "\n"))
	if err != nil || !jsontext.Value(text).IsValid() {
		return nil
	}
	return text
}
