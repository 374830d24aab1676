package gateway_test

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// rootedServer has the tool "where", which lists its roots, and "choose", which asks the user as well. changed gets
// a value for each notification about its roots.
func rootedServer(revision mcp.Revision, changed chan struct{}) *mcpserver.Server {
	srv := mcpserver.New("rooted", "1", &mcpserver.Options{Revisions: []mcp.Revision{revision}, Logger: quiet})
	list := func(roots []mcp.Root) string {
		var all []string
		for _, root := range roots {
			all = append(all, root.URI)
		}
		return strings.Join(all, " ")
	}
	srv.Tool("where", "", func(ctx context.Context, _ struct{}) (string, error) {
		var roots []mcp.Root
		err := mcpserver.AskAll(ctx, mcpserver.ListRoots("roots", &roots))
		return list(roots), err
	})
	srv.Tool("choose", "", func(ctx context.Context, _ struct{}) (string, error) {
		var roots []mcp.Root
		var chosen struct {
			Meal string `json:"meal"`
		}
		err := mcpserver.AskAll(ctx, mcpserver.ElicitForm("meal", "Which meal?", &chosen), mcpserver.ListRoots("roots", &roots))
		return chosen.Meal + " " + list(roots), err
	})
	srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if r.Method() == mcp.NotificationRootsListChanged {
				changed <- struct{}{}
			}
			return next(ctx, r)
		}
	})
	return srv
}

// rootURI is the URI of a directory.
func rootURI(dir string) string {
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(dir), "/")}).String()
}

// connectAs connects a client that declares the capabilities of its options alone.
func connectAs(t *testing.T, s *mcpserver.Server, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestServerGetsTheConfiguredRootsBesideThoseOfTheClient(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-316b")
	dir, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	meal := func(o *mcpclient.Options) *mcpclient.Options {
		o.ElicitForm = (&answeringClient{}).options(mcp.Revision{}).ElicitForm
		return o
	}
	eachAskingPair(t, func(t *testing.T, up, down mcp.Revision) {
		for _, share := range []bool{false, true} {
			u := upstream("a", rootedServer(up, make(chan struct{}, 100)))
			u.Settings = host.Settings{Share: share, Roots: []string{dir, missing}}
			g := start(t, u)
			ask := func(o *mcpclient.Options, tool, want string) {
				t.Helper()
				o.Revisions, o.Logger, o.Ask.RootsInterval = []mcp.Revision{down}, quiet, -1
				result, err := connectAs(t, g.Server(), o).CallTool(t.Context(), tool, nil)
				if err != nil || result.IsError || result.Content.Text() != want {
					t.Errorf("shared %v: %s: got %+v, %v, want %s", share, tool, result, err, want)
				}
			}
			ask(new(mcpclient.Options), "a__where", rootURI(dir))
			if share {
				continue // nobody can be asked
			}
			client := func(context.Context) ([]mcp.Root, error) {
				return []mcp.Root{{URI: "file:///work"}, {URI: rootURI(dir) + "/"}}, nil
			}
			ask(&mcpclient.Options{Roots: client}, "a__where", "file:///work "+rootURI(dir)+"/")
			ask(meal(new(mcpclient.Options)), "a__choose", "soup "+rootURI(dir))
			ask(meal(&mcpclient.Options{Roots: func(context.Context) ([]mcp.Root, error) {
				return []mcp.Root{{URI: "file:///work"}}, nil
			}}), "a__choose", "soup file:///work "+rootURI(dir))
		}
	})
}

func TestClientThatFailsToNameItsRootsLeavesTheConfiguredOnes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u := upstream("a", rootedServer(mcp.V20251125, make(chan struct{}, 100)))
	u.Settings.Roots = []string{dir}
	result, err := connectAs(t, start(t, u).Server(), &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet,
		Roots: func(context.Context) ([]mcp.Root, error) { return nil, fmt.Errorf("broken") },
	}).CallTool(t.Context(), "a__where", nil)
	if err != nil || result.Content.Text() != rootURI(dir) {
		t.Errorf("got %+v, %v, want %s", result, err, rootURI(dir))
	}
}

func TestServerIsNotifiedOfChangedRootsWithoutARestart(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	changed := make(chan struct{}, 100)
	u := upstream("a", rootedServer(mcp.V20251125, changed))
	u.Settings.Roots = []string{first}
	g, c := open(t, &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}}, u)
	where := func(want string) {
		t.Helper()
		if result, err := c.CallTool(t.Context(), "a__where", nil); err != nil || result.Content.Text() != want {
			t.Errorf("got %+v, %v, want %s", result, err, want)
		}
	}
	where(rootURI(first))
	again := u
	again.Settings.Roots = []string{first, second}
	g.Reload([]host.Upstream{again})
	for range 2 { // the shared connection and that of the client
		<-changed
	}
	where(rootURI(first) + " " + rootURI(second))
	g.Reload([]host.Upstream{again})
	again.Origin.Project = "/project"
	if again.Settings.Roots = nil; len(changed) > 0 {
		t.Error("got a notification without a change")
	}
	g.Reload([]host.Upstream{again})
	if result, err := c.CallTool(t.Context(), "a__where", nil); err == nil && !result.IsError {
		t.Errorf("got %+v, want no roots any more", result)
	}
}

func TestRootsThatAreNotApprovedAnyMoreAreNotGivenAndTheServerWaits(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-316b")
	dir, link := t.TempDir(), t.TempDir()
	eachAskingPair(t, func(t *testing.T, up, down mcp.Revision) {
		var changed atomic.Bool // that the link leads elsewhere
		given := make(chan string, 100)
		srv := rootedServer(up, make(chan struct{}, 100))
		srv.Tool("send", "", func(ctx context.Context, _ struct{}) (string, error) {
			var roots []mcp.Root
			err := mcpserver.AskAll(ctx, mcpserver.ListRoots("roots", &roots))
			for _, root := range roots {
				given <- root.URI
			}
			return "", err
		})
		u := upstream("a", srv)
		u.Settings.Roots, u.Origin.Project = []string{dir, link}, dir
		states := make(chan host.Status, 100)
		g := gateway.New([]host.Upstream{u}, &gateway.Options{
			Logger: quiet, OnStatus: func(s host.Status) { states <- s },
			Admit: func(_ context.Context, u *host.Upstream) (*host.Upstream, error) {
				if changed.Load() {
					return nil, fmt.Errorf("%w: a", host.ErrNeedsApproval)
				}
				return u, nil
			},
			AdmitRoots: func(_ context.Context, _ *host.Upstream, paths []string) ([]string, error) {
				if changed.Load() {
					return paths[:1], fmt.Errorf("%w: the root", host.ErrNeedsApproval)
				}
				return paths, nil
			},
		})
		t.Cleanup(g.Close)
		g.Start(t.Context())
		awaitState(t, g, states, host.Ready)
		c := connectAs(t, g.Server(), &mcpclient.Options{
			Revisions: []mcp.Revision{down}, Logger: quiet, Ask: mcpclient.AskOptions{RootsInterval: -1},
			Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///work"}}, nil },
		})
		if result, err := c.CallTool(t.Context(), "a__where", nil); err != nil || result.Content.Text() != "file:///work "+rootURI(dir)+" "+rootURI(link) {
			t.Errorf("got %+v, %v, want all roots", result, err)
		}
		changed.Store(true)
		_, _ = c.CallTool(t.Context(), "a__send", nil) // which may end with the connection
		awaitState(t, g, states, host.NeedsApproval)
		for len(given) > 0 {
			if uri := <-given; uri == rootURI(link) {
				t.Errorf("got %s, want it not given", uri)
			}
		}
		if result, err := c.CallTool(t.Context(), "a__where", nil); err == nil && !result.IsError {
			t.Errorf("got %+v, want no call before the approval", result)
		}
		changed.Store(false)
		g.Retry("a")
		awaitState(t, g, states, host.Ready)
	})
}

// A root that leads back, or a file that is put back, needs no approval, although nobody has approved anything meanwhile.
func TestConnectionOfACallerIsCheckedAgainWithoutAnApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changed atomic.Bool
		u := upstream("a", rootedServer(mcp.V20251125, make(chan struct{}, 100)))
		u.Settings.Roots = []string{t.TempDir()}
		g := gateway.New([]host.Upstream{u}, &gateway.Options{
			Logger: quiet, Admit: func(_ context.Context, u *host.Upstream) (*host.Upstream, error) {
				if changed.Load() {
					return nil, fmt.Errorf("%w: a", host.ErrNeedsApproval)
				}
				return u, nil
			},
		})
		defer g.Close()
		g.Start(t.Context())
		synctest.Wait()
		changed.Store(true)
		c := connectAs(t, g.Server(), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
		defer c.Close()
		if result, err := c.CallTool(t.Context(), "a__where", nil); err == nil && !result.IsError {
			t.Errorf("got %+v, want no call before the approval", result)
		}
		changed.Store(false)
		time.Sleep(3 * time.Second)
		if result, err := c.CallTool(t.Context(), "a__where", nil); err != nil || result.IsError {
			t.Errorf("got %+v, %v, want the call made", result, err)
		}
	})
}
