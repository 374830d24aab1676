package mcpclient_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestRootsThatAreRemovedAndRestoredAreAnnounced(t *testing.T) {
	claim.Shows(t, "R-313b", "R-315c")
	dir := filepath.Join(t.TempDir(), "root")
	make := func() {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	make()
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, func(s *script, m message) string {
			if m.Method == "" { // the roots
				return ""
			}
			return session(mcp.V20251125, func(s *script, m message) string {
				if m.Method == mcp.NotificationRootsListChanged {
					return ""
				}
				s.send(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
				return m.result(`{"content":[]}`)
			})(s, m)
		})
		calls := 0
		c := connect(t, target, &mcpclient.Options{PingInterval: -1, Roots: func(ctx context.Context) ([]mcp.Root, error) {
			calls++
			return mcpclient.Directories(dir)(ctx)
		}})
		told := func(after time.Duration) int {
			time.Sleep(after)
			synctest.Wait()
			return len(servers.nth(0).messages(mcp.NotificationRootsListChanged))
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if got := told(time.Hour); got != 0 {
			t.Errorf("a server that has not asked: told %d times", got)
		}
		make()
		if _, err := c.CallTool(t.Context(), "ask", nil); err != nil {
			t.Fatal(err)
		}
		if got := told(time.Hour); got != 0 {
			t.Errorf("nothing has changed: told %d times", got)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if got := told(30 * time.Second); got != 1 {
			t.Errorf("vanished: told %d times, want once", got)
		}
		if _, err := c.CallTool(t.Context(), "ask", nil); err != nil { // now it is told of none
			t.Fatal(err)
		}
		synctest.Wait()
		make()
		if got := told(30 * time.Second); got != 2 {
			t.Errorf("came back: told %d times in all, want twice", got)
		}
		if got := told(time.Hour); got != 2 || calls != 2 {
			t.Errorf("told %d times, handler called %d times, want 2 and only when asked", got, calls)
		}
	})
}

// The stateless era has no such notification: servers ask when they need to know.
func TestRootsAreNotAnnouncedInTheStatelessEra(t *testing.T) {
	claim.Shows(t, "R-314")
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(func(_ *script, m message) string {
			if m.param("inputResponses") == "" {
				return m.result(`{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}`)
			}
			return m.result(`{"content":[]}`)
		}))
		c := connect(t, target, &mcpclient.Options{Roots: mcpclient.Directories(dir)})
		if _, err := c.CallTool(t.Context(), "ask", nil); err != nil {
			t.Fatal(err)
		}
		if got := servers.nth(0).messages(mcp.MethodToolsCall)[0].param("_meta", mcp.MetaClientCapabilities); got != `{"roots":{}}` {
			t.Errorf("declared %s", got)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := servers.nth(0).messages(mcp.NotificationRootsListChanged); len(got) > 0 {
			t.Errorf("told %d times", len(got))
		}
	})
}
