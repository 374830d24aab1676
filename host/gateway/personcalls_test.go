package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A server of the session era does not say in which call it asks, so the end of one call must not end the
// question of another one.
func TestQuestionToAPersonOutlivesAnotherCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			ask := func(ctx context.Context, q *host.ServerQuestion) (*host.ServerAnswer, error) {
				q.OnQuestion("7")
				select {
				case <-time.After(12 * time.Second):
					return &host.ServerAnswer{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			g := startWith(t, &gateway.Options{AskPerson: ask}, host.Upstream{Key: "clerk", Target: mcpclient.InProcess(clerk(mcp.V20251125))})
			c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Revisions: []mcp.Revision{down}, Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			var calls sync.WaitGroup
			for i := range 3 { // each question is asked while the calls before wait
				calls.Go(func() {
					time.Sleep(time.Duration(i) * 5 * time.Second)
					result, err := c.CallTool(t.Context(), "clerk__ask", nil)
					if err != nil || result.IsError || result.Content.Text() != "done" {
						t.Errorf("%s, call %d: got %+v, %v, want the answer of the person", down, i, result, err)
					}
				})
			}
			calls.Wait()
			_ = c.Close()
			g.Close()
		}
	})
}
