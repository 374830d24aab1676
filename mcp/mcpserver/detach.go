package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/drain"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// Background says how work that goes on after its request was answered reaches the
// client, see [Detach]. All fields may be nil.
type Background struct {
	// Ask gets the client's answer to a question of the work, under a key that is
	// used once. Its ctx ends with the cause ErrShutdown as soon as a Shutdown begins,
	// which takes no more answers. Nil: nothing can be asked.
	Ask func(ctx context.Context, key string, q mcp.InputRequest) (jsontext.Value, error)
	// Progress is called with the progress of the work, whether or not the client
	// asked for progress. It is called once at a time, without a lock, and may call the
	// server; done waits for it, so it must not call done. A panic is logged.
	Progress func(p mcp.ProgressParams)
	// Meta is the metadata of progress and log messages. The stateless era sends
	// none of them once the request was answered.
	Meta mcp.Meta
}

// Detach lets work go on when the request of ctx has been answered: its context
// ends neither with the request nor with the connection, but when done is called
// or a Shutdown has waited long enough. It has the values of ctx, those of Park and
// the results of Once; questions, progress and log messages go the way of b from then
// on. ctx must not be used any more.
//
// done has to be called when the work is over: Shutdown waits for it. Detach fails
// outside of a request, and when the request has ended or the server shuts down.
func Detach(ctx context.Context, b Background) (background context.Context, done func(), err error) {
	r := From(ctx)
	switch {
	case r == nil:
		return nil, nil, ErrNotInCall
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	}
	if err := r.resume(); err != nil {
		return nil, nil, err
	}
	if !r.server.detached.Enter() {
		return nil, nil, exchange.ShuttingDown(r.method)
	}
	d := &Request{method: r.method, params: r.params, call: r.call, in: r.in, server: r.server, route: r.route, detached: &b}
	if err := r.run.Move(&d.run); err != nil {
		r.server.detached.Leave()
		return nil, nil, err
	}
	detached, cancel := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), requestKey{}, d))
	d.ctx = detached
	stop := context.AfterFunc(r.server.life, func() { cancel(ErrShutdown) })
	return detached, func() {
		if !d.end() {
			return
		}
		stop()
		cancel(context.Canceled)
		d.releaseRun()
		r.server.detached.Leave()
	}, nil
}

// runningWork returns the group that counts the goroutines of the request's handler.
func (r *Request) runningWork() *drain.Group {
	if r.detached != nil {
		return &r.server.detached
	}
	return &r.server.requests
}

// askDetached gets the answer to one question of detached work, if the client declared that it may be asked.
func (r *Request) askDetached(ctx context.Context, key, method string, params any) (jsontext.Value, error) {
	q, err := r.call.InputRequest(method, params)
	switch {
	case err != nil:
		return nil, err
	case r.detached.Ask == nil:
		return nil, fmt.Errorf("%s: %w", method, ErrCannotAsk)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.server.open, func() { cancel(ErrShutdown) })()
	defer exchange.PauseAll(ctx)() // time limits and slots that the work is still under
	return r.detached.Ask(ctx, key, q)
}

// callDetached is Call for detached work: a question under a key of its own.
func (r *Request) callDetached(ctx context.Context, method string, params, out any) error {
	raw, err := r.askDetached(ctx, rand.Text(), method, params)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: the client's answer: %v", method, err)
	}
	return nil
}

func (b *Background) meta() mcp.Meta {
	if b == nil {
		return nil
	}
	return b.Meta
}
