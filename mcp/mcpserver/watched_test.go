package mcpserver_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// crowded returns a server on which 8 resources can be watched, 2 by one connection, and
// how often that limit was reached.
func crowded() (*mcpserver.Server, *atomic.Int32) {
	reached := new(atomic.Int32)
	srv := newServer(&mcpserver.Options{
		Load: &mcpserver.LoadOptions{MaxWatched: 8},
		OnLimit: func(e mcp.LimitReached) {
			if e.Limit == mcp.LimitWatched {
				reached.Add(1)
			}
		},
	})
	srv.Template("n://dir/{part}", "part", "", anything)
	return srv, reached
}

func TestFullTableOfSubscriptionsEvictsFromTheLargestOwner(t *testing.T) {
	claim.Shows(t, "B-11")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, reached := crowded()
		var crowd []*wire
		for i := range 4 {
			w := dial(t, srv, r)
			watch(w, fmt.Sprintf("n://dir/old%d", i))
			watch(w, fmt.Sprintf("n://dir/new%d", i))
			crowd = append(crowd, w)
		}
		newcomer := dial(t, srv, r)
		watch(newcomer, "n://dir/mine")
		if n := reached.Load(); n != 1 {
			t.Errorf("the limit was reported %d times, want once", n)
		}
		// The first of the crowd has watched two for longest. It is told.
		if isModern(r) {
			if m := crowd[0].Reply("2"); m.Error == nil || m.Error.Code != 503 || !strings.Contains(m.Raw, "retryAfterMs") {
				t.Errorf("got %s, want the end of the newest subscription", m.Raw)
			}
		} else if got := crowd[0].updates(1); got != "n://dir/new0" {
			t.Errorf("got %s, want the resource that is not watched any more", got)
		}
		srv.Updated("n://dir/new0")
		crowd[0].Quiet()
		srv.Updated("n://dir/old0")
		srv.Updated("n://dir/new1")
		srv.Updated("n://dir/mine")
		if got := crowd[0].updates(1) + " " + crowd[1].updates(1) + " " + newcomer.updates(1); got != "n://dir/old0 n://dir/new1 n://dir/mine" {
			t.Errorf("got %s, want each its own", got)
		}
		for _, w := range append(crowd, newcomer) {
			w.Quiet()
		}
	})
}

func TestOneOwnerWatchesNoMoreThanItsShare(t *testing.T) {
	claim.Shows(t, "B-11")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, reached := crowded()
		w := dial(t, srv, r)
		method, params := "resources/subscribe", `{"uri":%q}`
		if isModern(r) {
			method, params = "subscriptions/listen", `{"notifications":{"resourceSubscriptions":[%q]}}`
		}
		watch(w, "n://dir/a")
		watch(w, "n://dir/b")
		e := w.Refused(method, fmt.Sprintf(params, "n://dir/c"), 429)
		if reached.Load() != 1 || !strings.Contains(e.Message, "you have reached the limit of one client's subscriptions") {
			t.Errorf("got %q, reported %d times, want the reason", e.Message, reached.Load())
		}
		if isModern(r) {
			w.Write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			synctest.Wait()
		} else {
			watch(w, "n://dir/a") // which is nothing new
			w.Must("resources/unsubscribe", `{"uri":"n://dir/a"}`)
		}
		watch(w, "n://dir/c")
	})
}

func TestLongURIsCountByTheirBytes(t *testing.T) {
	claim.Shows(t, "B-11")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, _ := crowded()
		watch(dial(t, srv, r), "n://dir/"+strings.Repeat("x", 500)) // as two
		for range 2 {
			w := dial(t, srv, r)
			watch(w, "n://dir/a")
			watch(w, "n://dir/b")
		}
		last := dial(t, srv, r)
		watch(last, "n://dir/"+strings.Repeat("y", 500))
		last.Quiet()
	})
}
