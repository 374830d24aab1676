package mcpotel

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/fondaco/fondaco/mcp"
)

// series are the attributes of one time series of durations. Each has a limited number of values.
type series struct {
	method   string
	name     string // of a tool or prompt, or empty
	revision string
	failure  string // error.type, or empty
	status   string // number of the JSON-RPC error, or empty
	overHTTP bool
}

func (s series) attributes() []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 9)
	attrs = append(attrs, keyMethod.String(s.method))
	switch {
	case s.name == "":
	case s.method == mcp.MethodToolsCall:
		attrs = append(attrs, keyTool.String(s.name))
	case s.method == mcp.MethodPromptsGet:
		attrs = append(attrs, keyPrompt.String(s.name))
	}
	if s.method == mcp.MethodToolsCall {
		attrs = append(attrs, keyOperation.String("execute_tool"))
	}
	if s.revision != "" {
		attrs = append(attrs, keyRevision.String(s.revision))
	}
	if s.failure != "" {
		attrs = append(attrs, keyError.String(s.failure))
	}
	if s.status != "" {
		attrs = append(attrs, keyStatus.String(s.status))
	}
	if s.overHTTP {
		attrs = append(attrs, keyTransport.String("tcp"), keyProtocol.String("http"))
	}
	return attrs
}

// spanName returns the name of a span: the method, and the name of the tool or prompt.
func (s series) spanName() string {
	if s.name == "" || s.name == other {
		return s.method
	}
	return s.method + " " + s.name
}

// operation is one message from when it was received or is to be sent until its outcome.
type operation struct {
	*instruments
	series
	prepared *prepared
	span     trace.Span
	start    time.Time
}

// newOperation returns an operation that has not begun.
func (i *instruments) newOperation(k preparedKey, create func(preparedKey) series) operation {
	p := i.prepare(k, create)
	return operation{instruments: i, series: p.series, prepared: p}
}

// begin starts the span and the clock. The parent is that of ctx.
func (o *operation) begin(ctx context.Context, kind []trace.SpanStartOption) context.Context {
	o.start = time.Now()
	o.prepared.active.n.Add(1)
	ctx, o.span = o.tracer.Start(ctx, o.prepared.title, kind...)
	return ctx
}

// end records the outcome. description is the message of a protocol error.
func (o *operation) end(ctx context.Context, description string) {
	o.prepared.active.n.Add(-1)
	if o.duration.Enabled(ctx) {
		result := o.prepared.result
		if o.failure != "" || o.status != "" || o.name != o.prepared.name {
			result = o.results.get(o.series, o.resultOf)
		}
		o.duration.Record(ctx, time.Since(o.start).Seconds(), result...)
	}
	if o.span.IsRecording() {
		o.span.SetAttributes(o.attributes()...)
		o.span.SetAttributes(o.options.Attributes...)
		if o.failure != "" {
			o.span.SetStatus(codes.Error, description)
		}
	}
	o.span.End()
}

// The kinds of spans. They are made once, because an option is allocated.
var (
	serverKind = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	clientKind = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
)

// failToolError is error.type of a result of a tool with isError.
const failToolError = "tool_error"

// setNumber sets the number of a JSON-RPC error.
func (o *operation) setNumber(number int64) {
	text, ok := protocolNumbers[number]
	if !ok {
		text = other
	}
	o.status = text
	if o.span.IsRecording() && !ok {
		o.span.SetAttributes(attribute.String("fondaco.error.number", strconv.FormatInt(number, 10)))
	}
}

// isCallersFault reports whether the number of an error says that the caller sent a request that the
// receiver could not serve, which is no error of the receiver.
//
// Spec: OpenTelemetry semantic conventions for MCP, rpc.response.status_code of servers
func isCallersFault(number int64) bool {
	switch number {
	case -32700, -32600, -32601, -32602, -32002:
		return true
	}
	return false
}

// setResult sets the outcome of a result.
func (o *operation) setResult(result any) {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		if r != nil && r.IsError {
			o.failure = failToolError
		}
	case *mcp.InputRequiredResult:
		if r != nil && o.span.IsRecording() {
			o.span.SetAttributes(keyResultType.String(string(mcp.ResultInputRequired)))
		}
	}
}

// localFailure returns error.type of an error that no peer has answered with.
func localFailure(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return other
}

// described returns the beginning of the message of a protocol error, for the status of a span: a peer can send one of
// many megabytes, and spans wait for their export. Texts of other errors may have secrets, and are in the log.
func described(err error) string {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return shortened(e.Message)
	}
	return ""
}
