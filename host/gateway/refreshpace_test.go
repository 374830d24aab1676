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

// While a server announces changes of lists that stay as they are, the pauses grow to a minute, and the
// state says so. A real change ends that.
func TestPausesGrowWhileAnnouncedListsStayEqual(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		f := new(failingLists)
		f.names.Store(&[]string{"go"})
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		announce := func(during time.Duration) {
			for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				f.announce()
			}
		}
		before := f.reads.Load()
		announce(10 * time.Minute)
		// After 1, 2, 4, 8, 16, 32 and then 60 s, and 0 to 250 ms of the client.
		if n := f.reads.Load() - before; n < 14 || n > 18 {
			t.Errorf("got %d reads in ten minutes, want pauses that grow to a minute", n)
		}
		if got := strings.Join(g.Status()[0].Omitted, "\n"); !strings.Contains(got, "lists: the server announces changes again and again, but they stay as they are; they are read every 1m0s at most") {
			t.Errorf("got %q in the state, want a remark", got)
		}
		f.names.Store(&[]string{"go", "new"})
		f.announce()
		time.Sleep(time.Minute + time.Second)
		if got := c.names(t); got != "go new" {
			t.Errorf("got %q, want the change within a minute", got)
		}
		if got := g.Status()[0].Omitted; len(got) > 0 {
			t.Errorf("got %q in the state after a change, want nothing", got)
		}
		time.Sleep(5 * time.Minute)
		before = f.reads.Load()
		f.announce()
		time.Sleep(time.Second)
		if n := f.reads.Load() - before; n != 1 {
			t.Errorf("got %d reads, want one at once after a break", n)
		}
	})
}

// The state says that a server sends more notifications than are read.
func TestFloodOfNotificationsIsInTheState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := new(failingLists)
		f.names.Store(&[]string{"go"})
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)}, host.Upstream{Key: "o", Target: mcpclient.InProcess(new(dynamicServer))})
		for range 12_000 {
			f.conn.Load().send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		}
		if got := strings.Join(g.Status()[0].Omitted, "\n"); !strings.Contains(got, "notifications: the server sends more than are read") {
			t.Errorf("got %q in the state, want a remark", got)
		}
		c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		if got, err := c.CallTool(t.Context(), "o__whoami", nil); err != nil || got.IsError {
			t.Errorf("got %+v, %v, want another server not affected", got, err)
		}
		time.Sleep(6 * time.Minute)
		if got := g.Status()[0].Omitted; len(got) > 0 {
			t.Errorf("got %q in the state minutes later, want nothing", got)
		}
	})
}

// A server whose lists change all the time is not connected to for each change to read them for certain
// capabilities, which starts a process of a program. The pauses grow while these callers have no more than others.
func TestListsForCapabilitiesHavePausesThatGrow(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		var lists, connected atomic.Int32
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(serverFunc(func(ctx context.Context, conn mcp.Conn) error {
			ctx, cancel := context.WithCancel(ctx)
			var work sync.WaitGroup
			defer work.Wait()
			defer cancel()
			return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
				switch m.Method {
				case mcp.MethodInitialize:
					if strings.Contains(m.text, `"elicitation"`) {
						connected.Add(1)
					}
					work.Go(func() {
						for ctx.Err() == nil {
							c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
							time.Sleep(50 * time.Millisecond)
						}
					})
				case mcp.MethodToolsList:
					return `"result":{"tools":[` + rawTool("go", int(lists.Add(1)), "") + `]}`
				}
				return announcing(m)
			})
		}))})
		c := newListingClient(t, g.Server(), elicits(mcp.V20251125))
		for began := time.Now(); time.Since(began) < 2*time.Minute; time.Sleep(100 * time.Millisecond) {
			c.names(t)
		}
		if n := connected.Load(); n < 3 || n > 10 {
			t.Errorf("got %d connections for the lists in two minutes, want pauses of 1, 2, 4 s and so on", n)
		}
	})
}
