package peer

import (
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// The queue of one Waiter is limited in number and in bytes. When it is full, the oldest
// notifications are dropped, so that a caller that does not read delays no other. The response
// itself is not in the queue and is never dropped.
const (
	maxQueued      = 256
	maxQueuedBytes = 16 << 20
)

// Pending is the table of outbound requests that wait for their response. The
// zero value is ready for use; all methods are safe for concurrent use. Ids are
// consecutive numbers and are never used twice. A peer may echo them as strings.
type Pending struct {
	mu      sync.Mutex
	last    int64
	waiting map[string]*Waiter // by ID.Key
	closed  *closing           // set by the first Close or Fail
	spare   []*Waiter          // closed ones, to be used again

	abandoned map[string]struct{} // by ID.Key: requests that were given up without a response
}

// closing is how a table ended. A table holds a pointer to it, because every idle session has a table.
type closing struct {
	reason error         // why no new request can wait
	idle   chan struct{} // closed when no request waits any more
}

// maxSpare is the maximum number of closed Waiters that are kept for reuse.
const maxSpare = 64

// maxAbandoned is the maximum number of abandoned requests that are kept. Once it is reached,
// none is removed any more, so that Only finds no request.
const maxAbandoned = 64

// Waiter is one outbound request: a queue of the messages that belong to it,
// followed by the response.
type Waiter struct {
	ID    jsonrpc.ID
	table *Pending
	wake  chan struct{} // one token: something has come

	// table.mu guards the fields below.
	logs    bool // see DeliverLog
	queue   []jsonrpc.Message
	bytes   int // of the params in queue
	dropped int
	answer  jsonrpc.Message // of kind Invalid until it has come
	err     error
}

// StartAt sets the number before that of the first id. It must be called before Open.
func (p *Pending) StartAt(n int64) { p.last = n }

// Open adds a new request with a new id. After Fail it returns Fail's error.
// Every Waiter must be closed once.
func (p *Pending) Open() (*Waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed != nil {
		return nil, p.closed.reason
	}
	p.last++
	w := p.newWaiter()
	w.ID = jsonrpc.NumberID(p.last)
	if p.waiting == nil {
		p.waiting = make(map[string]*Waiter)
	}
	p.waiting[w.ID.Key()] = w
	return w, nil
}

// newWaiter returns an empty Waiter, a reused one if there is any. The caller
// holds mu.
func (p *Pending) newWaiter() *Waiter {
	last := len(p.spare) - 1
	if last < 0 {
		return &Waiter{table: p, wake: make(chan struct{}, 1)}
	}
	w := p.spare[last]
	p.spare = p.spare[:last]
	*w = Waiter{table: p, wake: w.wake}
	return w
}

// Resolve delivers a response to the request that it answers. It reports false
// if no request with its id waits: the response is late, repeated or forged.
func (p *Pending) Resolve(m jsonrpc.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := m.ID.NumberKey()
	w := p.waiting[key]
	if w == nil {
		p.answered(key)
		return false
	}
	p.remove(key)
	w.answer = m
	w.signal()
	return true
}

// Only returns the id of the request that waits, if it is the only one without a response.
// Otherwise it returns the zero ID: a response without an id could then be that to another
// request that waits, or to one that was given up.
func (p *Pending) Only() jsonrpc.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) != 1 || len(p.abandoned) > 0 {
		return jsonrpc.ID{}
	}
	for _, w := range p.waiting {
		return w.ID
	}
	return jsonrpc.ID{}
}

// ForgetAbandoned says that no request that was given up so far gets a response any more.
func (p *Pending) ForgetAbandoned() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandoned = nil
}

// abandon keeps the id of a request that is given up without a response. The caller holds mu.
func (p *Pending) abandon(key string) {
	if p.abandoned == nil {
		p.abandoned = make(map[string]struct{})
	}
	if len(p.abandoned) < maxAbandoned {
		p.abandoned[key] = struct{}{}
	}
}

// answered is called for a response to no request that waits. The caller holds mu.
func (p *Pending) answered(key string) {
	if len(p.abandoned) < maxAbandoned {
		delete(p.abandoned, key)
	}
}

// Deliver queues a message for the request of that id, before its response. It
// reports false if no such request waits.
func (p *Pending) Deliver(id jsonrpc.ID, m jsonrpc.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.waiting[id.NumberKey()]
	if w == nil {
		return false
	}
	w.push(m)
	return true
}

// DeliverLog queues a log message, which itself does not name its request. The id is that of the
// request on whose stream it came, or zero if the stream has no request; then it is queued for the
// only request that accepts logs. It reports false if the request does not accept logs, or if none
// or more than one does.
func (p *Pending) DeliverLog(of jsonrpc.ID, m jsonrpc.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.waiting[of.Key()]
	if of.IsZero() {
		w = p.onlyLogged()
	}
	if w == nil || !w.logs {
		return false
	}
	w.push(m)
	return true
}

// onlyLogged returns the request that accepts logs, or nil if none or more than one does. The
// caller holds mu.
func (p *Pending) onlyLogged() (only *Waiter) {
	for _, w := range p.waiting {
		if w.logs && only != nil {
			return nil
		}
		if w.logs {
			only = w
		}
	}
	return only
}

// TakeLogs makes the request accept log messages.
func (w *Waiter) TakeLogs() {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.logs = true
}

// Refuse ends the request of that id with err, because its response is invalid.
// It reports false if no such request waits.
func (p *Pending) Refuse(id jsonrpc.ID, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := id.NumberKey()
	w := p.waiting[key]
	if w == nil {
		p.answered(key)
		return false
	}
	p.remove(key)
	w.err = err
	w.signal()
	return true
}

// RefuseAll ends every request that waits with err. Later requests are not affected.
func (p *Pending) RefuseAll(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuseAll(err)
}

// Close refuses new requests with err. Those that wait may still get their response; the
// channel is closed when none waits any more. Only the first call has an effect.
func (p *Pending) Close(err error) (idle <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close(err)
	return p.closed.idle
}

// Fail ends every waiting request, and every later one, with err, or with the error of an
// earlier Close.
func (p *Pending) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close(err)
	p.refuseAll(p.closed.reason)
}

// refuseAll ends every request that waits. The caller holds mu.
func (p *Pending) refuseAll(err error) {
	for key, w := range p.waiting {
		w.err = err
		w.signal()
		p.remove(key)
		p.abandon(key)
	}
}

// close refuses new requests, unless that has been done before. The caller holds mu.
func (p *Pending) close(reason error) {
	if p.closed != nil {
		return
	}
	p.closed = &closing{reason: reason, idle: make(chan struct{})}
	if len(p.waiting) == 0 {
		close(p.closed.idle)
	}
}

// remove removes a request, if it waits. The caller holds mu.
func (p *Pending) remove(key string) {
	before := len(p.waiting)
	delete(p.waiting, key)
	if p.closed != nil && before == 1 && len(p.waiting) == 0 {
		close(p.closed.idle)
	}
}

// Len returns the number of waiting requests.
func (p *Pending) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// Next waits for the next message of the request and returns it, in the order
// of arrival. The last one is the response.
func (w *Waiter) Next(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if m, err, ok := w.pop(); ok {
			return m, err
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return jsonrpc.Message{}, context.Cause(ctx)
		}
	}
}

// Close removes the request from the table. A later response is dropped. The Waiter must not be
// used after Close, because a new request may reuse it.
func (w *Waiter) Close() {
	p := w.table
	p.mu.Lock()
	defer p.mu.Unlock()
	if key := w.ID.Key(); p.waiting[key] != nil {
		p.remove(key)
		p.abandon(key)
	}
	if len(p.spare) == maxSpare {
		return
	}
	select {
	case <-w.wake:
	default:
	}
	w.queue, w.answer = nil, jsonrpc.Message{}
	p.spare = append(p.spare, w)
}

// Dropped returns the number of notifications that were dropped because the
// queue was full.
func (w *Waiter) Dropped() int {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	return w.dropped
}

func (w *Waiter) pop() (m jsonrpc.Message, err error, ok bool) {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	if len(w.queue) > 0 {
		m = w.queue[0]
		w.queue = w.queue[1:]
		w.bytes -= len(m.Params)
		return m, nil, true
	}
	m, w.answer = w.answer, jsonrpc.Message{}
	return m, w.err, m.Kind != jsonrpc.Invalid || w.err != nil
}

// push queues a message before the response. The caller holds table.mu.
func (w *Waiter) push(m jsonrpc.Message) {
	for len(w.queue) > 0 && (len(w.queue) >= maxQueued || w.bytes+len(m.Params) > maxQueuedBytes) {
		w.bytes -= len(w.queue[0].Params)
		w.queue = slices.Delete(w.queue, 0, 1)
		w.dropped++
	}
	w.queue = append(w.queue, m)
	w.bytes += len(m.Params)
	w.signal()
}

func (w *Waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
