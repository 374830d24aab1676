package integration_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A handler that wants a sign-in first, and its client, come to the same result
// in each revision that has URL elicitation, over each transport.
func TestRequiredURLElicitationOverEachTransport(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for name, way := range map[string]func(*testing.T, *mcpserver.Server) mcpclient.Target{
			"memory": func(_ *testing.T, s *mcpserver.Server) mcpclient.Target { return mcpclient.InProcess(s) },
			"http": func(t *testing.T, s *mcpserver.Server) mcpclient.Target {
				return mcpclient.URL(serveHTTP(t, s, s.HTTPHandler()))
			},
		} {
			test := func(t *testing.T) { requireURLElicitation(t, v, way) }
			t.Run(name+"/"+v.String(), func(t *testing.T) {
				t.Parallel()
				if name != "memory" {
					test(t)
					return
				}
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					if test(t); time.Since(began) > time.Second {
						t.Errorf("took %v, want the news that it is done to have been heard", time.Since(began))
					}
				})
			})
		}
	}
}

func requireURLElicitation(t *testing.T, v mcp.Revision, way func(*testing.T, *mcpserver.Server) mcpclient.Target) {
	t.Helper()
	const page = "https://id.example.com/in/7"
	var signedIn atomic.Bool
	s := newFixture(nil)
	s.Tool("enter", "", func(context.Context, struct{}) (string, error) {
		if !signedIn.Load() {
			return "", mcpserver.URLElicitationRequired("Please sign in.", page)
		}
		return "in", nil
	})
	elicited := 0
	c := connectTo(t, way(t, s), &mcpclient.Options{
		Revisions: []mcp.Revision{v},
		ElicitURL: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			elicited++
			if p.URL != page || mcpclient.URLHost(p) != "id.example.com" {
				t.Errorf("sent to %q", p.URL)
			}
			signedIn.Store(true)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, s.ElicitationComplete(ctx, page)
		},
	})
	got, err := c.Call[string](t.Context(), "enter", nil)
	if err != nil || got != "in" || elicited != 1 {
		t.Errorf("got %q, %v after %d elicitations", got, err, elicited)
	}
}

// The list is kept until the server tells that it has changed.
func TestCachedListIsFetchedAgainAfterAChange(t *testing.T) {
	t.Parallel()
	s := newFixture(&mcpserver.Options{ListCache: mcpserver.Cache{TTL: time.Hour}})
	var lists atomic.Int32
	s.Use(func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if r.Method() == mcp.MethodToolsList {
				lists.Add(1)
			}
			return next(ctx, r)
		}
	})
	changed := make(chan struct{}, 8)
	c := connectTo(t, mcpclient.URL(serveHTTP(t, s, s.HTTPHandler())), &mcpclient.Options{
		Revisions:      []mcp.Revision{mcp.V20260728},
		OnToolsChanged: func(context.Context, *mcpclient.Client) { changed <- struct{}{} },
	})
	has := func(name string) (found bool) {
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			found = found || tool.Name == name
		}
		return found
	}
	if early, again := has("late"), has("late"); early || again || lists.Load() != 1 {
		t.Errorf("the server was asked %d times, want once", lists.Load())
	}
	s.Tool("late", "", func(context.Context, struct{}) (string, error) { return "", nil })
	select {
	case <-changed:
	case <-time.After(testTimeout):
		t.Fatal("the change went unheard")
	}
	if !has("late") || lists.Load() != 2 {
		t.Errorf("after the change: asked %d times, want twice, and the new tool", lists.Load())
	}
}

func connectTo(t *testing.T, target mcpclient.Target, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
