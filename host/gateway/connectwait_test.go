package gateway_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The lists are read over another connection than the client's own.
func TestCallWaitsForItsConnectionAsLongAsConfigured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int64
		g := startWith(t, &gateway.Options{CallStartTimeout: 3 * time.Minute, Admit: func(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
			if attempts.Add(1) > 1 {
				<-ctx.Done()
			}
			return u, ctx.Err()
		}}, host.Upstream{Key: "d", Target: mcpclient.InProcess(&dynamicServer{})})
		c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}, Timeouts: mcpclient.TimeoutOptions{Call: time.Hour}})
		began := time.Now()
		if got := c.call(t, "whoami"); !strings.Contains(got, "still starting") || time.Since(began) != 3*time.Minute {
			t.Errorf("got %q after %s, want an error after three minutes", got, time.Since(began))
		}
	})
}
