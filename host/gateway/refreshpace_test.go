package gateway_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A server that announces changes all the time, of 400 tools that differ in each list, is read
// more seldom after a burst, and at once again after a break.
func TestStormOfListChangesIsReadSeldom(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		var quietNow atomic.Bool
		storm := func(ctx context.Context, conn mcp.Conn) error {
			ctx, cancel := context.WithCancel(ctx)
			var work sync.WaitGroup
			defer work.Wait()
			defer cancel()
			return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
				switch m.Method {
				case mcp.MethodPing: // without an answer the connection would be lost in the break
					return emptyResult
				case mcp.MethodInitialize:
					work.Go(func() {
						for ctx.Err() == nil {
							if !quietNow.Load() {
								c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
							}
							time.Sleep(10 * time.Millisecond)
						}
					})
					return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`
				case mcp.MethodToolsList:
					n := int(reads.Add(1))
					var all []string
					for i := range 400 {
						all = append(all, rawTool("t"+strings.Repeat("x", i%50)+string(rune('a'+i/50)), 100+n, ""))
					}
					return `"result":{"tools":[` + strings.Join(all, ",") + `]}`
				}
				return ""
			})
		}
		start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(serverFunc(storm))})
		time.Sleep(10 * time.Minute)
		if n := reads.Load(); n < 80 || n > 100 {
			t.Errorf("got %d reads in ten minutes, want 30 and then one each ten seconds", n)
		}
		quietNow.Store(true)
		time.Sleep(5 * time.Minute)
		before := reads.Load()
		quietNow.Store(false)
		time.Sleep(500 * time.Millisecond)
		if n := reads.Load() - before; n != 1 {
			t.Errorf("got %d reads, want one at once after a break", n)
		}
	})
}
