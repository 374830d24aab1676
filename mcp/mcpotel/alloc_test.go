//go:build !race

// The race detector makes sync.Pool forget at random, so that there is nothing to count.

package mcpotel_test

import (
	"context"
	"testing"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpotel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// callOf returns a function that calls a tool in memory, with telemetry on the two sides that may be nil.
func callOf(tb testing.TB, atServer, atClient *mcpotel.Options) func() {
	tb.Helper()
	serverOptions, clientOptions := &mcpserver.Options{Logger: quiet}, &mcpclient.Options{Logger: quiet}
	if atServer != nil {
		serverOptions = mcpotel.Server(serverOptions, atServer)
	}
	if atClient != nil {
		clientOptions = mcpotel.Client(clientOptions, atClient)
	}
	s := mcpserver.New("weather", "1.0.0", serverOptions)
	s.Tool("forecast", "Forecast for a city.", func(_ context.Context, in city) (string, error) { return in.City, nil })
	c, err := mcpclient.Connect(tb.Context(), mcpclient.InProcess(s), clientOptions)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	ctx := tb.Context()
	return func() {
		if _, err := c.CallTool(ctx, "forecast", city{"Rome"}); err != nil {
			tb.Fatal(err)
		}
	}
}

// unsampled returns options with an SDK that measures and samples no span.
func unsampled() *mcpotel.Options {
	return newBackend(sdktrace.ParentBased(sdktrace.NeverSample())).options()
}

// none returns options without an SDK.
func none() *mcpotel.Options {
	return &mcpotel.Options{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()}
}

// TestUnsampledCallAllocatesLittle: what telemetry adds to a call of a tool.
func TestUnsampledCallAllocatesLittle(t *testing.T) {
	count := func(server, client *mcpotel.Options) float64 {
		call := callOf(t, server, client)
		call() // the first one makes the series
		return testing.AllocsPerRun(500, call)
	}
	plain := count(nil, nil)
	for _, test := range []struct {
		name           string
		server, client *mcpotel.Options
		ceiling        float64
	}{
		{"server, not sampled", unsampled(), nil, 2}, // the span and its context, in the SDK
		{"client, not sampled", nil, unsampled(), 5}, // the same, the traceparent, and 2 in the server that reads it
		{"server without an SDK", none(), nil, 1},
		{"client without an SDK", nil, none(), 1},
	} {
		if added := count(test.server, test.client) - plain; added > test.ceiling {
			t.Errorf("%s: got %v more allocations than a call without telemetry, want at most %v", test.name, added, test.ceiling)
		}
	}
}

// BenchmarkServer measures what the middleware of a server costs, without the call below it.
func BenchmarkServer(b *testing.B) {
	for name, options := range map[string]func() *mcpotel.Options{"unsampled": unsampled, "none": none} {
		b.Run(name, func(b *testing.B) {
			o := mcpotel.Server(&mcpserver.Options{Logger: quiet}, options())
			wrap := o.Middleware[0]
			o.Middleware = []mcpserver.Middleware{func(next mcpserver.Handler) mcpserver.Handler {
				measured := wrap(func(context.Context, *mcpserver.Request) (any, error) { return (*mcp.CallToolResult)(nil), nil })
				return func(ctx context.Context, r *mcpserver.Request) (any, error) {
					if r.Method() == mcp.MethodToolsCall {
						_, _ = measured(ctx, r) // makes the series
						b.ReportAllocs()
						b.ResetTimer()
						for b.Loop() {
							_, _ = measured(ctx, r)
						}
						b.StopTimer()
					}
					return next(ctx, r)
				}
			}}
			s := mcpserver.New("weather", "1.0.0", o)
			s.Tool("forecast", "Forecast for a city.", func(_ context.Context, in city) (string, error) { return in.City, nil })
			c, err := mcpclient.Connect(b.Context(), mcpclient.InProcess(s), &mcpclient.Options{Logger: quiet})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			if _, err := c.CallTool(b.Context(), "forecast", city{"Rome"}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkClient measures a whole call in memory, with the telemetry of the client and without.
func BenchmarkClient(b *testing.B) {
	for name, options := range map[string]func() *mcpotel.Options{"plain": func() *mcpotel.Options { return nil }, "unsampled": unsampled, "none": none} {
		b.Run(name, func(b *testing.B) {
			call := callOf(b, nil, options())
			call()
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
