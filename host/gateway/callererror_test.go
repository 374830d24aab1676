package gateway_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// Where programs are, how they are started and what they write is for the operator.
func TestCallersDoNotSeeWhyAnUpstreamIsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const secret = "/opt/private/serve"
		srv := newServer("a")
		srv.Tool("greet", "Greet", greet)
		var admitted atomic.Int32
		var mu sync.Mutex
		var reasons []string
		g := gateway.New([]host.Upstream{upstream("a", srv)}, &gateway.Options{
			Logger: quiet,
			Admit: func(_ context.Context, u *host.Upstream) (*host.Upstream, error) {
				if admitted.Add(1) == 1 { // the shared connection lists the tool
					return u, nil
				}
				other := *u
				other.Target = mcpclient.Command(secret)
				return &other, nil
			},
			OnDecision: func(d host.Decision) error {
				mu.Lock()
				defer mu.Unlock()
				if d.Action == host.ActionStart && d.Outcome == host.OutcomeFailed {
					reasons = append(reasons, d.Reason)
				}
				return nil
			},
		})
		t.Cleanup(g.Close)
		g.Start(t.Context())
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
		for range 4 { // the first ones wait for the next attempt
			result, err := c.CallTool(t.Context(), "a__greet", greeting{"Ada"})
			if err != nil || !result.IsError {
				t.Fatalf("got %+v, %v, want a result for the model", result, err)
			}
			if text := result.Content.Text(); strings.Contains(text, secret) || !strings.Contains(text, `: unavailable (incident `) {
				t.Errorf("got %q, want no more than that it is unavailable", text)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if last := reasons[len(reasons)-1]; !strings.Contains(last, secret) {
			t.Errorf("recorded %q, want the whole reason", last)
		}
	})
}
