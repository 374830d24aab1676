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

// featureSets is a server with tools of single sessions and of clients with roots.
type featureSets struct {
	*mcpserver.Server
	withRoots *mcpserver.FeatureSet

	mu       sync.Mutex
	own      map[*mcpserver.Session]*mcpserver.FeatureSet // guarded by mu
	unlisted []*mcpserver.FeatureSet                      // guarded by mu: of everybody
}

func newFeatureSets(t *testing.T) *featureSets {
	t.Helper()
	s := &featureSets{own: make(map[*mcpserver.Session]*mcpserver.FeatureSet)}
	s.Server = mcpserver.New("sets", "1", &mcpserver.Options{
		Logger: slog.New(slog.DiscardHandler), Dynamic: true, PageSize: 2,
		ListCache: mcpserver.Cache{TTL: time.Minute, Public: true},
		RequestFeatures: func(r *mcpserver.Request) (listed, unlisted []*mcpserver.FeatureSet) {
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
func (s *featureSets) set(t *testing.T, names ...string) *mcpserver.FeatureSet {
	t.Helper()
	set := s.NewFeatureSet()
	for _, name := range names {
		err := set.AddTool(mcp.Tool{Name: name, InputSchema: jsontext.Value(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)},
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
			s := newFeatureSets(t)
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
		s := newFeatureSets(t)
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
		for _, c := range []*mcpclient.Client{able, other} { // a cache must not give one the list of the other
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
		s := newFeatureSets(t)
		s.unlisted = []*mcpserver.FeatureSet{nil, s.set(t, "quiet")}
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
		s := newFeatureSets(t)
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

// ownKinds is a server with registered prompts, resources and templates, and with further ones of
// clients with roots or of the sessions that have called "login". Prompts and contents say who
// made them.
func ownKinds(t *testing.T, unlisted bool) *mcpserver.Server {
	t.Helper()
	var own *mcpserver.FeatureSet
	var in sync.Map
	srv := mcpserver.New("kinds", "1", &mcpserver.Options{
		Logger: slog.New(slog.DiscardHandler), Dynamic: true,
		RequestFeatures: func(r *mcpserver.Request) (_, _ []*mcpserver.FeatureSet) {
			_, loggedIn := in.Load(r.Session())
			switch {
			case unlisted:
				return nil, []*mcpserver.FeatureSet{own}
			case r.Capabilities().Roots != nil || r.Session() != nil && loggedIn:
				return []*mcpserver.FeatureSet{nil, own}, nil
			}
			return nil, nil
		},
	})
	srv.Tool("login", "Log in", func(ctx context.Context, _ struct{}) (string, error) {
		session := mcpserver.From(ctx).Session()
		in.Store(session, true)
		session.PromptsChanged()
		session.ResourcesChanged()
		return "", nil
	})
	prompts := func(who string) mcpserver.PromptHandler {
		return func(_ context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{mcpserver.UserMessage(who + " " + p.Name)}}, nil
		}
	}
	resources := func(who string) mcpserver.ResourceHandler {
		return func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.NewResourceContents(p.URI, "text/plain", []byte(who))}}, nil
		}
	}
	complete := mcpserver.CompleteWith(func(context.Context, *mcp.CompleteParams) (*mcp.Completion, error) {
		return &mcp.Completion{Values: []string{"own"}}, nil
	})
	srv.AddPrompt(mcp.Prompt{Name: "all"}, prompts("registered"))
	srv.AddResource(mcp.Resource{URI: "r://all", Name: "all"}, resources("registered"))
	srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "t://all/{id}", Name: "all"}, resources("registered template"))
	own = srv.NewFeatureSet()
	for _, err := range []error{
		own.AddPrompt(mcp.Prompt{Name: "all"}, prompts("own")),
		own.AddPrompt(mcp.Prompt{Name: "own"}, prompts("own"), complete),
		own.AddResource(mcp.Resource{URI: "r://all", Name: "all"}, resources("own")),
		own.AddResource(mcp.Resource{URI: "r://own", Name: "own"}, resources("own")),
		own.AddResource(mcp.Resource{URI: "t://all/own", Name: "own of the template"}, resources("own")),
		own.AddTemplate(mcp.ResourceTemplate{URITemplate: "t://own/{id}", Name: "own"}, resources("own template"), complete),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if own.Len() != 6 {
		t.Errorf("got %d features, want 6", own.Len())
	}
	return srv
}

// kindsOf returns the prompts, resources and templates that a client lists.
func kindsOf(t *testing.T, c *mcpclient.Client) string {
	t.Helper()
	var all []string
	for f, err := range c.Prompts(t.Context(), mcpclient.NoCache()) {
		all = append(all, fmt.Sprint(f.Name, errorOf(err)))
	}
	for f, err := range c.Resources(t.Context(), mcpclient.NoCache()) {
		all = append(all, fmt.Sprint(f.URI, errorOf(err)))
	}
	for f, err := range c.Templates(t.Context(), mcpclient.NoCache()) {
		all = append(all, fmt.Sprint(f.URITemplate, errorOf(err)))
	}
	return strings.Join(all, " ")
}

func errorOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// usesOf returns what a client gets of the features of ownKinds.
func usesOf(t *testing.T, c *mcpclient.Client) string {
	t.Helper()
	var all []string
	for _, name := range []string{"all", "own"} {
		p, err := c.GetPrompt(t.Context(), name, nil)
		if err != nil {
			all = append(all, "unknown")
			continue
		}
		all = append(all, p.Messages[0].Content.(mcp.TextContent).Text)
	}
	for _, uri := range []string{"r://all", "r://own", "t://all/1", "t://all/own", "t://own/1"} {
		r, err := c.ReadResource(t.Context(), uri)
		if err != nil {
			all = append(all, "unknown")
			continue
		}
		all = append(all, r.Contents[0].Text)
	}
	for _, ref := range []mcp.Reference{mcp.PromptRef("own"), mcp.ResourceRef("t://own/{id}"), mcp.ResourceRef("t://own/1")} {
		found, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: "id"}})
		if err != nil {
			all = append(all, "unknown")
			continue
		}
		all = append(all, strings.Join(found.Values, " "))
	}
	return strings.Join(all, ", ")
}

const (
	listedByAll  = "all r://all t://all/{id}"
	listedWithUs = "all own r://all r://own t://all/own t://all/{id} t://own/{id}"
	usedByAll    = "registered all, unknown, registered, unknown, registered template, registered template, unknown, unknown, unknown, unknown"
	usedWithUs   = "registered all, own own, registered, own, registered template, own, own template, own, own, own"
)

func TestPromptsAndResourcesOfASessionBelongToItAlone(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20241105, mcp.V20250618, mcp.V20251125} {
		synctest.Test(t, func(t *testing.T) {
			srv := ownKinds(t, false)
			var mu sync.Mutex
			notified := make(map[string]int)
			connect := func(name string) *mcpclient.Client {
				count := func(list string) func(context.Context, *mcpclient.Client) {
					return func(context.Context, *mcpclient.Client) {
						mu.Lock()
						defer mu.Unlock()
						notified[name+" "+list]++
					}
				}
				return connectPlain(t, srv, &mcpclient.Options{
					Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{revision},
					OnToolsChanged: count("tools"), OnPromptsChanged: count("prompts"), OnResourcesChanged: count("resources"),
				})
			}
			ada, bob := connect("ada"), connect("bob")
			begin(t, ada, "login")
			if got := kindsOf(t, ada); got != listedWithUs {
				t.Errorf("%s: got %q, want %q", revision, got, listedWithUs)
			}
			if got := usesOf(t, ada); got != usedWithUs {
				t.Errorf("%s: got %q, want %q", revision, got, usedWithUs)
			}
			if got := kindsOf(t, bob); got != listedByAll {
				t.Errorf("%s: another session: got %q, want %q", revision, got, listedByAll)
			}
			if got := usesOf(t, bob); got != usedByAll {
				t.Errorf("%s: another session: got %q, want %q", revision, got, usedByAll)
			}
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			if len(notified) != 2 || notified["ada prompts"] != 1 || notified["ada resources"] != 1 {
				t.Errorf("%s: got %v, want one notification of each list of the session", revision, notified)
			}
		})
	}
}

func TestPromptsAndResourcesOfACapabilityAreForItsClients(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := ownKinds(t, false)
		able := connectPlain(t, srv, &mcpclient.Options{
			Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{r}, Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
		})
		other := connectPlain(t, srv, &mcpclient.Options{Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{r}})
		if got, uses := kindsOf(t, able), usesOf(t, able); got != listedWithUs || uses != usedWithUs {
			t.Errorf("got %q and %q, want the features of the capability", got, uses)
		}
		if got, uses := kindsOf(t, other), usesOf(t, other); got != listedByAll || uses != usedByAll {
			t.Errorf("got %q and %q, want what everybody has", got, uses)
		}
	})
}

func TestUnlistedPromptsAndResourcesAreUsable(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		c := connectPlain(t, ownKinds(t, true), &mcpclient.Options{Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{r}})
		if got, uses := kindsOf(t, c), usesOf(t, c); got != listedByAll || uses != usedWithUs {
			t.Errorf("got %q and %q, want them in no list and usable", got, uses)
		}
	})
}

// A client can subscribe to a resource that it can read, and to no other.
func TestResourceOfAFeatureSetIsSubscribedToByItsReaders(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := ownKinds(t, false)
		for _, able := range []bool{true, false} {
			o := &mcpclient.Options{Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{r}}
			if able {
				o.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
			}
			c := connectPlain(t, srv, o)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			var updates sync.WaitGroup
			updates.Go(func() {
				time.Sleep(5 * time.Second)
				srv.Updated("r://own")
			})
			updated, changes := time.Now().Add(5*time.Second), 0
			for _, err := range c.Watch(ctx, "r://own") {
				if err == nil && !time.Now().Before(updated) {
					changes++
				}
			}
			cancel()
			updates.Wait()
			if want := map[bool]int{true: 1}[able]; changes != want {
				t.Errorf("able %t: got %d changes, want %d", able, changes, want)
			}
		}
	})
}

func TestFeatureSetRefusesWhatCannotBeRegistered(t *testing.T) {
	t.Parallel()
	set := newServer(nil).NewFeatureSet()
	for want, def := range map[string]mcp.Tool{
		"name: want":         {Name: "with space"},
		"input schema: want": {Name: "a", InputSchema: jsontext.Value(`[]`)},
	} {
		if err := set.AddTool(def, rawNothing); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := set.AddTool(mcp.Tool{Name: "a"}, rawNothing); err != nil {
		t.Error(err)
	}
	if err := set.AddTool(mcp.Tool{Name: "a"}, rawNothing); err == nil || set.Len() != 1 {
		t.Errorf("got %v and %d tools, want a second one of the name refused", err, set.Len())
	}
	read := func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) { return nil, mcpserver.ErrNotFound }
	watched := mcpserver.WhileSubscribed(func(context.Context, string) {})
	lister := mcpserver.ListResources(func(context.Context, string, int) ([]mcpserver.ListedResource[struct{}], string, error) {
		return nil, "", nil
	})
	for want, err := range map[string]error{
		`prompt "": the name is empty`:                    set.AddPrompt(mcp.Prompt{}, nil),
		`resource "x": URI: want`:                         set.AddResource(mcp.Resource{URI: "x", Name: "x"}, read),
		`resource "r://x": option WhileSubscribed: it is`: set.AddResource(mcp.Resource{URI: "r://x", Name: "x"}, read, watched),
		`template "t://{x": `:                             set.AddTemplate(mcp.ResourceTemplate{URITemplate: "t://{x", Name: "x"}, read),
		`template "t://x": option ListResources: it is`:   set.AddTemplate(mcp.ResourceTemplate{URITemplate: "t://x", Name: "x"}, read, lister),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || set.Len() != 1 {
			t.Errorf("got %v and %d features, want %q", err, set.Len(), want)
		}
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
