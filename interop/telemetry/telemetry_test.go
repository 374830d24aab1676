//go:build unix

package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// maxWait bounds each wait.
const maxWait = 2 * time.Minute

// build returns the program fondaco.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "telemetry")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "fondaco")
	output, err := exec.Command("go", "-C", "../../cmd/fondaco", "build", "-o", program).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build fondaco: %w\n%s", err, output)
	}
	return program, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if program, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

// output collects what a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// host is a running host with the demonstration.
type host struct {
	program string
	env     []string
	command *exec.Cmd
	printed *output
}

// startHost starts a host with flags, and with the demonstration.
func startHost(t *testing.T, flags ...string) *host {
	t.Helper()
	return startHostWith(t, "", flags...)
}

// startHostWith starts a host with the user's own configuration, unless it is empty.
func startHostWith(t *testing.T, configuration string, flags ...string) *host {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	h := &host{program: program, env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + home}, printed: new(output)}
	if configuration != "" {
		own := filepath.Join(home, ".config", "fondaco", "mcp.json")
		if err := errors.Join(os.MkdirAll(filepath.Dir(own), 0o700), os.WriteFile(own, []byte(configuration), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	h.command = exec.Command(program, append([]string{"up", "--addr", "127.0.0.1:0"}, flags...)...)
	h.command.Env, h.command.Stdout, h.command.Stderr = h.env, h.printed, h.printed
	if err := h.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if h.command.ProcessState == nil {
			_ = h.command.Process.Kill()
			_ = h.command.Wait()
		}
	})
	return h
}

// await waits for a line that the host prints, and returns the first group of the pattern.
func (h *host) await(t *testing.T, pattern string) string {
	t.Helper()
	var found []string
	await(t, pattern, func() error {
		if found = regexp.MustCompile(pattern).FindStringSubmatch(h.printed.String()); found == nil {
			return errors.New(h.printed.String())
		}
		return nil
	})
	return found[1]
}

// call calls a tool of the demonstration.
func (h *host) call(t *testing.T) {
	t.Helper()
	address := h.await(t, `(?m)^LISTEN (\S+)$`)
	command := exec.Command(h.program, "call", "demo/digest", "text=a", "--url", "http://"+address+"/mcp")
	command.Env = h.env
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("call: %v\n%s\n%s", err, text, h.printed)
	}
}

// stop ends the host as Ctrl-C does.
func (h *host) stop(t *testing.T) {
	t.Helper()
	_ = h.command.Process.Signal(syscall.SIGINT)
	if err := h.command.Wait(); err != nil {
		t.Errorf("host: %v\n%s", err, h.printed)
	}
}

// await waits until check succeeds.
func await(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(maxWait); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// received is what the receiver of the collector has decoded.
type received struct {
	spans   consumertest.TracesSink
	metrics consumertest.MetricsSink
	logs    consumertest.LogsSink
}

// startCollector starts the receiver of the collector until the end of the test.
func startCollector(t *testing.T) (address string, got *received) {
	t.Helper()
	got = new(received)
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	address = freeAddress(t)
	web := config.Protocols.HTTP.GetOrInsertDefault()
	web.ServerConfig.NetAddr.Endpoint = address
	config.Protocols.GRPC = configoptional.None[configgrpc.ServerConfig]()
	settings := receivertest.NewNopSettings(factory.Type())
	atTraces, err := factory.CreateTraces(t.Context(), settings, config, &got.spans)
	if err != nil {
		t.Fatal(err)
	}
	atMetrics, err := factory.CreateMetrics(t.Context(), settings, config, &got.metrics)
	if err != nil {
		t.Fatal(err)
	}
	atLogs, err := factory.CreateLogs(t.Context(), settings, config, &got.logs)
	if err != nil {
		t.Fatal(err)
	}
	nothing := componenttest.NewNopHost()
	if err := errors.Join(atTraces.Start(t.Context(), nothing), atMetrics.Start(t.Context(), nothing), atLogs.Start(t.Context(), nothing)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		_ = errors.Join(atTraces.Shutdown(ctx), atMetrics.Shutdown(ctx), atLogs.Shutdown(ctx))
	})
	return address, got
}

// TestCollectorTakesTheAuditLog: a server that cannot be reached has lines, too.
func TestCollectorTakesTheAuditLog(t *testing.T) {
	address, got := startCollector(t)
	configuration := fmt.Sprintf(`{"mcpServers": {"away": {"url": "http://%s/mcp"}}, "fondaco": {"audit": {"otlp": "http://%s"}}}`, freeAddress(t), address)
	h := startHostWith(t, configuration, "--yes")
	h.await(t, `(?m)^LISTEN (\S+)$`)
	await(t, "audit records", func() error {
		for _, batch := range got.logs.AllLogs() {
			for _, of := range batch.ResourceLogs().All() {
				for _, in := range of.ScopeLogs().All() {
					for _, record := range in.LogRecords().All() {
						if strings.Contains(record.Body().AsString(), `"upstream":"away"`) && record.EventName() == "fondaco.audit" {
							return nil
						}
					}
				}
			}
		}
		return fmt.Errorf("got %d records", got.logs.LogRecordCount())
	})
	h.stop(t)
}

// TestCollectorTakesTheTelemetryOfAHost: what the receiver of the collector decodes.
func TestCollectorTakesTheTelemetryOfAHost(t *testing.T) {
	address, got := startCollector(t)
	h := startHost(t, "--otlp", "http://"+address)
	h.call(t)
	h.stop(t)

	names := make(map[string]bool)
	for _, batch := range got.spans.AllTraces() {
		for _, of := range batch.ResourceSpans().All() {
			if name, _ := of.Resource().Attributes().Get("service.name"); name.AsString() != "fondaco" {
				t.Errorf("got service.name %q, want fondaco", name.AsString())
			}
			for _, in := range of.ScopeSpans().All() {
				for _, span := range in.Spans().All() {
					names[span.Kind().String()+" "+span.Name()] = true
				}
			}
		}
	}
	for _, batch := range got.metrics.AllMetrics() {
		for _, of := range batch.ResourceMetrics().All() {
			for _, in := range of.ScopeMetrics().All() {
				for _, metric := range in.Metrics().All() {
					names[metric.Name()] = true
				}
			}
		}
	}
	for _, want := range []string{
		"Server tools/call demo__digest", "Client tools/call digest",
		"mcp.server.operation.duration", "mcp.client.operation.duration", "fondaco.host.upstream.state",
	} {
		if !names[want] {
			t.Errorf("got %v, want %s", names, want)
		}
	}
}

// TestPrometheusReadsAHost: Prometheus of the distribution scrapes a host by the configuration of
// deploy/prometheus, evaluates its alerts, and answers the queries of the dashboard.
func TestPrometheusReadsAHost(t *testing.T) {
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v; .ci/engines prometheus installs it", err)
		}
	}
	target := freeAddress(t)
	h := startHost(t, "--metrics", target)
	h.call(t)
	text := get(t, "http://"+target+"/metrics")
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if report, err := check.CombinedOutput(); err != nil && !onlyNames(report) {
		t.Errorf("promtool check metrics: %v\n%s", err, report)
	}

	dir := t.TempDir()
	for _, name := range []string{"prometheus.yml", "alerts.yml"} {
		data, err := os.ReadFile(filepath.Join("../../deploy/prometheus", name))
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.ReplaceAll(data, []byte("127.0.0.1:9464"), []byte(target))
		data = bytes.ReplaceAll(data, []byte("interval: 15s"), []byte("interval: 1s"))
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if report, err := exec.Command("promtool", "check", "config", filepath.Join(dir, "prometheus.yml")).CombinedOutput(); err != nil {
		t.Fatalf("promtool check config: %v\n%s", err, report)
	}
	address := freeAddress(t)
	printed := new(output)
	server := exec.Command("prometheus", "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address)
	server.Stderr = printed
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
	}()
	base := "http://" + address + "/api/v1/"
	await(t, "scrape", func() error {
		found, err := query(base, `mcp_server_operation_duration_seconds_count{gen_ai_tool_name="demo__digest"}`)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("no series yet: %s", printed)
		}
		return err
	})
	for _, expr := range dashboardQueries(t) {
		if _, err := query(base, expr); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct {
					Name   string `json:"name"`
					Health string `json:"health"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"data"`
	}
	await(t, "alerts", func() error {
		text := get(t, base+"rules")
		if err := json.Unmarshal([]byte(text), &rules); err != nil {
			return err
		}
		count := 0
		for _, g := range rules.Data.Groups {
			for _, r := range g.Rules {
				if count++; r.Health != "ok" {
					return fmt.Errorf("%s: health %s", r.Name, r.Health)
				}
			}
		}
		if count < 7 {
			return fmt.Errorf("%d rules, want those of deploy/prometheus/alerts.yml", count)
		}
		return nil
	})
	h.stop(t)
}

// onlyNames reports whether promtool complains only about names that the conventions of OpenTelemetry give.
func onlyNames(report []byte) bool {
	for line := range strings.Lines(string(report)) {
		if !strings.Contains(line, "should not") && !strings.Contains(line, "no help text") {
			return false
		}
	}
	return true
}

// dashboardQueries returns the queries of the dashboard, with values for its variables.
func dashboardQueries(t *testing.T) (all []string) {
	t.Helper()
	data, err := os.ReadFile("../../deploy/grafana/fondaco.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, strings.NewReplacer("$__rate_interval", "1m", "$job", "fondaco").Replace(target.Expr))
		}
	}
	return all
}

// query returns the series of an answer of Prometheus.
func query(base, expr string) (series []any, err error) {
	resp, err := http.Get(base + "query?query=" + url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			Result []any `json:"result"`
		} `json:"data"`
	}
	if err := json.UnmarshalRead(resp.Body, &answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	return answer.Data.Result, nil
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d, %v\n%s", url, resp.StatusCode, err, text)
	}
	return string(text)
}

// freeAddress returns an address that nothing listened on just now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
