package mcpotel

import (
	"context"
	"encoding/hex"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/fondaco/fondaco/mcp"
)

// carrier is an mcp.Trace as a propagation.TextMapCarrier.
type carrier mcp.Trace

var _ propagation.TextMapCarrier = (*carrier)(nil)

// field returns the field of a key, or nil.
func (c *carrier) field(key string) *string {
	switch key {
	case mcp.MetaTraceparent:
		return &c.Parent
	case mcp.MetaTracestate:
		return &c.State
	case mcp.MetaBaggage:
		return &c.Baggage
	}
	return nil
}

// Get implements propagation.TextMapCarrier.
func (c *carrier) Get(key string) string {
	if f := c.field(key); f != nil {
		return *f
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c *carrier) Set(key, value string) {
	if f := c.field(key); f != nil {
		*f = value
	}
}

// Keys implements propagation.TextMapCarrier.
func (c *carrier) Keys() []string {
	return []string{mcp.MetaTraceparent, mcp.MetaTracestate, mcp.MetaBaggage}
}

var (
	traceContext   propagation.TraceContext
	baggageContext propagation.Baggage
)

// withRemote returns ctx with the span of the peer as the parent of the next span.
func withRemote(ctx context.Context, t mcp.Trace) context.Context {
	if s, ok := readParent(t); ok {
		return trace.ContextWithRemoteSpanContext(ctx, s)
	}
	c := carrier(t) // a copy, so that t is not allocated where it is not used
	return traceContext.Extract(ctx, &c)
}

// readParent reads a traceparent of the version that most senders have, without a tracestate. It is what Extract does, for a
// call of each.
//
// Spec: W3C Trace Context 3.2.2
func readParent(t mcp.Trace) (s trace.SpanContext, ok bool) {
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	p := t.Parent
	if t.State != "" || len(p) != length || p[:3] != "00-" || p[35] != '-' || p[52] != '-' {
		return s, false
	}
	var id trace.TraceID
	var span trace.SpanID
	var flags [1]byte
	if !decodeHex(id[:], p[3:35]) || !decodeHex(span[:], p[36:52]) || !decodeHex(flags[:], p[53:]) || flags[0] > byte(trace.FlagsSampled) {
		return s, false
	}
	s = trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.TraceFlags(flags[0]), Remote: true})
	return s, s.IsValid()
}

// decodeHex decodes lower-case hexadecimal digits.
func decodeHex(dst []byte, digits string) bool {
	invalid := byte(0)
	for i := range dst {
		high, low := digitValues[digits[2*i]], digitValues[digits[2*i+1]]
		invalid |= high | low
		dst[i] = high<<4 | low
	}
	return invalid <= 15
}

// digitValues are the values of the hexadecimal digits, and 255 for other characters.
var digitValues = func() (values [256]byte) {
	for c := range values {
		values[c] = 255
	}
	for value, c := range []byte("0123456789abcdef") {
		values[c] = byte(value)
	}
	return values
}()

// withBaggage returns ctx with the baggage of a trace.
func withBaggage(ctx context.Context, t mcp.Trace) context.Context {
	if t.Baggage == "" {
		return ctx
	}
	c := carrier(t)
	return baggageContext.Extract(ctx, &c)
}

// spanContextOf returns the span that a traceparent names. It is not valid if the traceparent is not.
func spanContextOf(t mcp.Trace) trace.SpanContext {
	if t.Parent == "" {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(withRemote(context.Background(), t))
}

// traceOf returns the span and the baggage of ctx. Without baggage of OpenTelemetry it has that of the
// context of a handler.
func traceOf(ctx context.Context) mcp.Trace {
	t := textOf(trace.SpanContextFromContext(ctx))
	t.Baggage = baggageOf(ctx, mcp.TraceFrom(ctx))
	return t
}

// baggageOf returns the baggage of OpenTelemetry in ctx, else that of the trace of a handler.
func baggageOf(ctx context.Context, of mcp.Trace) string {
	if b := baggage.FromContext(ctx); b.Len() > 0 {
		return b.String()
	}
	return of.Baggage
}

// textOf returns the traceparent and tracestate of a span, or the zero Trace if it is not valid.
//
// Spec: W3C Trace Context 3.2
func textOf(s trace.SpanContext) mcp.Trace {
	if !s.IsValid() {
		return mcp.Trace{}
	}
	id, span, flags := s.TraceID(), s.SpanID(), [1]byte{byte(s.TraceFlags())}
	text := append(make([]byte, 0, 55), "00-"...)
	text = append(hex.AppendEncode(text, id[:]), '-')
	text = append(hex.AppendEncode(text, span[:]), '-')
	return mcp.Trace{Parent: string(hex.AppendEncode(text, flags[:])), State: s.TraceState().String()}
}
