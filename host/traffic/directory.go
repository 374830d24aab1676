package traffic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp"
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
	// maxSessions limits the sessions of which the file is known. One of which nothing was heard for long gets another file.
	maxSessions = 1024
	// maxConns limits the requests over Streamable HTTP that run. What is more is taken for requests without a session.
	maxConns = 2048
	// maxHeld limits a request that waits for its response, which says whether there is such a session, and
	// maxAllHeld those of all sessions. What is more is left out.
	maxHeld    = 64 << 10
	maxAllHeld = 8 << 20
)

// DirectoryOptions are the options of a Directory. The zero value, like a nil pointer, gives the defaults.
type DirectoryOptions struct {
	// MaxBytes limits the files of the directory: the oldest are removed. No file has more than an eighth of it; a
	// longer session goes on in another one. Default: DefaultDirectoryBytes.
	MaxBytes int64
	// Handshakes are those of the host, with which a file begins that does not begin with its session. Default: it
	// begins without.
	Handshakes *Handshakes
	// Hide returns a line without secrets that its form does not show, such as those of the configuration.
	// Default: as it is.
	Hide func(line string) string
	// OnError is called when lines could not be written, on a goroutine of the Directory. Default: nothing.
	OnError func(error)
}

// Directory records the messages of a host with their bodies, without secrets: one file per session, in the format of
// mcpwire.Recording. Requests over Streamable HTTP without a session are in one file per client, and what
// was refused and belongs to no session in one for each owner.
//
// Owners share the directory: principals, addresses of anonymous clients, and in the hop of an upstream those whose
// connections they are. When there is too much, the owner with the most loses its oldest file; while anonymous
// clients together have more than half, it is one of them. The files of earlier runs have one owner.
//
// A message does not wait for the disk: of messages that come faster than they can be written, some are
// left out, and OnError says how many. It is safe for concurrent use. Make one with OpenDirectory.
type Directory struct {
	path       string
	hide       func(string) string
	handshakes *Handshakes // nil for none
	onError    func(error)
	cancel     context.CancelFunc
	ended      chan struct{} // closed when the writer has ended

	mu       sync.Mutex
	conns    ownedTable[uint64, *recordedConn] // guarded by mu: HTTP requests without the whole response
	sessions ownedTable[string, *sessionFile]  // guarded by mu
	held     int                               // guarded by mu: bytes of the requests in conns

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
	file *sessionFile     // nil until it is known
	held *mcp.WireMessage // the request until then, nil if it was too large
	key  string           // of the file if the response is no refusal, empty if the response says which
	name string
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
		path: path, hide: o.Hide, handshakes: o.Handshakes, onError: o.OnError,
		conns: newOwnedTable[uint64, *recordedConn](maxConns), sessions: newOwnedTable[string, *sessionFile](maxSessions),
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
	d.recordUnanswered()
	d.counts.Lock()
	d.counts.closed = true
	d.counts.Unlock()
	d.cancel()
	<-d.ended
	return nil
}

// fileOf returns the file of a message, and the request that has to be recorded before it. The file is nil if the
// message is held, or belongs to no request.
func (d *Directory) fileOf(upstream string, m *mcp.WireMessage) (file *sessionFile, before *mcp.WireMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := firstEnvelope(m.Data)
	if m.HTTP == nil {
		name := "c" + strconv.FormatUint(m.Conn, 10)
		return d.sessionLocked(upstream, m, sessionKey(upstream, m), name, isHandshake(&first)), nil
	}
	if m.HTTP.Status == 0 {
		return d.requestLocked(upstream, m, &first), nil
	}
	c := d.conns.get(m.Conn)
	if c == nil {
		return nil, nil
	}
	if !m.HTTP.Event {
		d.conns.delete(m.Conn)
	}
	if c.file == nil {
		c.file, before = d.answeredLocked(upstream, m, c)
	}
	return c.file, before
}

// requestLocked returns the file of an HTTP request if it is known, and else holds the request: anybody can
// send any id of a session, and any name of a client.
func (d *Directory) requestLocked(upstream string, m *mcp.WireMessage, first *envelope) *sessionFile {
	c := new(recordedConn)
	switch id := m.HTTP.Header[sessionHeader]; {
	case len(id) > 0 && id[0] != "":
		c.key, c.name = sessionKey(upstream, m), shortID(id[0])
	case string(first.method) == mcp.MethodInitialize:
	case len(m.Data) == 0: // it is no message, and belongs to nothing
		return nil
	default:
		c.key = statelessKey(upstream, m, first.client)
		c.name = cmp.Or(short(first.client), principalName(m.Principal))
	}
	if removed := d.conns.set(ownerOf(upstream, m), m.Conn, c); removed != nil && removed.held != nil {
		d.held -= len(removed.held.Data)
		d.leaveOut(1)
	}
	if c.key != "" && upstream != "" {
		c.file = d.sessionLocked(upstream, m, c.key, c.name, isHandshake(first))
		return c.file
	}
	if c.file = d.sessions.get(c.key); c.file != nil {
		return c.file
	}
	if len(m.Data) > maxHeld || d.held+len(m.Data) > maxAllHeld {
		d.leaveOut(1)
		return nil
	}
	held := withoutHeaders(m)
	held.Data = slices.Clone(m.Data)
	c.held = &held
	d.held += len(held.Data)
	return nil
}

// answeredLocked returns the file of a request that was held, and the request.
func (d *Directory) answeredLocked(upstream string, m *mcp.WireMessage, c *recordedConn) (file *sessionFile, before *mcp.WireMessage) {
	first := envelope{}
	if before, c.held = c.held, nil; before != nil {
		d.held -= len(before.Data)
		first = firstEnvelope(before.Data)
	}
	id := m.HTTP.Header[sessionHeader]
	switch {
	case m.HTTP.Status >= firstError:
		return d.noSessionLocked(upstream, m), before
	case c.key == "" && len(id) > 0 && id[0] != "":
		c.key, c.name = sessionKey(upstream, m), shortID(id[0])
	case c.key == "": // initialize at a server without sessions
		c.key, c.name = statelessKey(upstream, m, first.client), cmp.Or(short(first.client), principalName(m.Principal))
	}
	return d.sessionLocked(upstream, m, c.key, c.name, isHandshake(&first)), before
}

// recordUnanswered records the requests that are held.
func (d *Directory) recordUnanswered() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.conns.entries {
		entry := e.Value.(*ownedEntry[uint64, *recordedConn])
		if c := entry.value; c.held != nil {
			d.noSessionLocked(entry.owner.upstream, c.held).log.Record(*c.held)
			c.held = nil
		}
	}
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

// noSessionLocked returns the file of what belongs to no session, of the owner of a message.
func (d *Directory) noSessionLocked(upstream string, m *mcp.WireMessage) *sessionFile {
	of := ownerOf(upstream, m)
	return d.sessionLocked(upstream, m, upstream+"\x00r"+of.principal.String()+"\x00"+of.address.String(), "no-session", true)
}

// sessionLocked returns the file of a session, which is that of the owner of m. begins says that the session begins with m.
func (d *Directory) sessionLocked(upstream string, m *mcp.WireMessage, key, name string, begins bool) *sessionFile {
	file := d.sessions.get(key)
	if file == nil {
		of := ownerOf(upstream, m)
		file = newSessionFile(d, of, key, name)
		file.begins = begins
		d.sessions.set(of, key, file)
	}
	return file
}

// leaveOut counts lines that are not written.
func (d *Directory) leaveOut(n int) {
	d.counts.Lock()
	defer d.counts.Unlock()
	d.counts.lost += n
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
				d.report(nil, 0)
				return
			}
		}
	}
}

func (d *Directory) writeLine(ring *fileRing, l queuedLine) {
	d.report(ring.append(d.path, l.file, l.line), len(l.line))
}

// report reports the error of a line of some bytes and, once no line is queued, how many messages were left out.
func (d *Directory) report(err error, written int) {
	d.counts.Lock()
	d.counts.queued -= written
	lost := d.counts.lost
	if d.counts.queued == 0 {
		d.counts.lost = 0 // said below
	} else {
		lost = 0
	}
	d.counts.Unlock()
	if lost > 0 {
		err = errors.Join(err, fmt.Errorf("messages that were left out, because they came too fast, were too large, or got no response: %d", lost))
	}
	if err != nil && d.onError != nil {
		d.onError(fmt.Errorf("record: %w", err))
	}
}
