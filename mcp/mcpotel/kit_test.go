package mcpotel_test

import (
	"context"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpotel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMain(m *testing.M) { leak.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

// backend collects spans and metrics in memory.
type backend struct {
	recorder *tracetest.SpanRecorder
	reader   *sdkmetric.ManualReader
	tracers  *sdktrace.TracerProvider
	meters   *sdkmetric.MeterProvider
}

func newBackend(sampler sdktrace.Sampler) *backend {
	b := &backend{recorder: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	b.tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b.recorder), sdktrace.WithSampler(sampler))
	b.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.reader))
	return b
}

// options returns the options of a side that reports to b.
func (b *backend) options() *mcpotel.Options {
	return &mcpotel.Options{TracerProvider: b.tracers, MeterProvider: b.meters}
}

// span returns the only span that has ended with that kind and name.
func (b *backend) span(t *testing.T, kind trace.SpanKind, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	all := b.spans(kind, name)
	if len(all) != 1 {
		t.Fatalf("got %d %s spans %q, want one; all: %q", len(all), kind, name, b.names())
	}
	return all[0]
}

func (b *backend) spans(kind trace.SpanKind, name string) (found []sdktrace.ReadOnlySpan) {
	for _, s := range b.recorder.Ended() {
		if s.SpanKind() == kind && s.Name() == name {
			found = append(found, s)
		}
	}
	return found
}

// names returns the kinds and names of all spans.
func (b *backend) names() (all []string) {
	for _, s := range b.recorder.Ended() {
		all = append(all, s.SpanKind().String()+" "+s.Name())
	}
	return all
}

// values returns the attributes of a span as text.
func values(s sdktrace.ReadOnlySpan) map[string]string { return texts(s.Attributes()) }

func texts(attrs []attribute.KeyValue) map[string]string {
	all := make(map[string]string)
	for _, a := range attrs {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

// metrics returns the series of each metric: the attributes as text, and the count or sum.
func (b *backend) metrics(t *testing.T) map[string]map[string]int64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := b.reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]map[string]int64)
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			series := make(map[string]int64)
			switch d := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					series[line(p.Attributes)] = int64(p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					series[line(p.Attributes)] = int64(p.Count)
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					series[line(p.Attributes)] = p.Value
				}
			}
			all[m.Name] = series
		}
	}
	return all
}

// line returns attributes as text, sorted.
func line(set attribute.Set) string {
	attrs := texts(set.ToSlice())
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		parts = append(parts, key+"="+attrs[key])
	}
	return strings.Join(parts, " ")
}

type city struct {
	City string `json:"city"`
}

// weather returns a server with a tool and a prompt that reports to b.
func (b *backend) weather(o *mcpserver.Options, t *mcpotel.Options) *mcpserver.Server {
	if o == nil {
		o = new(mcpserver.Options)
	}
	o.Logger = quiet
	s := mcpserver.New("weather", "1.0.0", mcpotel.Server(o, t))
	s.Tool("forecast", "Forecast for a city.", func(_ context.Context, in city) (string, error) {
		if in.City == "Atlantis" {
			return "", mcp.Errorf(mcp.CodeInternal, "no such city")
		}
		return "sunny in " + in.City, nil
	})
	return s
}

// transports connect a client to a server.
var transports = map[string]func(t *testing.T, s *mcpserver.Server) mcpclient.Target{
	"memory": func(_ *testing.T, s *mcpserver.Server) mcpclient.Target { return mcpclient.InProcess(s) },
	"http": func(t *testing.T, s *mcpserver.Server) mcpclient.Target {
		web := httptest.NewServer(s.HTTPHandler())
		t.Cleanup(web.Close)
		return mcpclient.URL(web.URL)
	},
}

func connect(t *testing.T, target mcpclient.Target, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	o.Logger = quiet
	c, err := mcpclient.Connect(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

var revisions = []mcp.Revision{mcp.V20251125, mcp.V20260728}
