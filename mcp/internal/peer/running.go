package peer

import (
	"context"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
)

// Running is the table of inbound requests that are being processed. The zero
// value is ready for use; all methods are safe for concurrent use.
type Running struct {
	mu    sync.Mutex
	calls map[string]*Work // by ID.Key
	idle  sync.WaitGroup
}

// Work is one inbound request that is being processed.
type Work struct {
	ctx   lazyctx.Context
	table *Running
	key   string

	cancelled bool // by the peer; guarded by table.mu
}

// Begin adds a request and returns it with its context. It returns nil if a
// request with the same id is already being processed. Each Work must be ended
// once.
func (r *Running) Begin(ctx context.Context, id jsonrpc.ID) (context.Context, *Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[id.Key()] != nil {
		return ctx, nil
	}
	w := r.begin(ctx, id)
	return &w.ctx, w
}

// Replace is Begin for a request that takes the place of the one with the same id, whose context
// ends with cause.
func (r *Running) Replace(ctx context.Context, id jsonrpc.ID, cause error) (context.Context, *Work) {
	r.mu.Lock()
	former := r.calls[id.Key()]
	w := r.begin(ctx, id)
	r.mu.Unlock()
	if former != nil {
		former.ctx.Cancel(cause)
	}
	return &w.ctx, w
}

// begin adds a request. It needs mu.
func (r *Running) begin(ctx context.Context, id jsonrpc.ID) *Work {
	if r.calls == nil {
		r.calls = make(map[string]*Work)
	}
	w := &Work{table: r, key: id.Key()}
	w.ctx.Begin(ctx, nil)
	r.calls[w.key] = w
	r.idle.Add(1)
	return w
}

// End removes the request from the table and reports whether to send its reply:
// a request that its caller cancelled gets none.
func (w *Work) End() (wanted bool) {
	w.table.mu.Lock()
	if w.table.calls[w.key] == w {
		delete(w.table.calls, w.key)
	}
	wanted = !w.cancelled
	w.table.mu.Unlock()
	w.ctx.Cancel(nil)
	w.table.idle.Done()
	return wanted
}

// Cancel cancels the request of that id because its caller asked for it.
// Unknown and finished ids are ignored.
func (r *Running) Cancel(id jsonrpc.ID, cause error) bool {
	r.mu.Lock()
	w := r.calls[id.Key()]
	if w != nil {
		w.cancelled = true
	}
	r.mu.Unlock()
	if w == nil {
		return false
	}
	w.ctx.Cancel(cause)
	return true
}

// CancelAll cancels the context of every request, for example at the end of a
// connection.
func (r *Running) CancelAll(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.calls {
		w.ctx.Cancel(cause)
	}
}

// Len returns the number of requests that are being processed.
func (r *Running) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls)
}

// Wanted returns the number of requests that are being processed and whose reply is still wanted.
func (r *Running) Wanted() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.calls {
		if !w.cancelled {
			n++
		}
	}
	return n
}

// Wait returns when no request is being processed.
func (r *Running) Wait() { r.idle.Wait() }
