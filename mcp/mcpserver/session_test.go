package mcpserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestRequestsOfOneSessionShareItsLifetime(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		var seen []context.Context
		srv.Tool("look", "Look", func(ctx context.Context, _ struct{}) (string, error) {
			seen = append(seen, mcpserver.From(ctx).Session())
			return "", nil
		})
		one, two := dial(t, srv, r), dial(t, srv, r)
		for _, w := range []*wire{one, one, two} {
			w.must("tools/call", `{"name":"look"}`)
		}
		if r == mcp.V20260728 {
			if seen[0] != nil || seen[2] != nil {
				t.Errorf("got %v, want no session in the stateless era", seen)
			}
			return
		}
		if seen[0] != seen[1] || seen[0] == seen[2] || seen[0].Err() != nil {
			t.Errorf("got %v, want one for each session", seen)
		}
		_ = one.conn.Close()
		select {
		case <-seen[0].Done():
		case <-time.After(time.Second):
			t.Error("the context has not ended with its session")
		}
		if seen[2].Err() != nil {
			t.Error("the other session has ended too")
		}
	})
}

func TestUpdateForOneSubscriberReachesNoOther(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := notes()
		var requests []*mcpserver.Request
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == mcp.MethodListen || r.Method() == mcp.MethodResourcesSubscribe {
					requests = append(requests, r)
				}
				return next(ctx, r)
			}
		})
		one, two := dial(t, srv, r), dial(t, srv, r)
		watch(one, "notes://a")
		watch(two, "notes://a")
		requests[1].Updated("notes://b")
		requests[1].Updated("notes://a")
		if got := two.updates(1); got != "notes://a" {
			t.Errorf("got %s, want what is watched", got)
		}
		one.quiet()
		two.quiet()
	})
}
