//go:build unix && !race

package gateway_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func init() {
	// growing adds a tool to its list. Each process has a list of its own.
	roles["growing"] = func() {
		srv := process(&mcpserver.Options{Dynamic: true})
		srv.Tool("grow", "Add a tool", func(context.Context, struct{}) (string, error) {
			srv.Tool("grown", "A new tool", func(context.Context, struct{}) (string, error) { return "here", nil })
			return "added", nil
		})
		mcpserver.Main(srv)
	}
}

// A program of the stateless era has one list for all requests, but each caller has a process
// of its own.
func TestToolThatAStatelessProgramAddsIsOfItsCaller(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(revision.String(), func(t *testing.T) {
			t.Parallel()
			g := start(t, child("c", "growing"))
			t.Cleanup(g.Close)
			changed := make(chan struct{}, 100)
			c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{
				Revisions: []mcp.Revision{revision}, Logger: quiet,
				OnToolsChanged: func(context.Context, *mcpclient.Client) { changed <- struct{}{} },
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			if got, err := c.Call[string](t.Context(), "c__grow", nil); err != nil || got != "added" {
				t.Fatalf("got %q, %v, want the tool added", got, err)
			}
			if revision != mcp.V20260728 { // where the tool is in no list
				select {
				case <-changed:
				case <-time.After(testTimeout):
					t.Fatal("the session was not notified")
				}
				if got := toolNames(t, c); !slices.Contains(got, "c__grown") {
					t.Errorf("got %q, want the new tool, too", got)
				}
			}
			if got, err := c.Call[string](t.Context(), "c__grown", nil); err != nil || got != "here" {
				t.Errorf("got %q, %v, want the call passed on to the caller's process", got, err)
			}
		})
	}
}
