package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/resultcache"
)

// Request sends a request of any method, such as one that an extension defines. Params
// have to encode as a JSON object, or be nil. It decodes the result into out, which is a
// pointer; if out is nil, it drops the result.
func (c *Client) Request(ctx context.Context, method string, params, out any, opts ...CallOption) error {
	if out == nil {
		out = new(jsontext.Value)
	}
	r := &Request{Method: method, Params: params, client: c, result: out, opts: callOptionsOf(opts)}
	answer, err := c.handle(ctx, r)
	if err == nil && answer != out {
		err = recode(answer, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// recode converts a result that middleware returned to the type of out.
func recode(answer, out any) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// Notify sends a notification. Params have to encode as a JSON object, or be nil. It
// returns when the notification is sent; whether the server processes it is not known.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	if _, err := c.handle(ctx, &Request{Method: method, Params: params, client: c, notification: true}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// roundTrip sends one request of the client. It is the innermost handler of the
// middleware for outbound requests:
//
//	CallTool, ReadResource, …             typed params, encoded once
//	 └─ middleware
//	     └─ roundTrip
//	         └─ exchange                      the extensions around sendRequest
//	             └─ sendRequest               callDeadline: timeout, restarted by progress
//	                 └─ sendOrStale           a stale result from the cache if the server fails
//	                 └─ connectionFor         reconnects if the connection was lost, compares pins
//	                 └─ connection.call       a fresh result from the cache, or
//	                     └─ dialect.Request   envelope, _meta, headers of the revision
//	                     └─ Link.Call         stdio line, HTTP POST, memory; messages of the call, then the response
//	                     └─ dialect.Result    error, result, or input required:
//	                         └─ answerInput   runs the handlers; the request is sent again
//	                         └─ elicitAndWait (2025-11-25) URL elicitations; likewise
//	                 └─ mayRetry              twice at most, if the server has not begun
//	         └─ decode                        into the typed result, once
func (c *Client) roundTrip(ctx context.Context, r *Request) (any, error) {
	if r.notification {
		return nil, c.sendNotification(ctx, r)
	}
	kind, raw, err := c.exchange(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case kind != mcp.ResultComplete:
		return nil, invalid("resultType %.64q is not a valid result of %s", kind, r.Method)
	}
	if err := c.decode(r.Method, raw, r.result); err != nil {
		return nil, invalid("%w", err)
	}
	return r.result, nil
}

// call is one request in flight. Its methods run on the goroutine of the caller.
type call struct {
	*Request
	callDeadline
	conn *connection                  // nil until there is one
	lost *httpclient.SessionLostError // the first refusal, because the session was lost; or nil
}

var _ exchange.Caller = (*call)(nil)

// sendRequest is the innermost Exchange, which the extensions wrap.
func (c *Client) sendRequest(ctx context.Context, r *Request) (mcp.ResultType, jsontext.Value, error) {
	if !c.requests.Enter() {
		return "", nil, ErrClosed
	}
	defer c.requests.Leave()
	w := &call{Request: r}
	w.start(ctx, c, &r.opts)
	defer w.stop()
	outcome, err := c.sendOrStale(ctx, w)
	return outcome.Type, outcome.Result, withPublicErrors(err)
}

// sendNotification sends a notification.
func (c *Client) sendNotification(ctx context.Context, r *Request) error {
	var p callDeadline
	p.start(ctx, c, &r.opts)
	defer p.stop()
	for retries := 0; ; retries++ {
		k, err := c.currentConnection(p.ctx)
		if err == nil {
			err = k.markLost(k.notify(p.ctx, r.Method, r.Params))
		}
		if retries > 0 || !errors.Is(err, httpclient.ErrSessionLost) {
			return withPublicErrors(err)
		}
	}
}

// maxRetries bounds how often one request is sent again. Two, because a server may
// refuse it while it shuts down, and the one that replaces it may not know the session.
const maxRetries = 2

// sendWithRetries sends the request, and sends it again as long as mayRetry allows.
func (c *Client) sendWithRetries(w *call) (dialect.Outcome, error) {
	for retries := 0; ; retries++ {
		k, err := c.connectionFor(w.ctx, w.Request)
		if err != nil {
			return dialect.Outcome{}, err
		}
		w.conn = k
		outcome, err := k.call(w)
		if err != nil && c.checkPrior(w.ctx, k, err) {
			continue
		}
		if err == nil || retries == maxRetries || !c.mayRetry(w, err, retries) {
			return outcome, k.markLost(w.firstRefusal(err))
		}
	}
}

// firstRefusal returns the first refusal of a request that a new session has not helped,
// as the error that the server gave, and any other error unchanged.
func (w *call) firstRefusal(err error) error {
	again, ok := errors.AsType[*httpclient.SessionLostError](err)
	if !ok || !again.Refuted {
		return err
	}
	refusal := again
	if w.lost.Status.Status == again.Status.Status {
		refusal = w.lost
	}
	if refusal.Answer != nil {
		return w.conn.dialect().Error(refusal.Answer)
	}
	return refusal.Status
}

// mayRetry reports whether to send a failed request again, and makes the preparations:
// it renegotiates the revision or lists the tools again. Only a request that the server
// has not begun is sent again, and only if the error may not occur the next time.
func (c *Client) mayRetry(w *call, err error, retries int) bool {
	k := w.conn
	if lost, ok := errors.AsType[*httpclient.SessionLostError](err); ok {
		if w.lost != nil { // in the new session, too
			return false
		}
		w.lost = lost
		return c.target.canReconnect()
	}
	if e, ok := errors.AsType[*exchange.NotSentError](err); ok {
		if !e.Alive {
			k.link.End(e.Err)
		}
		return e.Alive || c.target.canReconnect()
	}
	switch e, _ := errors.AsType[*mcp.Error](err); {
	case e == nil || !e.Remote || retries > 0:
		return false
	case e.Code == mcp.CodeUnsupportedVersion && k.stateless():
		return c.renegotiate(k)
	case e.Code == mcp.CodeHeaderMismatch && w.Method == mcp.MethodToolsCall && k.mirrors():
		return c.relist(w.ctx, w.Request)
	}
	return false
}

// call sends one request over this connection, unless its result is in the cache.
func (k *connection) call(w *call) (dialect.Outcome, error) {
	d, r := k.dialect(), w.Request
	if r.opts.tool != nil {
		k.client.learnTool(r.opts.tool)
	}
	first, err := k.requestOf(w)
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

// requestOf encodes the request of a call.
func (k *connection) requestOf(w *call) (*dialect.Request, error) {
	r := w.Request
	params := dialect.RequestParams{
		Method: r.Method, Params: r.Params, Meta: r.opts.meta, Trace: r.trace,
		Progress:   r.opts.progress != nil,
		LogLevel:   k.client.logLevel(r),
		NameMember: k.client.opts.nameMember(r.Method),
	}
	if params.Trace == (mcp.Trace{}) {
		params.Trace = mcp.TraceFrom(w.ctx)
	}
	if k.mirrors() {
		params.Mirrors = k.client.tools.mirrors(r)
	}
	return k.dialect().Request(params)
}

// cached returns the result from the cache, or sends the request and stores its
// result. Results that depend on answers to questions are never stored.
//
// Spec: 2026-07-28 server/utilities/caching
func (k *connection) cached(w *call, d *dialect.Client, req *dialect.Request) (dialect.Outcome, error) {
	key, cacheable := req.CacheKey()
	if !cacheable {
		outcome, _, err := k.rounds(w, d, req, req)
		return outcome, err
	}
	cache := k.client.cache
	found, ticket := cache.Lookup(w.ctx, key)
	if found.Fresh() && !w.opts.noCache {
		return w.answerFrom(&found), nil
	}
	if w.opts.receivedAt != nil {
		*w.opts.receivedAt = time.Time{}
	}
	outcome, rounds, err := k.rounds(w, d, req, req)
	if err == nil && rounds == 0 && outcome.Type == mcp.ResultComplete {
		cache.Put(w.ctx, key, outcome.Result, ticket)
	}
	return outcome, err
}

// answerFrom returns a cached result as the outcome of the call.
func (w *call) answerFrom(found *resultcache.Result) dialect.Outcome {
	if w.opts.receivedAt != nil {
		*w.opts.receivedAt = found.ReceivedAt
	}
	return dialect.Outcome{Type: mcp.ResultComplete, Result: found.Value}
}

// rounds sends a request, and sends it again with answers for as long as the server
// requires input. It returns the number of further rounds. The first request is the
// one to which answers are added.
func (k *connection) rounds(w *call, d *dialect.Client, first, req *dialect.Request) (_ dialect.Outcome, rounds int, err error) {
	required := urlElicitations{client: k.client}
	defer required.release()
	for ; ; rounds++ {
		outcome, err := k.exchange(w, d, req)
		if e := k.client.urlElicitationsRequired(err, w.Request); e != nil {
			if err := required.elicitAndWait(&w.callDeadline, d.Facts, e); err != nil {
				return dialect.Outcome{}, rounds, err
			}
			continue
		}
		switch {
		case err != nil || outcome.InputRequired == nil:
			return outcome, rounds, err
		case w.opts.manual:
			return outcome, rounds, inputRequired(outcome.InputRequired)
		}
		if req, err = k.client.answerInput(&w.callDeadline, d, first, outcome.InputRequired, rounds); err != nil {
			return outcome, rounds, err
		}
		w.restart()
	}
}

// exchange sends the request once and returns its outcome.
func (k *connection) exchange(w *call, d *dialect.Client, req *dialect.Request) (dialect.Outcome, error) {
	m, err := k.link.Call(w.ctx, exchange.Outbound{Message: req, Caller: w, Logs: w.Method != mcp.MethodListen, Repeated: w.lost != nil})
	if err != nil {
		return dialect.Outcome{}, markMayHaveRun(err)
	}
	k.received()
	k.client.outage.end(m.Error == nil)
	outcome, err := d.Result(w.Method, m, k.resultTypes()...)
	if err == nil && k.assumed.Load() {
		k.confirm()
	}
	return outcome, err
}

// Receive implements exchange.Caller.
func (w *call) Receive(m jsonrpc.Message) {
	switch {
	case m.Method == mcp.NotificationProgress:
		w.conn.received()
		w.pause()
		defer w.restart()
		callHandler(w.client, w.opts.progress, m)
	case m.Method == mcp.NotificationMessage && w.opts.log != nil:
		w.conn.received()
		callHandler(w.client, func(p mcp.LoggingMessageParams) { w.opts.log(&p) }, m)
	default:
		w.conn.receiveNotification(m)
	}
}

// Cancel implements exchange.Caller.
func (w *call) Cancel(id jsonrpc.ID) []byte { return w.conn.dialect().Cancel(id, w.cancelReason()) }

// callHandler decodes the params of a notification and calls the handler with them.
// It does nothing without a handler or with params that it cannot decode. What is left out of params is
// not logged, because a server can send any number of notifications.
func callHandler[Params any](c *Client, handler func(Params), m jsonrpc.Message) {
	if handler == nil {
		return
	}
	var params Params
	err := json.Unmarshal(m.Params, &params)
	if err != nil {
		_, err = dialect.DecodeLenient(m.Params, &params)
	}
	if err == nil {
		c.runHandler(m.Method, func() { handler(params) })
	}
}

// markLost wraps an error in a LostError if its cause is the end of the connection, or
// of the stream on which the answer was to arrive.
func (k *connection) markLost(err error) error {
	if _, ok := errors.AsType[*httpclient.StreamError](err); ok {
		return &LostError{err}
	}
	ended := k.link.Err()
	if err == nil || ended == nil || errors.Is(err, ErrClosed) || !errors.Is(err, ended) {
		return err
	}
	return &LostError{err}
}

// runHandler runs a handler of the user and logs its panic.
func (c *Client) runHandler(what string, f func()) {
	var err error
	defer c.recoverPanic(what, &err)
	f()
}
