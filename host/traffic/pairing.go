package traffic

import (
	"slices"
	"strconv"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// pairing finds the messages that belong together: a response to its request, a round to the one before, a question
// to its call. What it remembers is bounded; what it has forgotten is not paired.
type pairing struct {
	conns    table[uint64, *conn]       // by the number of the connection or HTTP request
	clients  table[uint64, string]      // the names of clients, by the hash of the id of their session
	requests table[requestKey, request] // without a response yet
	rounds   table[uint64, callRound]   // that ask for input, by the hash of the requestState
}

// conn is a connection, or an HTTP request with its response.
type conn struct {
	scope   uint64 // in which the ids of requests are unique: the session, else the connection
	session string // Message.Session
	hash    uint64 // of the id of the session, 0 without one
	client  string
	calls   []openCall // of the client, at most maxOpenCalls
}

// maxOpenCalls limits the calls that a conn remembers. A question is joined to a call only if there is one.
const maxOpenCalls = 8

type openCall struct {
	seq uint64
	callRound
}

// callRound is a round of a call, which is named by its first request.
type callRound struct {
	call  uint64
	round int
}

type requestKey struct {
	scope      uint64
	fromClient bool
	id         string
}

type request struct {
	seq          uint64
	begun        time.Time
	method, name string
	callRound
}

// complete adds to a message what is known of its connection and of the messages that it belongs to. client is the
// name that the message gives for its sender, and state the hash of its requestState.
func (p *pairing) complete(m *Message, w *wire, client string, state uint64) {
	c := p.conn(w)
	if client != "" && m.FromClient {
		c.client = client
	}
	switch {
	case c.hash == 0:
	case c.client != "":
		p.clients.set(c.hash, c.client)
	default:
		c.client = p.clients.get(c.hash)
	}
	m.Session, m.Client = c.session, c.client
	switch {
	case m.Kind == Request:
		p.request(m, c, state)
	case m.isAnswer():
		p.answer(m, c, state)
		if w.overHTTP && len(c.calls) == 0 {
			p.conns.delete(w.conn)
		}
	}
	if w.ends {
		p.conns.delete(w.conn)
	}
}

// learn notes what an HTTP request or response without a message says about its connection.
func (p *pairing) learn(w *wire) {
	if c := p.conn(w); c.hash != 0 && c.client != "" {
		p.clients.set(c.hash, c.client)
	}
	if w.ends {
		p.conns.delete(w.conn)
	}
}

// conn returns the connection of a message.
func (p *pairing) conn(w *wire) *conn {
	c := p.conns.get(w.conn)
	if c == nil {
		c = &conn{scope: w.conn}
		if !w.overHTTP {
			c.session = "c" + strconv.FormatUint(w.conn, 10)
		}
		p.conns.set(w.conn, c)
	}
	if w.session != 0 {
		c.session, c.hash = w.sessionID, w.session
		if w.status == 0 { // the response to initialize is the first message that has the id
			c.scope = w.session
		}
	}
	return c
}

func (p *pairing) request(m *Message, c *conn, state uint64) {
	switch {
	case !m.FromClient && len(c.calls) == 1:
		m.Call, m.Round = c.calls[0].call, c.calls[0].round
	case m.FromClient:
		m.Call, m.Round = m.Seq, 1
		if before := p.rounds.get(state); state != 0 && before.call != 0 {
			m.Call, m.Round = before.call, before.round+1
		}
		if m.Method != mcp.MethodListen && m.Method != mcp.MethodPing && len(c.calls) < maxOpenCalls {
			c.calls = append(c.calls, openCall{m.Seq, callRound{m.Call, m.Round}})
		}
	}
	key := requestKey{c.scope, m.FromClient, m.ID}
	p.requests.set(key, request{m.Seq, m.Time, m.Method, m.Name, callRound{m.Call, m.Round}})
}

func (p *pairing) answer(m *Message, c *conn, state uint64) {
	key := requestKey{c.scope, !m.FromClient, m.ID}
	asked := p.requests.get(key)
	if asked.seq == 0 {
		return
	}
	p.requests.delete(key)
	m.Request, m.Method, m.Name = asked.seq, asked.method, asked.name
	m.Milliseconds = float64(m.Time.Sub(asked.begun).Microseconds()) / 1000
	m.Call, m.Round = asked.call, asked.round
	c.calls = slices.DeleteFunc(c.calls, func(o openCall) bool { return o.seq == asked.seq })
	if m.Asks && state != 0 {
		p.rounds.set(state, asked.callRound)
	}
}

// table is a map that forgets what was not used for long: it has between maxEntries and twice as many
// entries, once so many were set.
type table[K comparable, V any] struct{ recent, older map[K]V }

const maxEntries = 1024

// get returns the value of a key, or the zero value.
func (t *table[K, V]) get(key K) V {
	v, ok := t.recent[key]
	if !ok {
		if v, ok = t.older[key]; ok {
			delete(t.older, key)
			t.set(key, v)
		}
	}
	return v
}

func (t *table[K, V]) set(key K, v V) {
	if _, ok := t.recent[key]; !ok && len(t.recent) >= maxEntries {
		t.older, t.recent = t.recent, nil
	}
	if t.recent == nil {
		t.recent = make(map[K]V)
	}
	t.recent[key] = v
}

func (t *table[K, V]) delete(key K) {
	delete(t.recent, key)
	delete(t.older, key)
}
