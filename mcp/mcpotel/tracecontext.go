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
	c := carrier(t) // a copy, so that t is not allocated where it is not used
	return traceContext.Extract(ctx, &c)
}

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
	if b := baggage.FromContext(ctx); b.Len() > 0 {
		t.Baggage = b.String()
	} else {
		t.Baggage = mcp.TraceFrom(ctx).Baggage
	}
	return t
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
