package cli_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// receiver is a collector that keeps the spans that it gets.
type receiver struct {
	mu      sync.Mutex
	spans   []*tracev1.Span
	metrics int // exports of metrics
}

func (c *receiver) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path == "/v1/metrics" {
		c.metrics++
		return
	}
	body, err := io.ReadAll(r.Body)
	var export collector.ExportTraceServiceRequest
	if err == nil && r.URL.Path == "/v1/traces" && proto.Unmarshal(body, &export) == nil {
		for _, of := range export.ResourceSpans {
			for _, in := range of.ScopeSpans {
				c.spans = append(c.spans, in.Spans...)
			}
		}
	}
}

// span returns the first span of that kind and name, or nil.
func (c *receiver) span(kind tracev1.Span_SpanKind, name string) *tracev1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Kind == kind && s.Name == name {
			return s
		}
	}
	return nil
}

// TestHostSendsTheTraceOfACall: the span of the server of the upstream is below that of the client of the
// host, which is below that of its server. They are sent at the latest when the host ends.
func TestHostSendsTheTraceOfACall(t *testing.T) {
	t.Parallel()
	var got receiver
	web := httptest.NewServer(&got)
	defer web.Close()
	t.Run("host", func(t *testing.T) {
		s, words := upTelling(t, "--otlp", web.URL)
		words.await(t, `spans and metrics are sent to (http://127\.0\.0\.1:\d+)`)
		callDigest(t, s)
	})
	server, client := got.span(tracev1.Span_SPAN_KIND_SERVER, "tools/call demo__digest"), got.span(tracev1.Span_SPAN_KIND_CLIENT, "tools/call digest")
	if server == nil || client == nil {
		t.Fatalf("got %v, want spans of server and client", got.spans)
	}
	if string(client.ParentSpanId) != string(server.SpanId) || string(client.TraceId) != string(server.TraceId) {
		t.Errorf("got parent %x of the client, want the server %x", client.ParentSpanId, server.SpanId)
	}
	if !strings.Contains(client.String(), `"fondaco.upstream"`) {
		t.Errorf("got %v, want the upstream among the attributes", client)
	}
	if got.metrics == 0 {
		t.Error("got no metrics, want some")
	}
}

// callDigest calls a tool of the demonstration twice.
func callDigest(t *testing.T, s session) {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(strings.TrimPrefix(s.env[1], "FONDACO_URL=")), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := c.CallTool(t.Context(), "demo__digest", map[string]string{"text": "a"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHostServesMetrics(t *testing.T) {
	t.Parallel()
	s, words := upTelling(t, "--metrics", "localhost:0")
	url := words.await(t, `metrics of this process: (http://127\.0\.0\.1:\d+/metrics)`)[1]
	callDigest(t, s)
	status, text := get(t, url, "", nil)
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, text)
	}
	for _, want := range []string{
		`mcp_server_operation_duration_seconds_count{gen_ai_operation_name="execute_tool",gen_ai_tool_name="demo__digest",`,
		`mcp_client_operation_duration_seconds_count{fondaco_upstream="demo",gen_ai_operation_name="execute_tool",gen_ai_tool_name="digest",`,
		`fondaco_host_upstream_state{fondaco_upstream="demo",fondaco_upstream_state="ready"} 1`,
		`fondaco_host_upstream_state{fondaco_upstream="demo",fondaco_upstream_state="failed"} 0`,
		"\nfondaco_host_requests_waiting 0\n",
		`fondaco_host_upstream_tools{fondaco_upstream="demo"} `,
		`target_info{`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %s", text, want)
		}
	}
	for _, test := range []struct {
		name, host string
		header     map[string]string
	}{
		{"another name", "evil.example", nil},
		{"a page", "", map[string]string{"Origin": "https://evil.example"}},
		{"a page without Origin", "", map[string]string{"Sec-Fetch-Site": "cross-site"}},
	} {
		if status, _ := get(t, url, test.host, test.header); status != http.StatusForbidden {
			t.Errorf("%s: got %d, want 403", test.name, status)
		}
	}
	if status, _ := get(t, strings.TrimSuffix(url, "/metrics")+"/mcp", "", nil); status != http.StatusNotFound {
		t.Errorf("got %d for another path, want 404", status)
	}
}

func TestHostHasNoTelemetryUnlessAsked(t *testing.T) {
	t.Parallel()
	_, words := upTelling(t)
	for _, word := range []string{"spans", "metrics"} {
		if strings.Contains(words.String(), word) {
			t.Errorf("got %q, want nothing of %s", words.String(), word)
		}
	}
}

func TestHostMeasuresItsStore(t *testing.T) {
	t.Parallel()
	home, words := t.TempDir(), new(output)
	m := &cli.Main{IO: terminal.IO{Stdout: words, Stderr: words, Env: []string{"HOME=" + home, "FONDACO_KEYS=" + strings.Repeat("A", 43) + "="}}, Args: []string{"fondaco", "up", "--addr", "127.0.0.1:0", "--metrics", "localhost:0", "--store", "file:" + filepath.Join(home, "store")}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- m.Main(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	url := words.await(t, `metrics of this process: (http://127\.0\.0\.1:\d+/metrics)`)[1]
	address := words.await(t, `(?m)^LISTEN (\S+)$`)[1]
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL("http://"+address+"/mcp"), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close() // deletes the session, which the store has to remember
	if _, text := get(t, url, "", nil); !strings.Contains(text, "fondaco_host_store_operation_duration_seconds_count{") {
		t.Errorf("got no operations of the store in\n%s", text)
	}
}
