package peer

import (
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// What waits for one caller is bounded in number and in bytes. When it is full the
// oldest make room, so that a caller that does not listen delays nobody; the
// answer itself does not wait in the queue and is never dropped.
const (
	maxQueued      = 256
	maxQueuedBytes = 16 << 20
)

// Pending is the table of our own requests that wait for their answer. The zero
// value is ready for use; all methods are safe for concurrent use. Ids count up
// and are never used twice.
type Pending struct {
	mu      sync.Mutex
	last    int64
	waiting map[string]*Waiter // by ID.Key
	failed  error              // why no answer can come any more
	spare   []*Waiter          // closed ones, to be used again
}

// maxSpare bounds the Waiters that are kept to be used again.
const maxSpare = 64

// Waiter is one request that waits: a queue of the messages that belong to it,
// and behind them the response.
type Waiter struct {
	ID    jsonrpc.ID
	table *Pending
	wake  chan struct{} // one token: something has come

	// What follows is guarded by table.mu.
	logs    bool // see DeliverLog
	queue   []jsonrpc.Message
	bytes   int // of the params in queue
	dropped int
	answer  jsonrpc.Message // of kind Invalid until it has come
	err     error
}

// Open enters a new request and gives it an id. It fails with the error of Fail
// once that was called. Every Waiter needs one Close.
func (p *Pending) Open() (*Waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return nil, p.failed
	}
	p.last++
	w := p.fresh()
	w.ID = jsonrpc.NumberID(p.last)
	if p.waiting == nil {
		p.waiting = make(map[string]*Waiter)
	}
	p.waiting[w.ID.Key()] = w
	return w, nil
}

// fresh returns a Waiter for which nothing has come. The caller holds mu.
func (p *Pending) fresh() *Waiter {
	last := len(p.spare) - 1
	if last < 0 {
		return &Waiter{table: p, wake: make(chan struct{}, 1)}
	}
	w := p.spare[last]
	p.spare = p.spare[:last]
	*w = Waiter{table: p, wake: w.wake}
	return w
}

// Resolve hands a response to the request that it answers. It reports false
// when no request waits under its id: the answer is late, doubled or invented.
func (p *Pending) Resolve(m jsonrpc.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := m.ID.Key()
	w := p.waiting[key]
	if w == nil {
		return false
	}
	delete(p.waiting, key)
	w.answer = m
	w.signal()
	return true
}

// Deliver queues a message that belongs to the request of that id, in front of
// its response. It reports false when no such request waits.
func (p *Pending) Deliver(id jsonrpc.ID, m jsonrpc.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.waiting[id.Key()]
	if w == nil {
		return false
	}
	w.push(m)
	return true
}

// DeliverLog queues a log message, which does not say to which request it belongs:
// for the request of that id, on whose own stream it came, or under the zero id
// for the only request that it can be of. It reports false when that takes no logs,
// or there is none or more than one.
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

// onlyLogged returns the request that takes logs if there is one and no other. The
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

// TakeLogs lets log messages be those of the request.
func (w *Waiter) TakeLogs() {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.logs = true
}

// Refuse ends the request of that id with err: its answer has come and is of no
// use. It reports false when no such request waits.
func (p *Pending) Refuse(id jsonrpc.ID, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.waiting[id.Key()]
	if w == nil {
		return false
	}
	delete(p.waiting, id.Key())
	w.err = err
	w.signal()
	return true
}

// Fail ends every waiting request, and every later one, with err.
func (p *Pending) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return
	}
	p.failed = err
	for _, w := range p.waiting {
		w.err = err
		w.signal()
	}
	clear(p.waiting)
}

// Len returns how many requests wait.
func (p *Pending) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// Next returns the next message that belongs to the request, in the order in
// which they came. The last one is the response.
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

// Close frees the request's slot. A response that comes later is dropped. It is the
// last use of the Waiter, which the next request may get.
func (w *Waiter) Close() {
	p := w.table
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, w.ID.Key())
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

// Dropped returns how many notifications had to make room for later ones.
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

// push queues a message in front of the response. The caller holds table.mu.
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
