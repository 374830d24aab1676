package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// toolSets is a server with tools of single sessions and of clients with roots.
type toolSets struct {
	*mcpserver.Server
	withRoots *mcpserver.ToolSet

	mu       sync.Mutex
	own      map[*mcpserver.Session]*mcpserver.ToolSet // guarded by mu
	unlisted []*mcpserver.ToolSet                      // guarded by mu: of everybody
}

func newToolSets(t *testing.T) *toolSets {
	t.Helper()
	s := &toolSets{own: make(map[*mcpserver.Session]*mcpserver.ToolSet)}
	s.Server = mcpserver.New("sets", "1", &mcpserver.Options{
		Logger: slog.New(slog.DiscardHandler), Dynamic: true, PageSize: 2,
		ListCache: mcpserver.Cache{TTL: time.Minute, Public: true},
		RequestTools: func(r *mcpserver.Request) (listed, unlisted []*mcpserver.ToolSet) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if r.Capabilities().Roots != nil {
				listed = append(listed, s.withRoots)
			}
			return append(listed, s.own[r.Session()]), s.unlisted
		},
	})
	s.withRoots = s.set(t, "roots")
	for _, name := range []string{"a", "m", "z"} {
		s.Tool(name, name, nothing)
	}
	s.Tool("login", "Log in", func(ctx context.Context, _ struct{}) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		session := mcpserver.From(ctx).Session()
		s.own[session] = s.set(t, "b", "m", "secret")
		session.ToolsChanged()
		return "", nil
	})
	return s
}

// set returns tools whose results are their names.
func (s *toolSets) set(t *testing.T, names ...string) *mcpserver.ToolSet {
	t.Helper()
	set := s.NewToolSet()
	for _, name := range names {
		err := set.Add(mcp.Tool{Name: name, InputSchema: jsontext.Value(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)},
			func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
				return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("own " + name)}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// connectPlain connects a client that declares no capabilities but those of its options.
func connectPlain(t *testing.T, srv *mcpserver.Server, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, srv)), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func listed(t *testing.T, c *mcpclient.Client) string {
	t.Helper()
	var names []string
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func called(t *testing.T, c *mcpclient.Client, name string) string {
	t.Helper()
	result, err := c.CallTool(t.Context(), name, map[string]int{"n": 1})
	if err != nil {
		return err.Error()
	}
	return result.Content.Text()
}

func begin(t *testing.T, c *mcpclient.Client, name string) {
	t.Helper()
	if result, err := c.CallTool(t.Context(), name, nil); err != nil || result.IsError {
		t.Fatalf("got %+v, %v", result, err)
	}
}

func TestToolsOfASessionAreListedAndCallableInItAlone(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20241105, mcp.V20251125} {
		synctest.Test(t, func(t *testing.T) {
			s := newToolSets(t)
			connect := func() (*mcpclient.Client, func() int) {
				var mu sync.Mutex
				changes := 0
				c := connectPlain(t, s.Server, &mcpclient.Options{
					Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{revision},
					OnToolsChanged: func(context.Context, *mcpclient.Client) {
						mu.Lock()
						defer mu.Unlock()
						changes++
					},
				})
				return c, func() int {
					time.Sleep(time.Second)
					mu.Lock()
					defer mu.Unlock()
					return changes
				}
			}
			ada, adaChanges := connect()
			bob, bobChanges := connect()
			begin(t, ada, "login")
			if got := listed(t, ada); got != "a b login m secret z" {
				t.Errorf("%s: got %q, want the tools of the session among those of all, each once", revision, got)
			}
			if got := listed(t, bob); got != "a login m z" {
				t.Errorf("%s: got %q, want nothing of another session", revision, got)
			}
			if got := called(t, ada, "secret"); got != "own secret" {
				t.Errorf("%s: got %q", revision, got)
			}
			if got := called(t, ada, "m"); got == "own m" {
				t.Errorf("%s: got %q, want the registered tool", revision, got)
			}
			if got, want := called(t, bob, "secret"), strings.ReplaceAll(called(t, bob, "absent"), "absent", "secret"); got != want {
				t.Errorf("%s: got %q, want the error of a tool that does not exist, %q", revision, got, want)
			}
			if result, err := ada.CallTool(t.Context(), "secret", map[string]string{"n": "x"}); err != nil || !result.IsError {
				t.Errorf("%s: got %+v, %v, want the arguments checked", revision, result, err)
			}
			if ours, theirs := adaChanges(), bobChanges(); ours != 1 || theirs != 0 {
				t.Errorf("%s: got %d and %d notifications, want one in the session whose list has changed", revision, ours, theirs)
			}
		})
	}
}

func TestToolsOfACapabilityAreListedToItsClients(t *testing.T) {
	claim.Shows(t, "R-265")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newToolSets(t)
		able := connectPlain(t, s.Server, &mcpclient.Options{
			Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{r}, Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
		})
		other := connectPlain(t, s.Server, &mcpclient.Options{Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{r}})
		for range 2 {
			if got := listed(t, able); got != "a login m roots z" {
				t.Errorf("got %q, want the tool of the capability", got)
			}
			if got := listed(t, other); got != "a login m z" {
				t.Errorf("got %q, want only what everybody sees", got)
			}
		}
		if got := called(t, able, "roots"); got != "own roots" {
			t.Errorf("got %q", got)
		}
		if got := called(t, other, "roots"); !strings.Contains(got, `tool "roots": unknown`) {
			t.Errorf("got %q, want it unknown", got)
		}
		for _, c := range []*mcpclient.Client{able, other} { // of whom a cache might give one the list of the other
			var list struct {
				Scope mcp.CacheScope `json:"cacheScope"`
			}
			if err := c.Request(t.Context(), mcp.MethodToolsList, nil, &list, mcpclient.NoCache()); err != nil || isModern(r) && list.Scope != mcp.CachePrivate {
				t.Errorf("got %q, %v, want a private list", list.Scope, err)
			}
		}
	})
}

func TestUnlistedToolIsCallable(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newToolSets(t)
		s.unlisted = []*mcpserver.ToolSet{nil, s.set(t, "quiet")}
		c := connectPlain(t, s.Server, &mcpclient.Options{Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{r}})
		if got := listed(t, c); got != "a login m z" {
			t.Errorf("got %q, want it in no list", got)
		}
		if got := called(t, c, "quiet"); got != "own quiet" {
			t.Errorf("got %q, want it called", got)
		}
	})
}

func TestToolsChangedForNotifiesTheClientsThatMatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newToolSets(t)
		var mu sync.Mutex
		var notified []string
		for _, r := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			for _, able := range []bool{true, false} {
				o := &mcpclient.Options{Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{r}, OnToolsChanged: func(context.Context, *mcpclient.Client) {
					mu.Lock()
					defer mu.Unlock()
					notified = append(notified, fmt.Sprint(r, " ", able))
				}}
				if able {
					o.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
				}
				connectPlain(t, s.Server, o)
			}
		}
		time.Sleep(time.Second)
		s.ToolsChangedFor(func(_ mcp.Revision, c mcp.ClientCapabilities) bool { return c.Roots != nil })
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(notified)
		if want := []string{"2025-11-25 true", "2026-07-28 true"}; !slices.Equal(notified, want) {
			t.Errorf("got %v, want %v", notified, want)
		}
	})
}

func TestToolSetRefusesWhatCannotBeRegistered(t *testing.T) {
	t.Parallel()
	set := newServer(nil).NewToolSet()
	for want, def := range map[string]mcp.Tool{
		"name: want":         {Name: "with space"},
		"input schema: want": {Name: "a", InputSchema: jsontext.Value(`[]`)},
	} {
		if err := set.Add(def, rawNothing); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := set.Add(mcp.Tool{Name: "a"}, rawNothing); err != nil {
		t.Error(err)
	}
	if err := set.Add(mcp.Tool{Name: "a"}, rawNothing); err == nil || set.Len() != 1 {
		t.Errorf("got %v and %d tools, want a second one of the name refused", err, set.Len())
	}
}

func TestForwardedLogOfASessionReachesItAtItsLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		sessions := make(chan *mcpserver.Session, 2)
		srv.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
			sessions <- mcpserver.From(ctx).Session()
			return "", nil
		})
		connect := func(level mcp.LoggingLevel) (*mcpserver.Session, func() []string) {
			var mu sync.Mutex
			var got []string
			c := connectPlain(t, srv, &mcpclient.Options{
				Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{mcp.V20251125}, LogLevel: level,
				OnLog: func(_ context.Context, m *mcp.LoggingMessageParams) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, fmt.Sprintf("%s %s %s", m.Level, m.Logger, m.Data))
				},
			})
			begin(t, c, "who")
			return <-sessions, func() []string {
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				return got
			}
		}
		ada, adaGot := connect(mcp.LevelWarning)
		_, bobGot := connect(mcp.LevelDebug)
		for _, level := range []mcp.LoggingLevel{mcp.LevelInfo, mcp.LevelError} {
			if err := ada.ForwardLog(t.Context(), &mcp.LoggingMessageParams{Level: level, Logger: "far", Data: jsontext.Value(`"x"`)}); err != nil {
				t.Error(err)
			}
		}
		if got := adaGot(); !slices.Equal(got, []string{`error far "x"`}) {
			t.Errorf("got %q, want what the session asked for", got)
		}
		for range 200 {
			_ = ada.ForwardLog(t.Context(), &mcp.LoggingMessageParams{Level: mcp.LevelError, Data: jsontext.Value(`1`)})
		}
		if got := len(adaGot()); got > 110 {
			t.Errorf("got %d messages at once, want about 100", got)
		}
		if got := bobGot(); got != nil {
			t.Errorf("another session got %q", got)
		}
		if err := ada.ForwardLog(t.Context(), &mcp.LoggingMessageParams{Level: "loud"}); err == nil {
			t.Error("got no error for an unknown level")
		}
	})
}
