package telemetry_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/telemetry"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// brokenStore fails to get values.
type brokenStore struct{ mcpserver.MemoryStore }

func (*brokenStore) Get(context.Context, string) (value []byte, found bool, err error) {
	return nil, false, errors.New("engine: secret")
}

// openMetrics opens a telemetry, and returns what Prometheus reads of it.
func openMetrics(t *testing.T) (reports *telemetry.Telemetry, read func() string) {
	t.Helper()
	reports, err := telemetry.Open(t.Context(), telemetry.Options{Prometheus: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reports.Close(context.Background()) })
	return reports, func() string {
		w := httptest.NewRecorder()
		reports.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
}

func TestStoreAndBusAreMeasured(t *testing.T) {
	reports, read := openMetrics(t)
	s := reports.Store(new(brokenStore))
	_, _, _ = s.Get(t.Context(), "a")
	_, _ = s.Create(t.Context(), "a", nil, 0)
	bus := reports.Bus(new(mcpserver.MemoryBus))
	cancel, err := bus.Subscribe(t.Context(), "topic", func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Publish(t.Context(), "topic", []byte("m")); err != nil {
		t.Fatal(err)
	}
	cancel()
	reports.Decide(host.Decision{Action: host.ActionApprove, Outcome: host.OutcomeDone, Upstream: "git"})
	text := read()
	for _, want := range []string{
		`fondaco_host_store_operation_duration_seconds_count{error_type="_OTHER",fondaco_store_operation="get"} 1`,
		`fondaco_host_store_operation_duration_seconds_count{fondaco_store_operation="create"} 1`,
		`fondaco_host_bus_messages_total{network_io_direction="transmit"} 1`,
		`fondaco_host_decisions_total{fondaco_decision_action="approve",fondaco_decision_outcome="done"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %s", text, want)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "git") {
		t.Errorf("got texts of errors or names in the metrics:\n%s", text)
	}
}

func TestMeasuredStoreIsAStore(t *testing.T) {
	reports, _ := openMetrics(t)
	mcptest.CheckStore(t, func(*testing.T) (one, other mcp.Store) {
		s := reports.Store(new(mcpserver.MemoryStore))
		return s, s
	})
}
