package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// Request sends a request of any method, such as one that an extension defines,
// and decodes the result into out, a pointer, or drops it when out is nil.
// Params encode as a JSON object, or are nil.
func (c *Client) Request(ctx context.Context, method string, params, out any, opts ...CallOption) error {
	if out == nil {
		out = new(jsontext.Value)
	}
	r := &Request{Method: method, Params: params, client: c, result: out, opts: callOptionsOf(opts)}
	answer, err := c.middleware.send(ctx, r)
	if err == nil && answer != out {
		err = recode(answer, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// recode takes the answer of middleware that has a type of its own.
func recode(answer, out any) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	if _, err := c.middleware.send(ctx, &Request{Method: method, Params: params, client: c, note: true}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// roundTrip does one request of the client. It is the handler that all
// middleware for outbound requests is folded around:
//
//	CallTool, ReadResource, …             typed params, encoded once
//	 └─ middleware
//	     └─ roundTrip
//	         └─ exchange                  the extensions, around wire
//	             └─ wire                  patience: timeout, extended by progress
//	                 └─ live              the connection, made anew if it was lost
//	                 └─ connection.call       a fresh result that was kept, or
//	                     └─ dialect.Request   envelope, _meta, headers of the revision
//	                     └─ Link.Call         stdio line, HTTP POST, memory
//	                     └─ dialect.Result    error, result, or input required:
//	                         └─ answerInput   the handlers answer, and once more
//	                         └─ visits        (2025-11-25) the user goes there, and once more
//	                 └─ mend              once, when the server has done nothing yet
//	         └─ decode                    into the typed result, once
func (c *Client) roundTrip(ctx context.Context, r *Request) (any, error) {
	if r.note {
		return nil, c.note(ctx, r)
	}
	kind, raw, err := c.exchange(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case kind != mcp.ResultComplete:
		return nil, dialect.Invalid("resultType %.64q is no answer to %s", kind, r.Method)
	}
	if err := json.Unmarshal(raw, r.result); err != nil {
		return nil, dialect.Invalid("%w", err)
	}
	return r.result, nil
}

// wire is the Exchange that all extensions are folded around.
func (c *Client) wire(ctx context.Context, r *Request) (mcp.ResultType, jsontext.Value, error) {
	p := c.patience(ctx, &r.opts)
	defer p.stop()
	outcome, err := c.attempt(p, r)
	return outcome.Type, outcome.Result, err
}

// note sends a notification.
func (c *Client) note(ctx context.Context, r *Request) error {
	p := c.patience(ctx, &r.opts)
	defer p.stop()
	k, err := c.live(p.ctx)
	if err != nil {
		return err
	}
	return k.explain(k.notify(p.ctx, r.Method, r.Params))
}

// attempt does the request, and once more when the first time came to nothing
// for a reason that could be mended.
func (c *Client) attempt(p *patience, r *Request) (dialect.Outcome, error) {
	for second := false; ; second = true {
		k, err := c.live(p.ctx)
		if err != nil {
			return dialect.Outcome{}, err
		}
		outcome, err := k.call(p, r)
		if err == nil || second || !c.mend(p.ctx, k, r, err) {
			return outcome, k.explain(err)
		}
	}
}

// mend reports whether a failed request may succeed if it is made again, after
// doing what is needed for that. The server has not worked on the first one.
func (c *Client) mend(ctx context.Context, k *connection, r *Request, err error) bool {
	if e, ok := errors.AsType[*exchange.NotSentError](err); ok {
		k.link.End(e.Err)
		return c.target.renewable()
	}
	switch e, _ := errors.AsType[*mcp.Error](err); {
	case e == nil || !e.Remote:
		return false
	case e.Code == mcp.CodeUnsupportedVersion && k.stateless():
		return c.renegotiate(k)
	case k.dialect().MissesHeader(e) && r.Method == mcp.MethodToolsCall && k.mirrors():
		return c.relist(ctx, r)
	}
	return false
}

// call does one request over this connection, unless its result was kept.
func (k *connection) call(p *patience, r *Request) (dialect.Outcome, error) {
	d := k.dialect()
	params := dialect.RequestParams{
		Method: r.Method, Params: r.Params, Meta: r.opts.meta, Trace: mcp.TraceFrom(p.ctx),
		Progress:   r.opts.progress != nil,
		LogLevel:   k.client.logLevel(r),
		NameMember: k.client.opts.nameMember(r.Method),
	}
	if k.mirrors() {
		params.Mirrors = k.client.tools.mirrors(r)
	}
	first, err := d.Request(params)
	if err != nil {
		return dialect.Outcome{}, err
	}
	if r.opts.input != nil {
		again, err := first.Again(*r.opts.input)
		if err != nil {
			return dialect.Outcome{}, err
		}
		outcome, _, err := k.rounds(p, r, d, first, again)
		return outcome, err
	}
	return k.cached(p, r, d, first)
}

// cached does a request whose result may have been kept, and keeps the result. What
// came of answers is never kept.
//
// Spec: 2026-07-28 server/utilities/caching
func (k *connection) cached(p *patience, r *Request, d *dialect.Client, req *dialect.Request) (dialect.Outcome, error) {
	cache := &k.client.cache
	key, cacheable := req.CacheKey()
	if cacheable && !r.opts.fresh {
		result := cache.get(key)
		if r.opts.hit != nil {
			*r.opts.hit = result != nil
		}
		if result != nil {
			return dialect.Outcome{Type: mcp.ResultComplete, Result: result}, nil
		}
	}
	news := cache.newsOf(key.Method)
	outcome, rounds, err := k.rounds(p, r, d, req, req)
	if err == nil && cacheable && rounds == 0 && outcome.Type == mcp.ResultComplete {
		cache.put(key, outcome.Result, news)
	}
	return outcome, err
}

// rounds does a request with as many rounds as the server needs, and says how
// many those were. The first one is what is made again with the answers.
func (k *connection) rounds(p *patience, r *Request, d *dialect.Client, first, req *dialect.Request) (_ dialect.Outcome, rounds int, err error) {
	required := visits{client: k.client}
	defer required.end()
	for ; ; rounds++ {
		outcome, err := k.exchange(p, r, d, req)
		if e := k.client.visitsRequired(err, r); e != nil {
			if err := required.await(p, d.Facts, e); err != nil {
				return dialect.Outcome{}, rounds, err
			}
			continue
		}
		switch {
		case err != nil || outcome.InputRequired == nil:
			return outcome, rounds, err
		case r.opts.byHand:
			return outcome, rounds, &InputRequiredError{outcome.InputRequired}
		}
		if req, err = k.client.answerInput(p, d, first, outcome.InputRequired, rounds); err != nil {
			return outcome, rounds, err
		}
		p.extend()
	}
}

// exchange sends the request once and returns what came of it.
func (k *connection) exchange(p *patience, r *Request, d *dialect.Client, req *dialect.Request) (dialect.Outcome, error) {
	m, err := k.link.Call(p.ctx, exchange.Outbound{
		Encode:  req.Encode,
		Headers: req.Headers,
		Cancel:  func(id jsonrpc.ID) []byte { return d.Cancel(id, p.reason()) },
		On:      func(m jsonrpc.Message) { k.meanwhile(p, r, m) },
		Logs:    r.Method != mcp.MethodListen,
	})
	if err != nil {
		return dialect.Outcome{}, err
	}
	k.touch()
	return d.Result(r.Method, m, k.resultTypes()...)
}

// meanwhile takes what comes for a call before its answer.
func (k *connection) meanwhile(p *patience, r *Request, m jsonrpc.Message) {
	switch {
	case m.Method == mcp.NotificationProgress:
		k.touch()
		p.pause()
		defer p.extend()
		tell(k.client, r.opts.progress, m)
	case m.Method == mcp.NotificationMessage && r.opts.log != nil:
		k.touch()
		tell(k.client, func(p mcp.LoggingMessageParams) { r.opts.log(&p) }, m)
	default:
		k.hear(m)
	}
}

// tell calls the handler of a call, if there is one, with what a notification says.
func tell[Params any](c *Client, handler func(Params), m jsonrpc.Message) {
	var params Params
	if handler != nil && json.Unmarshal(m.Params, &params) == nil {
		c.guard(m.Method, func() { handler(params) })
	}
}

// explain marks an error that is the end of the connection, or of the stream that
// was to bring the answer.
func (k *connection) explain(err error) error {
	if _, ok := errors.AsType[*streamhttp.StreamError](err); ok {
		return &LostError{err}
	}
	ended := k.link.Err()
	if err == nil || ended == nil || errors.Is(err, ErrClosed) || !errors.Is(err, ended) {
		return err
	}
	return &LostError{err}
}

// guard runs a handler of the user's and logs its panic.
func (c *Client) guard(what string, f func()) {
	var err error
	func() {
		defer contain(&err)
		f()
	}()
	if err != nil {
		c.opts.logger().Error("handler failed", "handler", what, "error", err)
	}
}
