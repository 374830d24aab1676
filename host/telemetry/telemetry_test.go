package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/fondaco/fondaco/host/telemetry"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// TestMetricsHaveTheTracesOfCalls: durations have the trace id of a sampled call as an exemplar.
func TestMetricsHaveTheTracesOfCalls(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	for _, sampled := range []bool{false, true} {
		o := telemetry.Options{Prometheus: true}
		if sampled {
			o.Collector = collector.URL + "/"
		}
		reports, err := telemetry.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New("weather", "1.0.0", reports.Server(nil))
		s.Tool("forecast", "Forecast.", func(context.Context, struct{}) (string, error) { return "sunny", nil })
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), reports.Client("weather", nil))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.CallTool(t.Context(), "forecast", nil)
		_ = c.Close()
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
		w := httptest.NewRecorder()
		reports.Handler().ServeHTTP(w, r)
		if got := strings.Contains(w.Body.String(), ` # {span_id="`) || strings.Contains(w.Body.String(), ` # {trace_id="`); got != sampled {
			t.Errorf("sampled %v: got exemplars %v in\n%s", sampled, got, w.Body)
		}
		if err := reports.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestExportsThatFailAreLogged(t *testing.T) {
	var log strings.Builder
	reports, err := telemetry.Open(t.Context(), telemetry.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	otel.Handle(errors.New("collector is away"))
	if err := reports.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if !strings.Contains(log.String(), "collector is away") {
		t.Errorf("got the log %q, want the error of the export", log.String())
	}
}

// TestCollectorThatCannotBeReachedEndsWithTheContext of Close.
func TestCollectorThatCannotBeReachedEndsWithTheContext(t *testing.T) {
	reports, err := telemetry.Open(t.Context(), telemetry.Options{Collector: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	s := mcpserver.New("weather", "1.0.0", reports.Server(nil))
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := reports.Close(ctx); err == nil {
		t.Error("got no error, want one that says that spans were not sent")
	}
}
