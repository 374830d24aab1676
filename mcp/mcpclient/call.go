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
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
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
//	                 └─ mend              twice at most, when the server has done nothing yet
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
		return nil, invalid("resultType %.64q is no answer to %s", kind, r.Method)
	}
	if err := dialect.Decode(raw, r.result); err != nil {
		return nil, invalid("%w", err)
	}
	return r.result, nil
}

// call is one request under way. Its methods run on the goroutine of the caller.
type call struct {
	*Request
	patience
	over *connection // nil until there is one
}

var _ exchange.Caller = (*call)(nil)

// wire is the Exchange that all extensions are folded around.
func (c *Client) wire(ctx context.Context, r *Request) (mcp.ResultType, jsontext.Value, error) {
	if err := c.enter(); err != nil {
		return "", nil, err
	}
	defer c.requests.Done()
	w := &call{Request: r}
	w.start(ctx, c, &r.opts)
	defer w.stop()
	outcome, err := c.attempt(w)
	return outcome.Type, outcome.Result, withPublicErrors(err)
}

// note sends a notification.
func (c *Client) note(ctx context.Context, r *Request) error {
	var p patience
	p.start(ctx, c, &r.opts)
	defer p.stop()
	k, err := c.live(p.ctx)
	if err == nil {
		err = k.explain(k.notify(p.ctx, r.Method, r.Params))
	}
	return withPublicErrors(err)
}

// mostMends is how often one request is made again: its server may be leaving, and
// the one that takes over not know the session.
const mostMends = 2

// attempt does the request, and again when it came to nothing for a reason that
// could be mended.
func (c *Client) attempt(w *call) (dialect.Outcome, error) {
	for mends := 0; ; mends++ {
		k, err := c.live(w.ctx)
		if err != nil {
			return dialect.Outcome{}, err
		}
		w.over = k
		outcome, err := k.call(w)
		if err == nil || mends == mostMends || !c.mend(w.ctx, k, w.Request, err, mends) {
			return outcome, k.explain(err)
		}
	}
}

// mend reports whether a failed request may succeed if it is made again, after
// doing what is needed for that. The server has not worked on the first one.
// What the server says of the request itself it would say again.
func (c *Client) mend(ctx context.Context, k *connection, r *Request, err error, mends int) bool {
	if e, ok := errors.AsType[*exchange.NotSentError](err); ok {
		if !e.Alive {
			k.link.End(e.Err)
		}
		return e.Alive || c.target.renewable()
	}
	switch e, _ := errors.AsType[*mcp.Error](err); {
	case e == nil || !e.Remote || mends > 0:
		return false
	case e.Code == mcp.CodeUnsupportedVersion && k.stateless():
		return c.renegotiate(k)
	case k.dialect().MissesHeader(e) && r.Method == mcp.MethodToolsCall && k.mirrors():
		return c.relist(ctx, r)
	}
	return false
}

// call does one request over this connection, unless its result was kept.
func (k *connection) call(w *call) (dialect.Outcome, error) {
	d, r := k.dialect(), w.Request
	params := dialect.RequestParams{
		Method: r.Method, Params: r.Params, Meta: r.opts.meta, Trace: mcp.TraceFrom(w.ctx),
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
		outcome, _, err := k.rounds(w, d, first, again)
		return outcome, err
	}
	return k.cached(w, d, first)
}

// cached does a request whose result may have been kept, and keeps the result. What
// came of answers is never kept.
//
// Spec: 2026-07-28 server/utilities/caching
func (k *connection) cached(w *call, d *dialect.Client, req *dialect.Request) (dialect.Outcome, error) {
	cache := &k.client.cache
	key, cacheable := req.CacheKey()
	if cacheable && !w.opts.noCache {
		result := cache.get(key)
		if w.opts.hit != nil {
			*w.opts.hit = result != nil
		}
		if result != nil {
			return dialect.Outcome{Type: mcp.ResultComplete, Result: result}, nil
		}
	}
	news := cache.newsOf(key.Method)
	outcome, rounds, err := k.rounds(w, d, req, req)
	if err == nil && cacheable && rounds == 0 && outcome.Type == mcp.ResultComplete {
		cache.put(key, outcome.Result, news)
	}
	return outcome, err
}

// rounds does a request with as many rounds as the server needs, and says how
// many those were. The first one is what is made again with the answers.
func (k *connection) rounds(w *call, d *dialect.Client, first, req *dialect.Request) (_ dialect.Outcome, rounds int, err error) {
	required := visits{client: k.client}
	defer required.end()
	for ; ; rounds++ {
		outcome, err := k.exchange(w, d, req)
		if e := k.client.visitsRequired(err, w.Request); e != nil {
			if err := required.await(&w.patience, d.Facts, e); err != nil {
				return dialect.Outcome{}, rounds, err
			}
			continue
		}
		switch {
		case err != nil || outcome.InputRequired == nil:
			return outcome, rounds, err
		case w.opts.manual:
			return outcome, rounds, &InputRequiredError{outcome.InputRequired}
		}
		if req, err = k.client.answerInput(&w.patience, d, first, outcome.InputRequired, rounds); err != nil {
			return outcome, rounds, err
		}
		w.extend()
	}
}

// exchange sends the request once and returns what came of it.
func (k *connection) exchange(w *call, d *dialect.Client, req *dialect.Request) (dialect.Outcome, error) {
	m, err := k.link.Call(w.ctx, exchange.Outbound{Message: req, Caller: w, Logs: w.Method != mcp.MethodListen})
	if err != nil {
		return dialect.Outcome{}, unanswered(err)
	}
	k.touch()
	return d.Result(w.Method, m, k.resultTypes()...)
}

// Hear implements exchange.Caller.
func (w *call) Hear(m jsonrpc.Message) {
	switch {
	case m.Method == mcp.NotificationProgress:
		w.over.touch()
		w.pause()
		defer w.extend()
		tell(w.client, w.opts.progress, m)
	case m.Method == mcp.NotificationMessage && w.opts.log != nil:
		w.over.touch()
		tell(w.client, func(p mcp.LoggingMessageParams) { w.opts.log(&p) }, m)
	default:
		w.over.hear(m)
	}
}

// Cancel implements exchange.Caller.
func (w *call) Cancel(id jsonrpc.ID) []byte { return w.over.dialect().Cancel(id, w.reason()) }

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
	if _, ok := errors.AsType[*httpclient.StreamError](err); ok {
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
	defer c.contain(what, &err)
	f()
}
