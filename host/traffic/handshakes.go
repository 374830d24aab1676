package traffic

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// The limits of Handshakes.
const (
	// maxHandshakes limits the sessions of which the handshake is kept, and those that wait for the result of theirs.
	maxHandshakes = 512
	// maxHandshake limits a message of a handshake that is kept, in bytes. What is kept of one is at most maxHandshakeLine.
	maxHandshake     = 64 << 10
	maxHandshakeLine = 4 << 10
)

// Handshakes keeps how the sessions of a host have begun, without secrets: the request initialize or server/discover
// with its result. Recordings that begin in the middle of a session have them. It is safe for concurrent use. Make
// one with NewHandshakes.
type Handshakes struct {
	waiting atomic.Int64 // the length of asked

	mu    sync.Mutex
	asked ownedTable[uint64, *handshake] // guarded by mu: by connection, without the result yet
	done  ownedTable[string, *handshake] // guarded by mu: by sessionKey
}

// handshake is the lines of a request and its result.
type handshake struct {
	log   *mcpwire.Log
	id    []byte
	key   string // of the session, empty if the result says which it is
	lines [][]byte
}

// Write adds a line.
func (h *handshake) Write(line []byte) (int, error) {
	h.lines = append(h.lines, bytes.Clone(line))
	return len(line), nil
}

// NewHandshakes returns a Handshakes that knows no session.
func NewHandshakes() *Handshakes {
	return &Handshakes{asked: newOwnedTable[uint64, *handshake](maxHandshakes), done: newOwnedTable[string, *handshake](maxHandshakes)}
}

// Record keeps m if it belongs to a handshake. It has the parameters of Recorder.Record. Other messages cost little.
func (h *Handshakes) Record(upstream string, m mcp.WireMessage) {
	fromClient := m.Sent == (upstream != "")
	switch {
	case len(m.Data) > 0 && len(m.Data) <= maxHandshake && fromClient && mayBeHandshake(m.Data):
		h.ask(upstream, &m)
	case h.waiting.Load() > 0 && !fromClient:
		h.answer(upstream, &m)
	}
}

// mayBeHandshake reports whether a message can be the request of a handshake. Only its beginning and its end are
// searched, because large messages are none.
func mayBeHandshake(data []byte) bool {
	const part = 4 << 10
	for _, text := range [][]byte{data[:min(len(data), part)], data[max(len(data)-part, 0):]} {
		if bytes.Contains(text, []byte(mcp.MethodInitialize)) || bytes.Contains(text, []byte(mcp.MethodDiscover)) {
			return true
		}
	}
	return false
}

func isHandshake(e *envelope) bool {
	return e.kind == Request && (string(e.method) == mcp.MethodInitialize || string(e.method) == mcp.MethodDiscover)
}

func (h *Handshakes) ask(upstream string, m *mcp.WireMessage) {
	first := firstEnvelope(m.Data)
	if !isHandshake(&first) || len(first.id) > maxText {
		return
	}
	begun := &handshake{id: bytes.Clone(first.id)}
	switch {
	case m.HTTP == nil || m.HTTP.Header[sessionHeader] != nil:
		begun.key = sessionKey(upstream, m)
	case string(first.method) == mcp.MethodDiscover:
		begun.key = statelessKey(upstream, m, first.client)
	}
	begun.log = mcpwire.NewLog(begun, &mcpwire.LogOptions{JSON: true, MaxBytes: maxHandshakeLine})
	begun.log.Record(withoutHeaders(m))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked.set(ownerOf(upstream, m), m.Conn, begun)
	h.waiting.Store(int64(h.asked.len()))
}

func (h *Handshakes) answer(upstream string, m *mcp.WireMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	begun := h.asked.get(m.Conn)
	if begun == nil {
		return
	}
	first := firstEnvelope(m.Data)
	answers := (first.kind == Result || first.kind == Error) && bytes.Equal(first.id, begun.id)
	if answers || m.HTTP != nil && m.HTTP.Status != 0 && !m.HTTP.Event {
		h.asked.delete(m.Conn)
		h.waiting.Store(int64(h.asked.len()))
	}
	if !answers || first.kind == Error {
		return
	}
	if begun.key == "" {
		begun.key = sessionKey(upstream, m)
	}
	if begun.key == "" { // a server without sessions
		return
	}
	begun.log.Record(withoutHeaders(m))
	begun.log = nil
	h.done.set(ownerOf(upstream, m), begun.key, begun)
}

// withoutHeaders returns a message without the headers of HTTP.
func withoutHeaders(m *mcp.WireMessage) mcp.WireMessage {
	bare := *m
	if h := m.HTTP; h != nil {
		bare.HTTP = &mcp.WireHTTP{Method: h.Method, Path: h.Path, Status: h.Status, Event: h.Event}
	}
	return bare
}

// lines returns the lines of the handshake of a session, nil if it is not known. A nil Handshakes knows none.
func (h *Handshakes) lines(key string) [][]byte {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if begun := h.done.get(key); begun != nil {
		return begun.lines
	}
	return nil
}

// sessionKey identifies the session of a message at its upstream. It is empty over Streamable HTTP without a session.
func sessionKey(upstream string, m *mcp.WireMessage) string {
	if m.HTTP == nil {
		return upstream + "\x00c" + strconv.FormatUint(m.Conn, 10)
	}
	if id := m.HTTP.Header[sessionHeader]; len(id) > 0 && id[0] != "" {
		return upstream + "\x00s" + id[0]
	}
	return ""
}

// statelessKey identifies the requests without a session of one client. client is the name that it has declared.
func statelessKey(upstream string, m *mcp.WireMessage, client []byte) string {
	return upstream + "\x00n" + m.Principal.String() + "\x00" + ownerOf(upstream, m).address.String() + "\x00" + short(client)
}
