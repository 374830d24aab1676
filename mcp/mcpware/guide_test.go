package mcpware_test

import (
	"context"
	"expvar"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// The code of docs/limiting.md.
func guide(reached *expvar.Map, order func(context.Context, struct{}) (string, error)) *mcpserver.Server {
	srv := mcpserver.New("shop", "1.0.0", &mcpserver.Options{
		OnLimit: func(e mcp.LimitReached) { reached.Add(string(e.Limit), 1) }, // an expvar.Map
		Load:    &mcpserver.LoadOptions{MaxCalls: 500, ToolRate: mcp.Rate{PerSecond: 20, Burst: 40}},
	})
	srv.Tool("order", "Order something", order, mcpserver.Timeout(time.Minute), mcpserver.Limit(8), mcpserver.Rate(5, 10))
	srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if r.Outbound() { // a request to the client
				return next(ctx, r)
			}
			start := time.Now()
			result, err := next(ctx, r)
			slog.InfoContext(ctx, "done", "method", r.Method(), "time", time.Since(start), "error", err)
			return result, err
		}
	})
	return srv
}

func guideOfSharedRates(store mcp.Store, secret []byte) *mcpserver.Options {
	return &mcpserver.Options{
		Keys:  []mcpserver.Key{{ID: "2026-11", Secret: secret}},
		Store: store,
		Load:  &mcpserver.LoadOptions{SharedRates: true, ToolRate: mcp.Rate{PerSecond: 50, Burst: 100}},
	}
}

func TestCodeOfTheGuideCountsLimits(t *testing.T) {
	t.Parallel()
	shared := mcpserver.New("shop", "1.0.0", guideOfSharedRates(new(mcpserver.MemoryStore), make([]byte, 32)))
	defer shared.Shutdown(t.Context())
	reached := new(expvar.Map)
	c := connect(t, guide(reached, func(context.Context, struct{}) (string, error) { return "ok", nil }))
	for range 20 {
		_, _ = c.CallTool(t.Context(), "order", nil)
	}
	if reached.Get(string(mcp.LimitOneTool)) == nil {
		t.Errorf("got %v, want the rate of the tool counted", reached)
	}
	page, err := os.ReadFile("../../docs/limiting.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("guide_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(page), "```go\n")[1:] {
		block, _, ok := strings.Cut(block, "\n```")
		if !ok || !strings.Contains(string(code), strings.ReplaceAll("\n"+block, "\n", "\n\t")) {
			t.Errorf("the code above lacks this block of docs/limiting.md:\n%s", block)
		}
	}
}
