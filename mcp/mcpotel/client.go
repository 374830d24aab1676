package mcpotel

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"

	"go.opentelemetry.io/otel/trace"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Client returns a copy of the options of a client that report its telemetry: mcpclient.Connect takes
// it. Both arguments may be nil. Functions of the options are still called, and middleware of the
// options is below that of the telemetry. The copy is for one client.
//
// Each request and notification of the client has a span of kind client, and each request and notification
// of the server a span of kind server. A call has one span, even if the server requires input several
// times. Its trace context is sent in the _meta of the message. The handshake, pings and subscriptions
// have no spans.
//
// Without an SDK, or without a span in the context of the call, the trace of [mcp.ContextWithTrace] is
// sent as it is.
func Client(o *mcpclient.Options, t *Options) *mcpclient.Options {
	var instrumented mcpclient.Options
	if o != nil {
		instrumented = *o
	}
	c := &client{instruments: newInstruments(t.orZero(), "client")}
	instrumented.Middleware = append([]mcpclient.Middleware{c.middleware}, instrumented.Middleware...)
	instrumented.OnLimit = both(instrumented.OnLimit, c.limitReached)
	instrumented.OnSession = both(instrumented.OnSession, c.session)
	if c.options.MessageSizes {
		instrumented.OnMessage = both(instrumented.OnMessage, c.message)
	}
	return &instrumented
}

// client is the telemetry of a client.
type client struct{ *instruments }

func (c *client) session(e mcpclient.SessionEvent) {
	switch {
	case !e.Ended:
		c.sessionBegan()
	case e.Revision.Stateless():
		c.sessionEnded(e.Lasted, mcp.Revision{})
	default:
		c.sessionEnded(e.Lasted, e.Revision)
	}
}

// middleware measures each message.
func (c *client) middleware(next mcpclient.Handler) mcpclient.Handler {
	return func(ctx context.Context, r *mcpclient.Request) (result any, err error) {
		name, _ := nameOf(r)
		op := c.newOperation(preparedKey{method: r.Method, name: name, revision: r.Revision(), inbound: r.Inbound}, c.seriesOf)
		ctx = c.begin(ctx, &op, r)
		panics := true
		defer func() {
			switch {
			case panics:
				op.failure = "panic"
			case err != nil:
				op.setClientError(r, err)
			default:
				op.setResult(result)
			}
			c.confirm(&op, r, err)
			op.end(ctx, described(err))
		}()
		result, err = next(ctx, r)
		panics = false
		return result, err
	}
}

// seriesOf returns the attributes of a message. A name is shown once the server has answered for it,
// because the name that a model makes up is no tool.
func (c *client) seriesOf(k preparedKey) series {
	s := series{method: c.method(k.method, !k.inbound), revision: k.revision.String()}
	if !k.inbound && (k.method == mcp.MethodToolsCall || k.method == mcp.MethodPromptsGet) {
		s.name = other
		if c.names.has(k.name) {
			s.name = k.name
		}
	}
	return s
}

// nameOf returns the name of the tool or prompt that a request of the client uses.
func nameOf(r *mcpclient.Request) (name string, ok bool) {
	switch p := r.Params.(type) {
	case *mcp.CallToolParams:
		return p.Name, true
	case *mcp.GetPromptParams:
		return p.Name, true
	}
	return "", false
}

// confirm adds the name of a tool or prompt for which the server has answered with a result.
func (c *client) confirm(op *operation, r *mcpclient.Request, err error) {
	name, ok := nameOf(r)
	if !ok || err != nil || op.name != other || op.failure == "panic" {
		return
	}
	if op.name = c.names.add(name); op.name != other {
		op.span.SetName(op.spanName())
	}
}

// begin starts the span of a message, and puts its trace context into the context of a request of the
// client.
func (c *client) begin(ctx context.Context, op *operation, r *mcpclient.Request) context.Context {
	if r.Inbound {
		if t := traceOfParams(r.Params); t.Parent != "" {
			ctx = withRemote(withBaggage(ctx, t), t)
		}
		return op.begin(ctx, serverKind)
	}
	before := mcp.TraceFrom(ctx)
	if before.Parent != "" && !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = withRemote(ctx, before)
	}
	ctx = op.begin(ctx, clientKind)
	if c.options.ResourceURIs && op.span.IsRecording() {
		if p, ok := r.Params.(*mcp.ReadResourceParams); ok {
			op.span.SetAttributes(keyURI.String(shortened(p.URI)))
		}
	}
	if t := textOf(op.span.SpanContext()); t.Parent != "" {
		t.Baggage = baggageOf(ctx, before)
		r.SetTrace(t)
	}
	return ctx
}

// traceOfParams returns the trace in the _meta of a message of the server.
func traceOfParams(params any) mcp.Trace {
	raw, _ := params.(jsontext.Value)
	var p struct {
		Meta struct {
			Parent  string `json:"traceparent"`
			State   string `json:"tracestate"`
			Baggage string `json:"baggage"`
		} `json:"_meta"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil {
		return mcp.Trace{}
	}
	return mcp.TraceFrom(mcp.ContextWithTrace(context.Background(), mcp.Trace{Parent: p.Meta.Parent, State: p.Meta.State, Baggage: p.Meta.Baggage}))
}

// setClientError sets the outcome of a request that has failed.
func (o *operation) setClientError(r *mcpclient.Request, err error) {
	e, ok := errors.AsType[*mcp.Error](err)
	switch {
	case ok && e.Remote:
		o.setNumber(e.Number)
		o.failure = o.status
	default:
		o.failure = localFailure(err)
	}
}
