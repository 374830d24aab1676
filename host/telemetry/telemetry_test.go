package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/fondaco/fondaco/host/telemetry"
	"github.com/fondaco/fondaco/mcp"
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

// The headers of the environment are secrets of the collector.
func TestExportsFollowNoRedirect(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	var keys atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Api-Key") == "secret" {
			keys.Add(1)
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer collector.Close()
	reports, err := telemetry.Open(t.Context(), telemetry.Options{Collector: collector.URL})
	if err != nil {
		t.Fatal(err)
	}
	s := mcpserver.New("weather", "1.0.0", reports.Server(nil))
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.CallTool(t.Context(), "forecast", nil) // which the server does not have
	_ = c.Close()
	err = reports.Close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "redirects to "+other.URL) {
		t.Errorf("got %v, want an error that says where the collector redirects to", err)
	}
	if keys.Load() == 0 || elsewhere.Load() != 0 {
		t.Errorf("got %d requests with the key at the collector, and %d at the other server, want some and none", keys.Load(), elsewhere.Load())
	}
}

// TestTracesOfOtherMachinesAreLinked: a client elsewhere does not decide what the host samples.
func TestTracesOfOtherMachinesAreLinked(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00" // not sampled
	for _, public := range []bool{false, true} {
		var spans atomic.Int64
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("tools/call")) && r.URL.Path == "/v1/traces" {
				spans.Add(1)
			}
		}))
		reports, err := telemetry.Open(t.Context(), telemetry.Options{Collector: collector.URL, PublicEndpoint: public})
		if err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New("weather", "1.0.0", reports.Server(nil))
		web := httptest.NewServer(s.HTTPHandler())
		c, err := mcpclient.Connect(mcp.ContextWithTrace(t.Context(), mcp.Trace{Parent: parent}), mcpclient.URL(web.URL), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.CallTool(mcp.ContextWithTrace(t.Context(), mcp.Trace{Parent: parent}), "forecast", nil)
		_ = c.Close()
		web.Close()
		if err := reports.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		collector.Close()
		if got := spans.Load() > 0; got != public {
			t.Errorf("public %t: got spans %t", public, got)
		}
	}
}
