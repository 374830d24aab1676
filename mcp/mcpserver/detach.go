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

// Background connects work that continues after its request was answered with the client,
// see [Detach]. All fields may be nil.
type Background struct {
	// Ask returns the client's answer to a question of the work, under a key that is
	// used once. Its ctx ends with the cause ErrShutdown when a Shutdown begins, after
	// which no answers are accepted. Nil: questions fail with ErrCannotAsk.
	Ask func(ctx context.Context, key string, q mcp.InputRequest) (jsontext.Value, error)
	// Progress is called with the progress of the work, whether or not the client
	// asked for progress. It is called once at a time, without a lock, and may call the
	// server; done waits for it, so it must not call done. A panic is logged.
	Progress func(p mcp.ProgressParams)
	// BeforeStep is called before a function of Once is run. If it fails, so does Once, and
	// the function is not run. It must not block.
	BeforeStep func() error
	// Record stores the memory of the work, after each step: each Once and each answer to an
	// Ask. The step fails if Record does. memory encodes what the steps so far have returned;
	// Server.Replay needs it to run the work again. It holds arguments and answers, so it
	// has to be encrypted where others can read it. Steps that end at the same time call Record
	// concurrently: what memory returns later contains what it has returned before.
	Record func(ctx context.Context, memory func() []byte) error
	// Meta is the metadata of progress and log messages. The stateless era sends
	// none of them once the request was answered.
	Meta mcp.Meta
	// Attached says that the request is answered when the work has ended. Until then progress and
	// log messages are sent on the stream of the request, unless BeforeStep fails. Without it they
	// are sent as messages that belong to no request.
	Attached bool
}

// Detach returns a context for work that continues after the request of ctx was answered.
// It does not end with the request or the connection, but when done is called or the
// context of Shutdown ends. It has the values of ctx, and the work keeps the values of Park
// and the results of Once. Questions, progress and log messages of the work use b. With ctx,
// Ask, Once and Park fail with ErrCallEnded from then on.
//
// Detach is safe for concurrent use, and one call of it succeeds in a request: a second one
// fails with ErrCallEnded. If a question is open, it fails with ErrInputRequired.
//
// done must be called when the work is finished, because Shutdown waits for it. Detach
// fails with ErrNotInCall outside of a request, with the cause of ctx when ctx has ended,
// and with an error of code mcp.CodeOverloaded when the server is shutting down.
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
	if b.Ask != nil {
		r.asked.Store(true)
	}
	d := &Request{method: r.method, call: r.call, in: r.in, server: r.server, route: r.route, replayed: r.replayed, detached: &b}
	detached, cancel := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), requestKey{}, d))
	d.ctx = detached
	kept, err := r.keep(r.size(), cancel)
	if err == nil {
		err = r.run.Move(&d.run)
	}
	if err != nil {
		kept.Release()
		cancel(nil)
		r.server.detached.Leave()
		return nil, nil, err
	}
	stop := context.AfterFunc(r.server.life, func() { cancel(ErrShutdown) })
	work, ended := r.server.beginDetached(detached)
	return work, func() {
		if !d.end() {
			return
		}
		stop()
		cancel(context.Canceled)
		d.releaseRun()
		kept.Release()
		ended()
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

// askDetached returns the answer to one question of detached work. It fails if the client
// did not declare the capability.
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

// callDetached is Request.Call for detached work: a question with a random key.
func (r *Request) callDetached(ctx context.Context, method string, params, out any) error {
	key := rand.Text()
	if r.detached.Record != nil {
		key = "call " + method // the same in every run
	}
	raw, err := r.askDetached(ctx, key, method, params)
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
