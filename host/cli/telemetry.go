package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/fondaco/fondaco/host/httpserver"
	"github.com/fondaco/fondaco/host/telemetry"
	"github.com/fondaco/fondaco/host/terminal"
)

// telemetryFlags say where the telemetry of a host goes.
type telemetryFlags struct {
	collector string
	metrics   string // address for Prometheus
}

func (t *telemetryFlags) declare(f *flag.FlagSet) {
	f.StringVar(&t.collector, "otlp", "", "send spans and metrics to the collector at `URL`")
	f.StringVar(&t.metrics, "metrics", "", "serve metrics for Prometheus at `HOST:PORT`")
}

// collectorVariable names the collector in the environment, as for all programs with OpenTelemetry.
const collectorVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"

// openTelemetry returns the telemetry that flags and environment ask for, nil for none. From then on the
// metrics are served, also to the networks of readers. public says that other machines can reach the host.
func (m *Main) openTelemetry(ctx context.Context, flags telemetryFlags, readers []netip.Prefix, public bool) (*telemetry.Telemetry, error) {
	if flags.collector == "" {
		flags.collector, _ = m.Getenv(collectorVariable)
	}
	if disabled, _ := m.Getenv("OTEL_SDK_DISABLED"); disabled == "true" {
		flags.collector = ""
	}
	if flags == (telemetryFlags{}) {
		return nil, nil
	}
	if protocol, _ := m.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); flags.collector != "" && protocol != "" && protocol != "http/protobuf" {
		return nil, usagef("OTEL_EXPORTER_OTLP_PROTOCOL is %q: want http/protobuf, and the port of the collector for it, such as 4318", protocol)
	}
	listener, err := m.listenForMetrics(flags.metrics, readers)
	if err != nil {
		return nil, err
	}
	t, err := telemetry.Open(ctx, telemetry.Options{Collector: flags.collector, Prometheus: listener != nil, PublicEndpoint: public, Logger: m.logger()})
	if err != nil {
		return nil, usagef("--otlp: %w", err)
	}
	m.onClose(func() {
		ctx, cancel := context.WithTimeout(context.Background(), telemetryEnd)
		defer cancel()
		if err := t.Close(ctx); err != nil {
			m.Message("telemetry: the last spans and metrics were not sent: %s", terminal.CleanLine(err.Error()))
		}
	})
	if flags.collector != "" {
		m.Message("spans and metrics are sent to %s", terminal.CleanLine(flags.collector))
	}
	if listener != nil {
		m.serveMetrics(listener, t.Handler(), readers)
	}
	return t, nil
}

// telemetryEnd is how long the end of a host waits for a collector.
const telemetryEnd = 5 * time.Second

// observe adds the metrics of the host to its telemetry.
func (h *hostProcess) observe() error {
	if h.telemetry == nil {
		return nil
	}
	sources := telemetry.Sources{Status: h.gateway.Status, Waiting: h.gateway.Server().WaitingRequests}
	if h.questions != nil {
		sources.Questions = func(ctx context.Context) (int, error) {
			open, err := h.questions.calls.Queue.List(ctx)
			return len(open), err
		}
	}
	return h.telemetry.Observe(sources)
}

// listenForMetrics listens for Prometheus until Close. It returns nil without an address.
func (m *Main) listenForMetrics(addr string, readers []netip.Prefix) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, usagef("--metrics %q: want HOST:PORT, such as 127.0.0.1:9464", addr)
	}
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, usagef("--metrics %q: %w", addr, err)
	}
	if !resolved.IP.IsLoopback() && len(readers) == 0 {
		return nil, usagef("--metrics %s: every machine of the network could read the names of your servers and tools; want a loopback address such as 127.0.0.1:9464, or --behind-proxy with the addresses that may read them", addr)
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	m.onClose(func() { _ = listener.Close() })
	return listener, nil
}

// serveMetrics serves metrics at /metrics until Close.
func (m *Main) serveMetrics(listener net.Listener, metrics http.Handler, readers []netip.Prefix) {
	web := &http.Server{Handler: httpserver.Metrics(metrics, readers), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			m.Message("metrics: server stopped: %v", err)
		}
	}()
	m.onClose(func() {
		_ = web.Close()
		<-ended
	})
	m.Message("metrics of this process: %s/metrics", httpserver.BaseURL(listener.Addr()))
}
