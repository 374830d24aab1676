package traffic

import (
	"context"
	"hash/maphash"
	"iter"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Capacity is the number of messages that a Recorder keeps.
const Capacity = 1000

// Recorder keeps the envelopes of the last messages. It is safe for concurrent use. Make one with New.
type Recorder struct {
	seed maphash.Seed

	mu      sync.Mutex
	ring    []Message     // guarded by mu: the message with Seq n is at (n-1) modulo Capacity
	last    uint64        // guarded by mu: the Seq of the newest message
	pairs   pairing       // guarded by mu
	used    usage         // guarded by mu
	changed chan struct{} // guarded by mu: closed by the next message, nil if nobody waits for one
}

// New returns a Recorder without messages.
func New() *Recorder { return &Recorder{seed: maphash.MakeSeed()} }

// Record adds the messages that m has: of an upstream with that key, or of a client of the host if upstream is
// empty. It is made for Options.OnMessage of package gateway. Nothing of m is used after it has returned.
func (r *Recorder) Record(upstream string, m mcp.WireMessage) {
	now := time.Now()
	w := wireOf(r.seed, upstream, m)
	if len(m.Data) == 0 {
		r.recordHTTP(now, &w)
		return
	}
	each(m.Data, func(data []byte) {
		var e envelope
		e.read(data)
		r.add(now, &w, &e, len(data))
	})
}

// add adds a message. It writes it to its place in the ring, because copies of it on the stack make the stacks of
// short goroutines grow.
func (r *Recorder) add(now time.Time, w *wire, e *envelope, size int) {
	var h hashes
	if len(e.state) > 0 {
		h.state = hash(r.seed, w.upstream, e.state)
	}
	if e.kind == Request && w.fromClient {
		h.asks = e.hashOfAsked(r.seed, w.upstream)
	}
	client := short(e.client)
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.nextLocked(now, w)
	m.Kind, m.Method, m.ID, m.Name = e.kind, short(e.method), short(e.id), short(e.name)
	m.Bytes, m.Code, m.ToolError, m.Asks = size, e.code, e.toolError, e.asks
	if len(e.trace) > 0 {
		m.Trace = string(e.trace)
	}
	r.used.note(m, r.pairs.complete(m, w, client, h))
}

// firstError is the lowest status of an HTTP response that is an error.
const firstError = 400

// recordHTTP learns what an HTTP request or response without a message says about its session, and adds a response
// that has failed.
func (r *Recorder) recordHTTP(now time.Time, w *wire) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.status < firstError {
		r.pairs.learn(w)
		return
	}
	m := r.nextLocked(now, w)
	m.Kind = HTTP
	r.pairs.complete(m, w, "", hashes{})
}

// nextLocked returns the place of a new message, with what its connection says.
func (r *Recorder) nextLocked(now time.Time, w *wire) *Message {
	if len(r.ring) < Capacity {
		r.ring = append(r.ring, Message{})
	}
	m := &r.ring[r.last%Capacity]
	*m = Message{}
	r.last++
	m.Seq, m.Time, m.Upstream, m.Conn, m.FromClient = r.last, now, w.upstream, w.conn, w.fromClient
	m.Principal, m.Status, m.Trace = w.principal, w.status, w.trace
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	return m
}

// Messages returns the messages that are kept, the oldest first.
func (r *Recorder) Messages() []Message {
	messages, _, _ := r.since(0)
	return messages
}

// Batch is what Follow yields at once.
type Batch struct {
	// Missed is the number of messages before these that the reader was too slow for.
	Missed uint64
	// Messages are in the order of Seq. They belong to the reader.
	Messages []Message
}

// Follow yields the messages after the one with the Seq after, and then each new one, until ctx is done. With 0
// it begins with the oldest message that is kept. A reader gets all messages since it was last called in
// one batch. It slows nothing: one that is slower than the messages misses the oldest, and is told how many.
func (r *Recorder) Follow(ctx context.Context, after uint64) iter.Seq[Batch] {
	return func(yield func(Batch) bool) {
		for first := true; ctx.Err() == nil; first = false {
			messages, missed, changed := r.since(after)
			if len(messages) == 0 {
				select {
				case <-changed:
				case <-ctx.Done():
				}
				continue
			}
			if first && after == 0 {
				missed = 0 // the reader has asked for what is kept
			}
			after = messages[len(messages)-1].Seq
			if !yield(Batch{missed, messages}) {
				return
			}
		}
	}
}

// since returns the messages after a Seq that are kept, how many after it are not, and, if there is none, a
// channel that the next one closes.
func (r *Recorder) since(after uint64) (messages []Message, missed uint64, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if after >= r.last {
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		return nil, 0, r.changed
	}
	oldest := r.last - uint64(len(r.ring)) // the Seq before the oldest message
	if after < oldest {
		missed, after = oldest-after, oldest
	}
	messages = make([]Message, 0, r.last-after)
	for seq := after; seq < r.last; seq++ {
		messages = append(messages, r.ring[seq%Capacity])
	}
	return messages, missed, nil
}
