package traffic

import (
	"cmp"
	"hash/maphash"

	"github.com/fondaco/fondaco/mcp"
)

// The headers that a Recorder reads, in their canonical form.
const (
	sessionHeader = "Mcp-Session-Id"
	traceHeader   = "Traceparent"
)

// shownID is how much of the id of a session is shown. The rest is a secret of the client.
const shownID = 8

// wire is what an mcp.WireMessage says beside its message.
type wire struct {
	upstream   string
	conn       uint64
	fromClient bool
	overHTTP   bool
	status     int
	ends       bool   // the response, and with it what is known of the connection
	principal  string // empty in the hop of an upstream
	sessionID  string // the beginning of the header
	session    uint64 // a hash of the header, 0 without one
	trace      string
}

func wireOf(seed maphash.Seed, upstream string, m mcp.WireMessage) wire {
	w := wire{upstream: upstream, conn: m.Conn, fromClient: m.Sent == (upstream != "")}
	if upstream == "" {
		w.principal = principalName(m.Principal)
	}
	if m.HTTP == nil {
		return w
	}
	w.overHTTP, w.status = true, m.HTTP.Status
	w.ends = w.status != 0 && !m.HTTP.Event
	if id := m.HTTP.Header[sessionHeader]; len(id) > 0 && id[0] != "" {
		w.sessionID = shortID(id[0])
		w.session = hash(seed, upstream, []byte(id[0]))
	}
	if parent := m.HTTP.Header[traceHeader]; len(parent) > 0 {
		w.trace = string(traceID([]byte(parent[0])))
	}
	return w
}

// shortID returns what is shown of the id of a session. A peer can send any bytes as one.
func shortID(id string) string { return short([]byte(id[:min(shownID, len(id))])) }

// hash returns a hash of a secret of one hop. Equal texts of different upstreams have different ones.
func hash(seed maphash.Seed, upstream string, secret []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(upstream)
	_ = h.WriteByte(0)
	_, _ = h.Write(secret)
	return h.Sum64()
}

// principalName returns a principal as people know it.
func principalName(p mcp.Principal) string {
	if !p.Authenticated() {
		return p.String()
	}
	return short([]byte(cmp.Or(p.Subject, p.Client, p.Issuer)))
}
