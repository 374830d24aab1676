package mcpotel_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpotel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func ExampleServer() {
	exporter := tracetest.NewInMemoryExporter() // a program uses one of OTLP
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithSyncer(exporter)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider())

	srv := mcpserver.New("weather", "1.2.0", mcpotel.Server(nil, nil))
	srv.Tool("forecast", "Forecast for a city.", func(context.Context, struct{}) (string, error) {
		return "sunny", nil
	})

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), mcpotel.Client(nil, nil))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	if _, err := c.CallTool(ctx, "forecast", nil); err != nil {
		panic(err)
	}
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.SpanKind, span.Name)
	}
	// Output:
	// server server/discover
	// server tools/call forecast
	// client tools/call forecast
}

func ExampleLogHandler() {
	log := slog.New(mcpotel.LogHandler(slog.NewJSONHandler(os.Stderr, nil)))
	srv := mcpserver.New("weather", "1.2.0", mcpotel.Server(&mcpserver.Options{Logger: log}, nil))
	srv.Tool("forecast", "Forecast for a city.", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Logger(ctx).InfoContext(ctx, "asked the weather service")
		return "sunny", nil
	})
}
