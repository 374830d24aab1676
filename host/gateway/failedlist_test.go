package gateway_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// failingLists is a server of 2025-11-25 whose list of tools fails while broken is set.
type failingLists struct {
	broken atomic.Bool
	reads  atomic.Int32
	names  atomic.Pointer[[]string]
	conn   atomic.Pointer[rawConn]
}

func (f *failingLists) Serve(ctx context.Context, conn mcp.Conn) error {
	return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
		switch m.Method {
		case mcp.MethodInitialize:
			f.conn.Store(&c)
			return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`
		case mcp.MethodToolsList:
			f.reads.Add(1)
			if f.broken.Load() {
				return `"error":{"code":-32603,"message":"out of order"}`
			}
			var tools []string
			for _, name := range *f.names.Load() {
				tools = append(tools, rawTool(name, 1, ""))
			}
			return `"result":{"tools":[` + strings.Join(tools, ",") + `]}`
		case mcp.MethodPromptsList:
			return `"result":{"prompts":[{"name":"p"}]}`
		}
		return emptyResult
	})
}

func (f *failingLists) announce() {
	f.conn.Load().send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
}

func TestListThatFailsStaysAsItWasAndIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			f := new(failingLists)
			f.names.Store(&[]string{"go"})
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})
			time.Sleep(time.Minute)
			before := f.reads.Load()
			f.broken.Store(true)
			f.announce()
			time.Sleep(time.Hour)
			// 0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430 and 3030 s after the announcement.
			if got := f.reads.Load() - before; got != 11 {
				t.Errorf("%s: got %d reads in an hour, want pauses that double from 10 s to 10 min", revision, got)
			}
			if got := c.names(t); got != "go" {
				t.Errorf("%s: got %q, want the list that was read before", revision, got)
			}
			if got := strings.Join(g.Status()[0].Omitted, "\n"); !strings.HasPrefix(got, "tools: ") || !strings.Contains(got, "out of order") || !strings.HasSuffix(got, "; the list that was read 1h1m0s ago stays in force") {
				t.Errorf("%s: got %q in the state, want the error and the age of the list", revision, got)
			}
			if got := c.notified(); got != 0 {
				t.Errorf("%s: got %d notifications, want none for a list that stays", revision, got)
			}
			f.broken.Store(false)
			f.names.Store(&[]string{"go", "new"})
			time.Sleep(10 * time.Minute)
			if got := c.names(t); got != "go new" || c.notified() != 1 {
				t.Errorf("%s: got %q after %d notifications, want the new list and one", revision, got, c.notified())
			}
			if got := g.Status()[0].Omitted; len(got) > 0 {
				t.Errorf("%s: got %q in the state, want nothing", revision, got)
			}
		})
	}
}

// The list of a start that failed comes later by itself.
func TestFirstListThatFailsIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := new(failingLists)
		f.names.Store(&[]string{"go"})
		f.broken.Store(true)
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		if got := strings.Join(g.Status()[0].Omitted, "\n"); !strings.Contains(got, "out of order") || strings.Contains(got, "stays in force") {
			t.Errorf("got %q in the state, want the error alone", got)
		}
		f.broken.Store(false)
		time.Sleep(10 * time.Second)
		if got := c.notified(); got != 1 {
			t.Errorf("got %d notifications, want one", got)
		}
		if got := c.names(t); got != "go" {
			t.Errorf("got %q, want the list", got)
		}
	})
}
