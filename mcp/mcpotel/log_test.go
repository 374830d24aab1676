package mcpotel_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpotel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestLogHasTheIDsOfTheSpan(t *testing.T) {
	b := newBackend(sdktrace.AlwaysSample())
	var out bytes.Buffer
	log := slog.New(mcpotel.LogHandler(slog.NewTextHandler(&out, nil)))
	s := mcpserver.New("s", "1", mcpotel.Server(&mcpserver.Options{Logger: log}, b.options()))
	s.Tool("tool", "A tool.", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Logger(ctx).With("a", 1).InfoContext(ctx, "inside")
		return "", nil
	})
	c := connect(t, mcpclient.InProcess(s), new(mcpclient.Options))
	if _, err := c.CallTool(t.Context(), "tool", nil); err != nil {
		t.Fatal(err)
	}
	log.WithGroup("g").Info("outside")
	span := b.span(t, trace.SpanKindServer, "tools/call tool").SpanContext()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := "trace_id=" + span.TraceID().String() + " span_id=" + span.SpanID().String() + " trace_flags=01"
	if len(lines) != 2 || !strings.Contains(lines[0], want) || !strings.Contains(lines[0], "a=1") {
		t.Errorf("got %q, want two lines, and in the first %s", lines, want)
	}
	if strings.Contains(lines[len(lines)-1], "trace_id") {
		t.Errorf("got %q, want no ids without a span", lines[len(lines)-1])
	}
}
