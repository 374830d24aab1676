// Package telemetry sends the spans and metrics of a host to a collector of OpenTelemetry, and serves the
// metrics to Prometheus.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpotel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Options of a Telemetry.
type Options struct {
	// Collector is the URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318.
	// Spans go to /v1/traces and metrics to /v1/metrics below it. Empty: nothing is sent. The
	// variables OTEL_EXPORTER_OTLP_* of this process set headers, certificates and times, those of
	// OTEL_TRACES_SAMPLER what is sampled, and those of OTEL_SERVICE_NAME and
	// OTEL_RESOURCE_ATTRIBUTES how the host is described.
	Collector string
	// Prometheus makes Handler serve the metrics.
	Prometheus bool
	// PublicEndpoint is for a host that other machines can reach: the spans of their requests are linked to theirs,
	// and begin traces of their own. See mcpotel.Options.
	PublicEndpoint bool
	// Logger gets a line for each export that has failed, of all of the process, because OpenTelemetry
	// reports them in one place. Default: slog.Default.
	Logger *slog.Logger
}

// Telemetry makes the spans and metrics of a host. It is safe for concurrent use.
type Telemetry struct {
	tracers *sdktrace.TracerProvider // nil without a collector
	meters  *sdkmetric.MeterProvider
	handler http.Handler // nil without Prometheus
	public  bool         // Options.PublicEndpoint
	host    instruments
}

// Open returns the telemetry of a host. It connects to nothing yet: a collector that cannot be reached is
// tried again at each export. The caller must call Close.
func Open(ctx context.Context, o Options) (*Telemetry, error) {
	described, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "fondaco"), attribute.String("service.version", host.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("open telemetry: describe the host: %w", err)
	}
	metrics := []sdkmetric.Option{sdkmetric.WithResource(described)}
	logger := cmp.Or(o.Logger, slog.Default())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("telemetry: not sent", "error", err) }))
	t := &Telemetry{public: o.PublicEndpoint}
	if o.Collector != "" {
		base, err := collectorURL(o.Collector)
		if err != nil {
			return nil, fmt.Errorf("open telemetry: %w", err)
		}
		spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(base+"/v1/traces"), otlptracehttp.WithProxy(refuseRedirects))
		if err != nil {
			return nil, fmt.Errorf("open telemetry: spans: %w", err)
		}
		numbers, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(base+"/v1/metrics"), otlpmetrichttp.WithProxy(refuseRedirects))
		if err != nil {
			return nil, fmt.Errorf("open telemetry: metrics: %w", err)
		}
		t.tracers = sdktrace.NewTracerProvider(sdktrace.WithResource(described), sdktrace.WithBatcher(spans))
		metrics = append(metrics, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(numbers)))
	}
	if o.Prometheus {
		registry := prometheus.NewRegistry()
		reader, err := promexporter.New(promexporter.WithRegisterer(registry), promexporter.WithoutScopeInfo())
		if err != nil {
			return nil, fmt.Errorf("open telemetry: Prometheus: %w", err)
		}
		metrics = append(metrics, sdkmetric.WithReader(reader))
		t.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	}
	t.meters = sdkmetric.NewMeterProvider(metrics...)
	if t.host, err = newInstruments(t.meter()); err != nil {
		return nil, fmt.Errorf("open telemetry: %w", err)
	}
	return t, nil
}

// meter returns the meter of the host's own metrics.
func (t *Telemetry) meter() metric.Meter {
	return t.meters.Meter("github.com/fondaco/fondaco/host/telemetry")
}

// refuseRedirects is the function that finds the proxy for a request of an exporter. It refuses those that follow
// a redirect: the headers of OTEL_EXPORTER_OTLP_HEADERS, which have secrets, would go to wherever it leads. The exporters have
// no other way to do so that keeps the certificates of the environment.
func refuseRedirects(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, fmt.Errorf("the collector redirects to %s://%s: want the URL that takes the telemetry itself", r.URL.Scheme, r.URL.Host)
	}
	return http.ProxyFromEnvironment(r)
}

// collectorURL returns the URL without a slash at the end.
func collectorURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("collector %q: want an http or https URL, such as http://127.0.0.1:4318", text)
	case u.User != nil:
		return "", fmt.Errorf("collector %q: want no user and password in the URL; OTEL_EXPORTER_OTLP_HEADERS has headers", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("collector %q: want a URL without a query and a fragment", text)
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// options returns the options of one side.
func (t *Telemetry) options(attrs ...attribute.KeyValue) *mcpotel.Options {
	o := &mcpotel.Options{TracerProvider: noop.NewTracerProvider(), MeterProvider: t.meters, Attributes: attrs, PublicEndpoint: t.public, MessageSizes: true}
	if t.tracers != nil {
		o.TracerProvider = t.tracers
	}
	return o
}

// Server returns the options of the server that clients of the host use, with its telemetry.
func (t *Telemetry) Server(o *mcpserver.Options) *mcpserver.Options {
	return mcpotel.Server(o, t.options())
}

// Client returns the options of a client of an upstream, with its telemetry.
func (t *Telemetry) Client(upstream string, o *mcpclient.Options) *mcpclient.Options {
	return mcpotel.Client(o, t.options(keyUpstream.String(upstream)))
}

// Handler serves the metrics in the formats of Prometheus and OpenMetrics. It is nil without
// Options.Prometheus.
func (t *Telemetry) Handler() http.Handler { return t.handler }

// Close sends what is not sent yet, until ctx is done, and ends the telemetry.
func (t *Telemetry) Close(ctx context.Context) error {
	var err error
	if t.tracers != nil {
		err = t.tracers.Shutdown(ctx)
	}
	return errors.Join(err, t.meters.Shutdown(ctx))
}
