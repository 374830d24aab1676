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
		r.recordHTTP(now, w)
		return
	}
	each(m.Data, func(data []byte) {
		e := readEnvelope(data)
		message := Message{
			Time: now, Upstream: upstream, Conn: m.Conn, FromClient: w.fromClient, Principal: w.principal,
			Kind: e.kind, Method: short(e.method), ID: short(e.id), Name: short(e.name),
			Bytes: len(data), Status: w.status, Code: e.code, ToolError: e.toolError, Asks: e.asks, Trace: string(e.trace),
		}
		if message.Trace == "" {
			message.Trace = w.trace
		}
		client := short(e.client)
		var state uint64
		if len(e.state) > 0 {
			state = hash(r.seed, upstream, e.state)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		message.Seq = r.last + 1
		r.pairs.complete(&message, &w, client, state)
		r.addLocked(&message)
	})
}

// recordHTTP learns what an HTTP request or response says about its session, and adds a response that has failed.
func (r *Recorder) recordHTTP(now time.Time, w wire) {
	const firstError = 400
	r.mu.Lock()
	defer r.mu.Unlock()
	message := Message{
		Seq: r.last + 1, Time: now, Upstream: w.upstream, Conn: w.conn, FromClient: w.fromClient, Principal: w.principal,
		Kind: HTTP, Status: w.status, Trace: w.trace,
	}
	if r.pairs.complete(&message, &w, "", 0); w.status >= firstError {
		r.addLocked(&message)
	}
}

func (r *Recorder) addLocked(m *Message) {
	if len(r.ring) < Capacity {
		r.ring = append(r.ring, *m)
	} else {
		r.ring[r.last%Capacity] = *m
	}
	r.last++
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
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
