package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// Apart says how work that goes on after its request was answered reaches the
// client. All fields may be nil.
type Apart struct {
	// Ask has a question answered that the work asks, under a key that is used
	// once. Its ctx ends with the cause ErrShutdown as soon as a Shutdown begins,
	// which takes no more answers. Nil: nothing can be asked.
	Ask func(ctx context.Context, key string, q mcp.InputRequest) (jsontext.Value, error)
	// Progress hears how far the work has come, whether or not the client asked
	// for progress. It is called once at a time, without a lock, and may call the
	// server; done waits for it, so it must not call done. A panic is logged.
	Progress func(p mcp.ProgressParams)
	// Meta is the metadata of progress and log messages. The stateless era has
	// none of them for work that goes on apart.
	Meta mcp.Meta
}

// Detach lets work go on when the request of ctx has been answered: its context
// ends neither with the request nor with the connection, but when done is called
// or a Shutdown has waited long enough. What hangs on ctx goes over, with the
// values of Park and the results of Once; what is asked, reported and logged from
// then on goes the way of a. The old ctx is of no more use.
//
// done has to be called when the work is over: Shutdown waits for it. Detach fails
// outside of a request, and when the request has ended or the server shuts down.
func Detach(ctx context.Context, a Apart) (apart context.Context, done func(), err error) {
	r := From(ctx)
	switch {
	case r == nil:
		return nil, nil, ErrNotInCall
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	}
	if err := r.server.apart.enter(r.Method); err != nil {
		return nil, nil, err
	}
	d := &Request{Method: r.Method, Params: r.Params, call: r.call, in: r.in, server: r.server, way: r.way, apart: &a}
	if err := r.run.Move(&d.run); err != nil {
		r.server.apart.leave()
		return nil, nil, err
	}
	apart, cancel := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), requestKey{}, d))
	d.ctx = apart
	stop := context.AfterFunc(r.server.life, func() { cancel(ErrShutdown) })
	return apart, func() {
		if !d.end() {
			return
		}
		stop()
		cancel(context.Canceled)
		replay.CloseAll(d.run.Close().Values)
		r.server.apart.leave()
	}, nil
}

// lastMoment is how long a Shutdown that has waited long enough waits for work
// that it has cancelled.
const lastMoment = time.Second

// askApart has one question answered, if the client declared that it may be asked.
func (r *Request) askApart(ctx context.Context, key, method string, params any) (jsontext.Value, error) {
	q, err := r.call.InputRequest(method, params)
	switch {
	case err != nil:
		return nil, err
	case r.apart.Ask == nil:
		return nil, fmt.Errorf("%s: %w", method, ErrCannotAsk)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.server.open, func() { cancel(ErrShutdown) })()
	return r.apart.Ask(ctx, key, q)
}

// answerApart has an unnamed question of work that goes on apart answered.
func (r *Request) answerApart(ctx context.Context, method string, params, out any) error {
	raw, err := r.askApart(ctx, rand.Text(), method, params)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: the client's answer: %v", method, err)
	}
	return nil
}

func (a *Apart) meta() mcp.Meta {
	if a == nil {
		return nil
	}
	return a.Meta
}
