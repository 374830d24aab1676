package mcpotel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Server returns a copy of the options of a server that report its telemetry: mcpserver.New takes it.
// Both arguments may be nil. Functions of the options are still called, and middleware of the options
// is below that of the telemetry.
//
// Each request and notification that has a handler has a span of kind server, and each request that the
// server sends to a client a span of kind client, whose trace context is sent with it. The context of the handler has the span, and so have
// the requests that the handler sends with clients of package mcpclient. In the stateless era each round
// of a call has a span, with a link to that of the round before. Work of a task has a span below that of
// its call; when another process runs the work again, its span has a link to that of the call. What the
// server refuses before its handlers run has no span: reached limits are counted, other refusals not.
//
// The attribute mcp.session.id is a digest of the id of a session of Streamable HTTP, which is a secret.
func Server(o *mcpserver.Options, t *Options) *mcpserver.Options {
	var instrumented mcpserver.Options
	if o != nil {
		instrumented = *o
	}
	s := &server{newInstruments(t.orZero(), "server")}
	instrumented.Middleware = append([]mcpserver.Middleware{s.middleware}, instrumented.Middleware...)
	instrumented.OnSession = both(instrumented.OnSession, s.session)
	instrumented.OnLimit = both(instrumented.OnLimit, s.limitReached)
	if s.options.MessageSizes {
		instrumented.OnMessage = both(instrumented.OnMessage, s.message)
	}
	if instrumented.OnDetach == nil {
		instrumented.OnDetach = s.detached
	}
	return &instrumented
}

// server is the telemetry of a server.
type server struct{ *instruments }

func (s *server) session(e mcpserver.SessionEvent) {
	if e.Ended {
		s.sessionEnded(e.Lasted, e.Revision)
	} else {
		s.sessionBegan()
	}
}

// middleware measures each message.
func (s *server) middleware(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (result any, err error) {
		op := s.newOperation(keyOf(r), s.seriesOf)
		ctx = s.begin(ctx, &op, r)
		panics := true
		defer func() {
			switch {
			case panics:
				op.failure = "panic"
			case err != nil:
				op.setServerError(r, err)
			default:
				op.setResult(result)
			}
			op.end(ctx, described(err))
		}()
		result, err = next(ctx, r)
		panics = false
		return result, err
	}
}

func keyOf(r *mcpserver.Request) preparedKey {
	return preparedKey{method: r.Method(), name: r.RegisteredName(), revision: r.Revision(), overHTTP: r.Header() != nil}
}

func (s *server) seriesOf(k preparedKey) series {
	name := k.name
	if name != "" {
		name = s.names.add(name)
	} else if k.method == mcp.MethodToolsCall || k.method == mcp.MethodPromptsGet {
		name = other
	}
	return series{method: s.method(k.method, true), name: name, revision: k.revision.String(), overHTTP: k.overHTTP}
}

// begin starts the span of a message.
func (s *server) begin(ctx context.Context, op *operation, r *mcpserver.Request) context.Context {
	if r.Outbound() {
		ctx = op.begin(ctx, clientKind)
		if t := traceOf(ctx); t.Parent != "" {
			ctx = mcp.ContextWithTrace(ctx, t)
		}
		return ctx
	}
	ctx, link := s.withParent(ctx, r)
	ctx = op.begin(ctx, serverKind)
	if !op.span.IsRecording() {
		return ctx
	}
	s.describe(op.span, r)
	if link.IsValid() {
		op.span.AddLink(trace.Link{SpanContext: link})
	}
	t := traceOf(ctx)
	if previous := spanContextOf(mcp.Trace{Parent: r.SwapTraceParent(t.Parent)}); previous.IsValid() {
		op.span.AddLink(trace.Link{SpanContext: previous})
	}
	return mcp.ContextWithTrace(ctx, t) // for the log of the server, and clients without telemetry
}

// withParent returns ctx with the parent of the span of a request: the span of the client, which its
// _meta names; or that of ctx, as a handler in front has started it for the HTTP request; or the one
// that the headers of the HTTP request name. It also returns a span that the new span is to be linked to.
//
// Spec: OpenTelemetry semantic conventions for MCP, context propagation
func (s *server) withParent(ctx context.Context, r *mcpserver.Request) (parent context.Context, link trace.SpanContext) {
	remote, ambient := mcp.TraceFrom(ctx), trace.SpanContextFromContext(ctx)
	if remote.Parent == "" && !ambient.IsValid() {
		remote = traceOfHeader(r.Header())
	}
	public := s.options.PublicEndpoint && r.Principal() != mcp.PrincipalLocal
	switch {
	case public && remote.Parent != "":
		return ctx, spanContextOf(remote)
	case public:
		return ctx, trace.SpanContext{}
	case remote.Parent != "":
		return withRemote(withBaggage(ctx, remote), remote), ambient
	}
	return withBaggage(ctx, remote), trace.SpanContext{}
}

func traceOfHeader(h http.Header) mcp.Trace {
	return mcp.Trace{Parent: h.Get(mcp.MetaTraceparent), State: h.Get(mcp.MetaTracestate), Baggage: h.Get(mcp.MetaBaggage)}
}

// maxTextBytes is the maximum length of ids, URIs and descriptions of errors in spans.
const maxTextBytes = 256

// describe sets the attributes of a span that metrics do not have.
func (s *server) describe(span trace.Span, r *mcpserver.Request) {
	if id := r.ID(); id != "" {
		span.SetAttributes(keyID.String(shortened(id)))
	}
	if id := r.Header().Get(httpheader.SessionID); id != "" {
		span.SetAttributes(keySession.String(digest(id)))
	}
	if round := r.Round(); round > 0 {
		span.SetAttributes(keyRound.Int(round))
	}
	if s.options.ResourceURIs {
		var p struct {
			URI string `json:"uri"`
		}
		if json.Unmarshal(r.Params(), &p) == nil && p.URI != "" {
			span.SetAttributes(keyURI.String(shortened(p.URI)))
		}
	}
}

// digest returns a name of a secret that does not show it.
func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:8])
}

// shortened returns the beginning of a text. It is valid UTF-8: OTLP refuses all spans of an export otherwise.
func shortened(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxTextBytes)], "")
}

// setServerError sets the outcome of a handler that has failed.
func (o *operation) setServerError(r *mcpserver.Request, err error) {
	number := r.ErrorNumber(err)
	o.setNumber(number)
	if r.Outbound() || !isCallersFault(number) {
		o.failure = o.status
	}
}

// detached starts the span of work that continues after its request was answered.
func (s *server) detached(ctx context.Context) (work context.Context, ended func()) {
	name := s.prepare(keyOf(mcpserver.From(ctx)), s.seriesOf).title
	work, span := s.tracer.Start(ctx, "background "+name)
	if !span.IsRecording() {
		return ctx, nil
	}
	span.SetAttributes(s.options.Attributes...)
	return mcp.ContextWithTrace(work, traceOf(work)), func() { span.End() }
}
