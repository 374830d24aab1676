package mcpcheck_test

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpcheck"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func newServer(o *mcpserver.Options) *mcpserver.Server {
	if o == nil {
		o = new(mcpserver.Options)
	}
	o.Logger = slog.New(slog.DiscardHandler)
	srv := mcpserver.New("notes", "1", o)
	srv.Tool("add", "Add a note", func(context.Context, struct{}) (string, error) { return "added", nil }, mcpserver.NonDestructive())
	srv.AddPrompt(mcp.Prompt{Name: "sum_up", Description: "Sum up all notes"}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{mcpserver.UserMessage("sum up")}}, nil
	})
	srv.AddResource(mcp.Resource{URI: "notes://today", Name: "today"}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
		return nil, io.EOF
	})
	return srv
}

func TestServersOfThisModuleHaveNoFaults(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(newServer(nil).HTTPHandler())
	t.Cleanup(web.Close)
	for name, target := range map[string]mcpcheck.Target{"in memory": {Server: newServer(nil)}, "over HTTP": {URL: web.URL + "/mcp"}} {
		r, err := mcpcheck.Run(t.Context(), target, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, one := range r.Results {
			t.Logf("%s: %+v", name, one)
			if one.Status != mcpcheck.OK && one.Status != mcpcheck.Skipped {
				t.Errorf("%s: got %+v, want ok", name, one)
			}
		}
		if len(r.Revisions) != 5 || r.Worst() != mcpcheck.OK {
			t.Errorf("%s: got %v, want five revisions", name, r.Revisions)
		}
	}
}

// A slowServer is ready some time after it was connected to.
type slowServer struct {
	*mcpserver.Server
	start time.Duration
}

func (s slowServer) Serve(ctx context.Context, conn mcp.Conn) error {
	time.Sleep(s.start)
	return s.Server.Serve(ctx, conn)
}

func TestServerHasTheTimeOfConnectToStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const start = 45 * time.Second
		slow := mcpcheck.Target{Server: slowServer{newServer(nil), start}}
		if _, err := mcpcheck.Run(t.Context(), slow, &mcpcheck.Options{Connect: time.Minute}); err != nil {
			t.Errorf("within a minute: %v", err)
		}
		if _, err := mcpcheck.Run(t.Context(), slow, nil); err == nil {
			t.Error("got a report, want the error that it is not connected within 30 seconds")
		}
	})
}
