package gateway_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Changes of upstreams over HTTP reach clients over HTTP: those of the session era by their
// session, those of 2026-07-28 by subscriptions/listen.
func TestListChangesBehindTheHostReachClientsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, up := range []mcp.Revision{mcp.V20250326, mcp.V20251125, mcp.V20260728} {
		t.Run(up.String(), func(t *testing.T) {
			t.Parallel()
			srv := mcpserver.New("d", "1", &mcpserver.Options{Revisions: []mcp.Revision{up}, Logger: quiet, Dynamic: true})
			srv.Tool("first", "First", greet)
			behind := httptest.NewServer(srv.HTTPHandler())
			t.Cleanup(behind.Close)
			t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.URL(behind.URL)})
			t.Cleanup(g.Close)
			front := httptest.NewServer(g.Server().HTTPHandler())
			t.Cleanup(front.Close)
			t.Cleanup(func() { _ = g.Server().Shutdown(context.Background()) })

			tools, prompts, resources := make(map[string]chan struct{}), make(map[string]chan struct{}), make(map[string]chan struct{})
			clients := make(map[string]*mcpclient.Client)
			for _, down := range []mcp.Revision{mcp.V20250326, mcp.V20251125, mcp.V20260728} {
				name := down.String()
				changed := func(all map[string]chan struct{}) func(context.Context, *mcpclient.Client) {
					signal := make(chan struct{}, 10)
					all[name] = signal
					return func(context.Context, *mcpclient.Client) { signal <- struct{}{} }
				}
				c, err := mcpclient.Connect(t.Context(), mcpclient.URL(front.URL), &mcpclient.Options{
					Revisions: []mcp.Revision{down}, Logger: quiet,
					OnToolsChanged: changed(tools), OnPromptsChanged: changed(prompts), OnResourcesChanged: changed(resources),
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				clients[name] = c
			}
			srv.Tool("second", "Second", greet)
			srv.Prompt("plan", "Plan", func(context.Context, greeting) ([]mcp.PromptMessage, error) { return nil, nil })
			srv.Resource("notes://a", "A", "text/plain", func(context.Context) ([]byte, error) { return []byte("a"), nil })
			for name, c := range clients {
				awaitChange(t, tools[name])
				awaitChange(t, prompts[name])
				awaitChange(t, resources[name])
				if got := fmt.Sprint(toolNames(t, c)); got != "[d__first d__second]" {
					t.Errorf("%s: got %s, want the new tool, too", name, got)
				}
			}
		})
	}
}
