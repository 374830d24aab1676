package mcptest_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestRecordedSessionIsAServerInEveryRevision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	var passed atomic.Int64
	t.Run("record", func(t *testing.T) {
		srv := mcpserver.New("greeter", "1.0.0", nil)
		srv.Tool("greet", "Greets", func(_ context.Context, in struct {
			Name string `json:"name"`
		},
		) (string, error) {
			return "Hello " + in.Name, nil
		})
		o := &mcpclient.Options{OnMessage: func(mcp.WireMessage) { passed.Add(1) }}
		mcptest.RecordSession(t, path, o)
		greet(t, mcptest.Connect(t, srv, o))
	})
	if passed.Load() == 0 {
		t.Error("OnMessage of the options got no message")
	}
	mcptest.EachRevision(t, mcptest.RecordedServer(t, path), greet)
}

func greet(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	got, err := c.Call[string](t.Context(), "greet", map[string]string{"name": "Ada"})
	if err != nil || got != "Hello Ada" {
		t.Errorf("got %q, %v, want Hello Ada", got, err)
	}
}
