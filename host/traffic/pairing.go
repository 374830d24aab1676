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
	asked    table[uint64, askedCalls]  // calls of clients that the host was not seen to send on, by the hash of what they ask for
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
	call   uint64
	round  int
	origin uint64 // Message.Origin
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
	bytes        int
	asks         uint64 // hash of what it asks for
	callRound
}

// hashes are of parts of a message that are not kept; 0 stands for none.
type hashes struct {
	state uint64 // the requestState
	asks  uint64 // what a request asks for, equal in both hops
}

// complete adds to a message what is known of its connection and of the messages that it belongs to. client is the
// name that the message gives for its sender. It returns the size of the request that the message answers, 0 if that
// is not known.
func (p *pairing) complete(m *Message, w *wire, client string, h hashes) (requestBytes int) {
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
		p.request(m, c, h)
	case m.isAnswer():
		requestBytes = p.answer(m, c, h.state)
		if w.overHTTP && len(c.calls) == 0 {
			p.conns.delete(w.conn)
		}
	}
	if w.ends {
		p.conns.delete(w.conn)
	}
	return requestBytes
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

func (p *pairing) request(m *Message, c *conn, h hashes) {
	switch {
	case !m.FromClient && len(c.calls) == 1:
		m.setCall(c.calls[0].callRound)
	case m.FromClient:
		round := callRound{m.Seq, 1, 0}
		if before := p.rounds.get(h.state); h.state != 0 && before.call != 0 {
			round = callRound{before.call, before.round + 1, before.origin}
		}
		switch {
		case m.Upstream == "":
		case round.origin != 0:
			p.removeAsked(h.asks, round.origin)
		default:
			round.origin = p.takeAsked(h.asks)
		}
		m.setCall(round)
		if m.Upstream == "" {
			p.addAsked(h.asks, m.Call)
		}
		if m.Method != mcp.MethodListen && m.Method != mcp.MethodPing && len(c.calls) < maxOpenCalls {
			c.calls = append(c.calls, openCall{m.Seq, m.callRound()})
		}
	}
	key := requestKey{c.scope, m.FromClient, m.ID}
	p.requests.set(key, request{m.Seq, m.Time, m.Method, m.Name, m.Bytes, h.asks, m.callRound()})
}

// answer returns the size of the request.
func (p *pairing) answer(m *Message, c *conn, state uint64) int {
	key := requestKey{c.scope, !m.FromClient, m.ID}
	asked := p.requests.get(key)
	if asked.seq == 0 {
		return 0
	}
	p.requests.delete(key)
	m.Request, m.Method, m.Name = asked.seq, asked.method, asked.name
	m.Milliseconds = float64(m.Time.Sub(asked.begun).Microseconds()) / 1000
	m.setCall(asked.callRound)
	if m.Upstream == "" && !m.FromClient {
		p.removeAsked(asked.asks, asked.call)
	}
	c.calls = slices.DeleteFunc(c.calls, func(o openCall) bool { return o.seq == asked.seq })
	if m.Asks && state != 0 {
		p.rounds.set(state, asked.callRound)
	}
	return asked.bytes
}

func (m *Message) setCall(r callRound) { m.Call, m.Round, m.Origin = r.call, r.round, r.origin }

func (m *Message) callRound() callRound { return callRound{m.Call, m.Round, m.Origin} }

// maxAsked limits the calls of clients that ask for the same and were not sent on yet, beside the first one. Further ones are not joined.
const maxAsked = 63

// askedCalls are the calls of clients that ask for the same, in the order in which they came. Most are alone, and need
// no memory of their own.
type askedCalls struct {
	first uint64
	more  []uint64
}

// addAsked notes a call of a client that the host may send on.
func (p *pairing) addAsked(asks, call uint64) {
	if asks == 0 {
		return
	}
	calls := p.asked.get(asks)
	switch {
	case calls.first == 0:
		calls.first = call
	case len(calls.more) < maxAsked:
		calls.more = append(calls.more, call)
	default:
		return
	}
	p.asked.set(asks, calls)
}

// takeAsked returns the first call of a client for which the host may send a request, 0 if there is none.
func (p *pairing) takeAsked(asks uint64) (call uint64) {
	if asks == 0 {
		return 0
	}
	call = p.asked.get(asks).first
	p.removeAsked(asks, call)
	return call
}

// removeAsked forgets a call that was sent on or answered.
func (p *pairing) removeAsked(asks, call uint64) {
	if asks == 0 || call == 0 {
		return
	}
	calls := p.asked.get(asks)
	switch {
	case calls.first != call:
		calls.more = slices.DeleteFunc(calls.more, func(c uint64) bool { return c == call })
	case len(calls.more) > 0:
		calls.first = calls.more[0]
		calls.more = slices.Delete(calls.more, 0, 1)
	default:
		p.asked.delete(asks)
		return
	}
	if calls.first != 0 {
		p.asked.set(asks, calls)
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
