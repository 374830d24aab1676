package mcpclient_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A server must not be able to fill the log.
func TestNotificationsThatFailAreLoggedOnceInASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, session(mcp.V20250618, func(s *script, m message) string {
			for range 500 {
				s.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":7}}`)
			}
			return m.result(`{"content":[]}`)
		}))
		var log lockedLog
		c := connect(t, target, &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20250618}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if _, err := c.CallTool(t.Context(), "go", nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil { // after which nothing is logged
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), "notification of the server failed"); got != 1 {
			t.Errorf("got %d lines, want one for each second", got)
		}
	})
}
