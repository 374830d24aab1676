package mcpotel

import (
	"cmp"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Options of the telemetry of one server or client. The zero value, like a nil pointer, gives the
// defaults.
type Options struct {
	// TracerProvider makes the spans. Default: otel.GetTracerProvider().
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics. Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// Attributes are added to every span and metric, for example the name that the program gives
	// to the server of a client. Default: none.
	Attributes []attribute.KeyValue
	// PublicEndpoint is for servers whose clients are not trusted: the span of a request begins a
	// trace of its own, with a link to that of the client, so that clients do not decide what is
	// sampled; their baggage is ignored. The local user (mcp.PrincipalLocal: standard streams, Unix sockets,
	// memory) is trusted. Default: the span continues the trace of the client.
	PublicEndpoint bool
	// ResourceURIs adds the URI of a resource to spans (mcp.resource.uri), cut to 256 bytes. URIs
	// can have secrets. Default: spans have no URIs.
	ResourceURIs bool
	// MessageSizes measures the sizes of messages, by Options.OnMessage of the server or client.
	// Default: it does not.
	MessageSizes bool
	// MaxNames is the maximum number of different names of tools, prompts, and methods that the
	// protocol does not define, in metrics and in the names of spans. Default: 200.
	MaxNames int
}

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

func (o Options) maxNames() int { return max(cmp.Or(o.MaxNames, 200), 0) }

const scope = "github.com/fondaco/fondaco/mcp/mcpotel"

func (o Options) tracer() trace.Tracer {
	if o.TracerProvider == nil {
		return otel.GetTracerProvider().Tracer(scope)
	}
	return o.TracerProvider.Tracer(scope)
}

func (o Options) meter() metric.Meter {
	if o.MeterProvider == nil {
		return otel.GetMeterProvider().Meter(scope)
	}
	return o.MeterProvider.Meter(scope)
}
