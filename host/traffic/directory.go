package traffic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// The limits of a Directory.
const (
	// DefaultDirectoryBytes limits the files of a directory.
	DefaultDirectoryBytes = 256 << 20
	// maxFiles limits their number, and maxOpenFiles how many of them are open.
	maxFiles     = 1000
	maxOpenFiles = 64
	// maxQueued limits the lines that wait to be written, in bytes.
	maxQueued = 16 << 20
	// maxHeld limits an initialize that waits for the id of its session. A larger one is not in the file of its session.
	maxHeld = 8 << 10
)

// DirectoryOptions are the options of a Directory. The zero value, like a nil pointer, gives the defaults.
type DirectoryOptions struct {
	// MaxBytes limits the files of the directory: the oldest are removed. No file has more than an eighth of it; a
	// longer session goes on in another one. Default: DefaultDirectoryBytes.
	MaxBytes int64
	// Hide returns a line without secrets that its form does not show, such as those of the configuration.
	// Default: as it is.
	Hide func(line string) string
	// OnError is called when lines could not be written, on a goroutine of the Directory. Default: nothing.
	OnError func(error)
}

// Directory records the messages of a host with their bodies, without secrets: one file per session, in the format of
// mcpwire.Recording. Requests over Streamable HTTP without a session are in one file per client. A
// message does not wait for the disk: of messages that come faster than they can be written, some are
// left out, and OnError says how many. It is safe for concurrent use. Make one with OpenDirectory.
type Directory struct {
	path     string
	maxBytes int64
	hide     func(string) string
	onError  func(error)
	cancel   context.CancelFunc
	ended    chan struct{} // closed when the writer has ended

	mu       sync.Mutex
	conns    table[uint64, *recordedConn] // guarded by mu: HTTP requests and their responses
	sessions table[string, *sessionFile]  // guarded by mu

	queue chan queuedLine

	counts struct {
		sync.Mutex
		queued int // bytes
		lost   int // lines
		closed bool
	}
}

type queuedLine struct {
	file *sessionFile
	line []byte
}

// recordedConn is an HTTP request with its response.
type recordedConn struct {
	file *sessionFile
	held *mcp.WireMessage // initialize, until its response says which session it has opened
}

// OpenDirectory creates a directory if there is none, and begins to record in it. It must be the user's own, and nobody
// else may be able to write to it. The recordings that it has count for MaxBytes.
func OpenDirectory(path string, o *DirectoryOptions) (*Directory, error) {
	if o == nil {
		o = new(DirectoryOptions)
	}
	if err := errors.Join(userfile.MkdirAll(path), userfile.Check(path)); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	ring, err := readRing(path, cmp.Or(o.MaxBytes, DefaultDirectoryBytes))
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	d := &Directory{
		path: path, maxBytes: ring.maxBytes, hide: o.Hide, onError: o.OnError,
		ended: make(chan struct{}), queue: make(chan queuedLine, 4096),
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	go d.write(ctx, ring)
	return d, nil
}

// Record adds the messages of m to the file of their session. It has the parameters of Recorder.Record.
func (d *Directory) Record(upstream string, m mcp.WireMessage) {
	if file, before := d.fileOf(upstream, &m); file != nil {
		if before != nil {
			file.log.Record(*before)
		}
		file.log.Record(m)
	}
}

// Close writes what is queued, and ends. Later messages are not recorded.
func (d *Directory) Close() error {
	d.counts.Lock()
	d.counts.closed = true
	d.counts.Unlock()
	d.cancel()
	<-d.ended
	return nil
}

// fileOf returns the file of a message, and the message that has to be recorded before it. The file is nil if m is held,
// or belongs to no session.
func (d *Directory) fileOf(upstream string, m *mcp.WireMessage) (file *sessionFile, before *mcp.WireMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.HTTP == nil {
		return d.sessionLocked(upstream, fmt.Sprint("c", m.Conn), ""), nil
	}
	c := d.conns.get(m.Conn)
	if c == nil {
		c = new(recordedConn)
		d.conns.set(m.Conn, c)
	}
	if m.HTTP.Status != 0 && !m.HTTP.Event {
		d.conns.delete(m.Conn)
	}
	first := firstEnvelope(m.Data)
	switch id := m.HTTP.Header[sessionHeader]; {
	case c.file != nil:
	case len(id) > 0 && id[0] != "":
		c.file = d.sessionLocked(upstream, id[0], shortID(id[0]))
	case c.held == nil && string(first.method) == mcp.MethodInitialize && len(m.Data) <= maxHeld:
		held := *m
		held.Data, held.HTTP = slices.Clone(m.Data), &mcp.WireHTTP{Method: m.HTTP.Method, Path: m.HTTP.Path}
		c.held = &held
		return nil, nil
	case len(m.Data) == 0 && c.held == nil:
		return nil, nil
	default:
		name := cmp.Or(short(first.client), principalName(m.Principal))
		c.file = d.sessionLocked(upstream, "stateless\x00"+m.Principal.String()+"\x00"+name, name)
	}
	before, c.held = c.held, nil
	return c.file, before
}

// firstEnvelope returns the envelope of the first message.
func firstEnvelope(data []byte) (first envelope) {
	each(data, func(message []byte) {
		if first.kind == "" {
			first.read(message)
		}
	})
	return first
}

// sessionLocked returns the file of a session, which key identifies at the upstream.
func (d *Directory) sessionLocked(upstream, key, name string) *sessionFile {
	key = upstream + "\x00" + key
	file := d.sessions.get(key)
	if file == nil {
		file = newSessionFile(d, upstream, cmp.Or(name, key[len(upstream)+1:]))
		d.sessions.set(key, file)
	}
	return file
}

// sessionFile is a session and its file. A session of which nothing was heard for long may get another one.
type sessionFile struct {
	directory *Directory
	log       *mcpwire.Log
	base      string // of the names of its files
	header    []byte // the first line of each file

	// The writer of the directory alone uses the following.
	part int
	path string // of the current part, empty before there is one
	size int64
	open *os.File // nil if it is not open
}

func newSessionFile(d *Directory, upstream, name string) *sessionFile {
	header := mcpwire.RecordingHeader{Side: mcpwire.ClientSide, Name: cmp.Or(upstream, name), Program: "fondaco " + host.Version}
	if upstream == "" {
		header.Side = mcpwire.ServerSide
	}
	now := time.Now().UTC()
	f := &sessionFile{directory: d, base: now.Format("20060102-150405.000") + "-" + fileWord(cmp.Or(upstream, "clients")) + "-" + fileWord(name)}
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
	text := slices.Clone(line)
	if hide := f.directory.hide; hide != nil {
		text = hidden(line, hide)
	}
	if len(text) > 0 {
		f.directory.enqueue(queuedLine{f, text})
	}
	return len(line), nil
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

// enqueue queues a line, or counts it as lost if there is no room.
func (d *Directory) enqueue(l queuedLine) {
	d.counts.Lock()
	defer d.counts.Unlock()
	if d.counts.closed {
		return
	}
	if d.counts.queued+len(l.line) > maxQueued {
		d.counts.lost++
		return
	}
	select {
	case d.queue <- l:
		d.counts.queued += len(l.line)
	default:
		d.counts.lost++
	}
}

// write writes the lines until ctx ends and all are written.
func (d *Directory) write(ctx context.Context, ring *fileRing) {
	defer close(d.ended)
	defer ring.close()
	for {
		select {
		case l := <-d.queue:
			d.writeLine(ring, l)
			continue
		default:
		}
		select {
		case l := <-d.queue:
			d.writeLine(ring, l)
		case <-ctx.Done():
			if len(d.queue) == 0 { // nothing is queued after Close
				return
			}
		}
	}
}

func (d *Directory) writeLine(ring *fileRing, l queuedLine) {
	err := ring.append(d.path, l.file, l.line)
	d.counts.Lock()
	d.counts.queued -= len(l.line)
	lost := d.counts.lost
	if d.counts.queued == 0 {
		d.counts.lost = 0 // said below
	} else {
		lost = 0
	}
	d.counts.Unlock()
	if lost > 0 {
		err = errors.Join(err, fmt.Errorf("messages that came too fast to be written: %d", lost))
	}
	if err != nil && d.onError != nil {
		d.onError(fmt.Errorf("record: %w", err))
	}
}
