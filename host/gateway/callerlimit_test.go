package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A principal that opens many sessions leaves room for others, and loses only what it does not
// use.
func TestPrincipalWithManyConnectionsLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: hangingDiary}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		as := func(subject string) *listingClient {
			return newListingClient(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}},
				mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		}
		write := func(c *listingClient) string {
			result, err := c.CallTool(t.Context(), "d__write", map[string]string{"word": "x"})
			if err != nil {
				return err.Error()
			}
			return result.Content.Text()
		}
		var eve []*listingClient
		for range 256 {
			c := as("eve")
			eve = append(eve, c)
			if got := write(c); got != "x" {
				t.Fatalf("got %q", got)
			}
			time.Sleep(time.Second)
		}
		if got := write(as("eve")); !strings.Contains(got, "which is the limit") {
			t.Errorf("got %q, want the next session of the principal refused", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = eve[0].CallTool(ctx, "d__hang", nil)
		}()
		synctest.Wait()
		bob := as("bob")
		for _, want := range []string{"x", "x x"} {
			if got := write(bob); got != want {
				t.Errorf("got %q, want %q for another principal", got, want)
			}
		}
		cancel()
		<-done
		if got := write(eve[0]); got != "x x" {
			t.Errorf("got %q, want the connection that was in use", got)
		}
		if got := write(eve[2]); got != "x x" {
			t.Errorf("got %q, want the connections that were used later", got)
		}
		if got := write(eve[1]); !strings.Contains(got, "which is the limit") {
			t.Errorf("got %q, want the connection closed that was unused longest", got)
		}
		if got := write(bob); got != "x x x" {
			t.Errorf("got %q, want the other principal's connection kept", got)
		}
	})
}
