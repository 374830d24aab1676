package mcpware_test

import (
	"context"
	"encoding/json/jsontext"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

// TestWaitForAnAnswerCountsForNeitherTimeoutNorBulkhead is about a user who thinks for
// minutes, behind a bulkhead of one place and a timeout of a minute.
func TestWaitForAnAnswerCountsForNeitherTimeoutNorBulkhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := mcpserver.New("s", "1", nil)
		srv.Use(mcpware.Bulkhead(1, time.Second, mcp.MethodToolsCall), mcpware.Timeout(time.Minute))
		srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := mcpserver.Ask[struct {
				OK bool `json:"ok"`
			}](ctx, "sure", "Are you sure?")
			return "asked", err
		})
		srv.Tool("now", "", func(context.Context, struct{}) (string, error) { return "now", nil })
		asked := make(chan struct{})
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125}, Timeouts: mcpclient.TimeoutOptions{Call: 3 * time.Hour, MaxCall: 3 * time.Hour},
			ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				close(asked)
				time.Sleep(9 * time.Minute)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"ok":true}`)}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		answer := make(chan error, 1)
		go func() {
			_, err := c.Call[string](t.Context(), "ask", nil)
			answer <- err
		}()
		<-asked
		if _, err := c.Call[string](t.Context(), "now", nil); err != nil {
			t.Errorf("another call meanwhile: %v", err)
		}
		if err := <-answer; err != nil {
			t.Errorf("the call that asked: %v", err)
		}
	})
}
