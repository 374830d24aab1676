package exchange_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// TestUnreadLargeResultsAreEvictedForThoseOfOtherClients is about connections whose
// clients call a tool with a result of 400 KiB and do not read, where 1 MiB may be unsent.
func TestUnreadLargeResultsAreEvictedForThoseOfOtherClients(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		var reached atomic.Int32
		srv := mcpserver.New("test", "1", &mcpserver.Options{
			Load: &mcpserver.LoadOptions{MaxUnsent: 1 << 20},
			OnLimit: func(e mcp.LimitReached) {
				if e.Limit == mcp.LimitUnsent {
					reached.Add(1)
				}
			},
		})
		srv.Tool("large", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 400<<10), nil })
		open := func() (w wire, conn *stuck, ended chan error) {
			ours, theirs := memory.Pair()
			conn, ended = &stuck{Conn: theirs, free: make(chan struct{})}, make(chan error, 1)
			go func() { ended <- srv.Serve(context.Background(), conn) }()
			w = wire{t, ours}
			w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			w.read()
			return w, conn, ended
		}
		call := func(w wire, id int) {
			w.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"large"}}`, id)
			synctest.Wait()
		}
		greedy, slow, ended := open()
		for id := range 3 {
			call(greedy, 1+id) // the third one has no room
		}
		if n := reached.Load(); n != 1 {
			t.Errorf("the limit was reported %d times, want once", n)
		}
		modest, fast, others := open()
		close(fast.free)
		call(modest, 1)
		if got := modest.read(); len(got) < 400<<10 {
			t.Errorf("got %.200s, want the result", got)
		}
		close(slow.free)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "to make room") {
			t.Errorf("the connection of the client that does not read: got %v, want it ended", err)
		}
		if n := reached.Load(); n != 2 {
			t.Errorf("the limit was reported %d times, want twice", n)
		}
		for id := range 9 { // what was read counts no more
			call(modest, 2+id)
			if got := modest.read(); len(got) < 400<<10 {
				t.Errorf("got %.200s, want the result", got)
			}
		}
		_ = modest.Close()
		if err := <-others; err != nil {
			t.Error(err)
		}
	})
}

func TestLargeResultWithoutRoomIsAnsweredWithAnError(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		srv := mcpserver.New("test", "1", &mcpserver.Options{Load: &mcpserver.LoadOptions{MaxUnsent: 1 << 20}})
		srv.Tool("large", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 400<<10), nil })
		ours, theirs := memory.Pair()
		conn, ended := &stuck{Conn: theirs, free: make(chan struct{})}, make(chan error, 1)
		go func() { ended <- srv.Serve(context.Background(), conn) }()
		w := wire{t, ours}
		w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		w.read()
		for id := range 3 {
			w.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"large"}}`, id+1)
			synctest.Wait()
		}
		close(conn.free)
		var large int
		var refused string
		for range 3 {
			if got := w.read(); len(got) > 400<<10 {
				large++
			} else {
				refused = got
			}
		}
		want := fmt.Sprintf(`"id":%d,"error":{"code":503,"message":"tools/call: the result of `, 3)
		if large != 2 || !strings.Contains(refused, want) {
			t.Errorf("got %d results and %.300s, want 2 and %s…", large, refused, want)
		}
		_ = ours.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
