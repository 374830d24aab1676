package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/wiretest"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// vault offers one of each kind that needs the scopes a and b, and another of each
// kind that needs none.
func vault(o *mcpserver.Options) *mcpserver.Server {
	srv := newServer(o)
	scopes := mcpserver.Scopes("a", "b")
	srv.Tool("open", "", nothing)
	srv.Tool("shut", "", nothing, scopes)
	srv.Tool("slow", "", nothing, scopes, tasks.Enable(srv, &tasks.Options{Logger: slog.New(slog.DiscardHandler)}).AsTask())
	srv.Prompt("open", "", plan, mcpserver.CompleteArg("from", mcpserver.Prefix("Oslo")))
	srv.Prompt("shut", "", plan, scopes, mcpserver.CompleteArg("from", mcpserver.Prefix("Oslo")))
	srv.Resource("open://r", "open", "", fixed("x"))
	srv.Resource("shut://r", "shut", "", fixed("x"), scopes)
	srv.Template("open://t/{airport}{?day}", "open", "", timetable, mcpserver.CompleteArg("airport", mcpserver.Prefix("Oslo")))
	srv.Template("shut://t/{airport}{?day}", "shut", "", timetable, scopes, mcpserver.CompleteArg("airport", mcpserver.Prefix("Oslo")))
	srv.Handle("acme/do", func(context.Context, *mcpserver.Request) (any, error) { return nil, nil })
	srv.RequireScopes("acme/do", "a", "b")
	srv.RequireScopes("resources/templates/list", "a", "b")
	return srv
}

// naming are the requests that name a feature, or a method that needs scopes.
var naming = []struct {
	method, params string
	in             string // the revisions that have it: all, or those with or without sessions
}{
	{"tools/call", `{"name":"shut","arguments":{}}`, ""},
	{"tools/call", `{"name":"shut","arguments":5}`, "malformed"},
	{"tools/call", `{"name":"slow","arguments":{}}`, ""},
	{"prompts/get", `{"name":"shut","arguments":{"from":"x"}}`, ""},
	{"resources/read", `{"uri":"shut://r"}`, ""},
	{"resources/read", `{"uri":"shut://t/OSL"}`, ""},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"shut"},"argument":{"name":"from","value":"o"}}`, ""},
	{"completion/complete", `{"ref":{"type":"ref/resource","uri":"shut://t/{airport}{?day}"},"argument":{"name":"airport","value":"o"}}`, ""},
	{"completion/complete", `{"ref":{"type":"ref/resource","uri":"shut://r"},"argument":{"name":"airport","value":"o"}}`, ""},
	{"resources/subscribe", `{"uri":"shut://r"}`, "sessions"},
	{"resources/subscribe", `{"uri":"shut://t/OSL"}`, "sessions"},
	{"resources/unsubscribe", `{"uri":"shut://r"}`, "sessions"},
	{"subscriptions/listen", `{"notifications":{"resourceSubscriptions":["open://r","shut://r"]}}`, "stateless"},
	{"acme/do", `{}`, ""},
	{"resources/templates/list", `{}`, ""},
}

// ways are those over HTTP, and the status with which they refuse.
var ways = []struct {
	name      string
	answer    mcpserver.ResponseMode
	revisions []mcp.Revision
	status    int
	batch     bool
	stream    bool
}{
	{name: "JSON", answer: mcpserver.ResponseJSON, revisions: revisions, status: 403},
	{name: "events", answer: mcpserver.ResponseStream, revisions: revisions, status: 403},
	{name: "either", revisions: revisions, status: 403},
	{name: "batch", revisions: []mcp.Revision{mcp.V20250326}, status: 200, batch: true},
	{name: "HTTP+SSE", revisions: revisions[:4], status: 202, stream: true},
}

// C06.
func TestScopesAreCheckedOnEveryTransportAndRevision(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-189")
	for _, way := range ways {
		for _, r := range way.revisions {
			t.Run(way.name+" "+r.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					srv := vault(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{ResponseMode: way.answer}})
					defer func() { _ = srv.Shutdown(context.Background()) }()
					open := func(token string) func(token, method, params string) verdict {
						switch {
						case way.stream:
							return streamCallerOf(t, srv, r, token).call
						case way.batch:
							return callerOf(t, srv, r, token).callBatch
						}
						return callerOf(t, srv, r, token).call
					}
					ada, nobody := open("ada"), open("")
					for _, test := range naming {
						if test.in == "sessions" && isModern(r) || test.in == "stateless" && !isModern(r) {
							continue
						}
						const challenge = `Bearer error="insufficient_scope", scope="a b"`
						for token, want := range map[string]string{"ada": challenge, "ada a": challenge, "ada c b": challenge, "": ""} {
							call := ada
							if token == "" {
								call = nobody
							}
							if way.status != 403 {
								want = ""
							}
							got := call(token, test.method, test.params)
							if !got.forbids() || got.status != way.status || got.challenge != want {
								t.Errorf("%s %s by %q: got %d %q %s, want %d %q and error 403", test.method, test.params, token, got.status, got.challenge, got.Raw, way.status, want)
								continue
							}
							if scopes := at(t, got.Error.Data, "/requiredScopes"); string(got.ID) != "7" || scopes != `["a","b"]` {
								t.Errorf("%s %s by %q: got id %s, scopes %s, want 7 and all of them", test.method, test.params, token, got.ID, scopes)
							}
						}
						got := ada("!ada c b a", test.method, test.params)
						if test.in == "malformed" {
							if got.Error == nil || got.Error.Code != -32602 {
								t.Errorf("%s %s: got %s, want -32602 of whom it concerns", test.method, test.params, got.Raw)
							}
							continue
						}
						if got.Error != nil {
							t.Errorf("%s %s with the scopes: got %d %s, want a result", test.method, test.params, got.status, got.Raw)
						}
					}
					if got := ada("ada", "tools/call", `{"name":"open"}`); got.Error != nil {
						t.Errorf("a tool without scopes: got %s", got.Raw)
					}
				})
			})
		}
	}
}

func TestForbiddenIsListedUnlessItIsHidden(t *testing.T) {
	for _, hides := range []bool{false, true} {
		t.Run(fmt.Sprintf("hidden %t", hides), func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				srv := vault(&mcpserver.Options{HideForbidden: hides})
				for range 2 { // the pages of one are not those of another
					for _, who := range []*mcp.Identity{identity("ada", "a"), identity("ada", "a", "b"), nil, identity("bob", "b", "c", "a")} {
						w := dialWith(t, srv, r, who)
						sees := !hides || who != nil && len(who.Scopes) > 1
						for _, method := range []string{"tools/list", "prompts/list", "resources/list"} {
							if list := string(w.Must(method, "")); strings.Contains(list, "shut") != sees || !strings.Contains(list, "open") {
								t.Errorf("%s of %v: got %s, want what needs scopes in it: %t", method, who, list, sees)
							}
						}
					}
				}
			})
		})
	}
}

// C14.
func TestForbiddenIsTheSameAsUnknownWhereItIsHidden(t *testing.T) {
	claim.Shows(t, "R-204b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := vault(&mcpserver.Options{HideForbidden: true})
		w := dialWith(t, srv, r, identity("ada", "b"))
		for _, test := range naming {
			if test.in != "" && (test.in != "sessions" || isModern(r)) || !strings.Contains(test.params, "shut") {
				continue
			}
			hidden, unknown := w.Call(test.method, test.params), w.Call(test.method, strings.ReplaceAll(test.params, "shut", "gone"))
			hidden.Raw = strings.ReplaceAll(hidden.Raw, "shut", "gone")
			if got, want := withoutID(hidden.Raw), withoutID(unknown.Raw); got != want {
				t.Errorf("%s: got %s for what is hidden, %s for what is not there", test.method, got, want)
			}
		}
		if w.Call("acme/do", "").Error.Code != 403 {
			t.Error("acme/do: got no refusal; a method is not hidden")
		}
	})
}

// withoutID removes the id of a response.
func withoutID(raw string) string {
	_, rest, _ := strings.Cut(raw, `"id":`)
	_, rest, _ = strings.Cut(rest, ",")
	return rest
}

func TestChangeOfAForbiddenFeatureIsNotAnnouncedIfItIsHidden(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := vault(&mcpserver.Options{HideForbidden: true})
		w := dialWith(t, srv, r, identity("ada", "b"))
		watchLists(w)
		srv.RemoveTool("shut")
		srv.RemovePrompt("shut")
		srv.RemoveResource("shut://r")
		w.Quiet()
		srv.RemoveTool("open")
		w.Notification("notifications/tools/list_changed")
	})
}

func TestForbiddenPartOfAWatchedResourceIsNotAnnounced(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Resource("notes://all/", "all", "", fixed("x"))
		srv.Resource("notes://all/shut", "shut", "", fixed("x"), mcpserver.Scopes("a"))
		w, granted := dialWith(t, srv, r, identity("ada")), dialWith(t, srv, r, identity("bob", "a"))
		watch(w, "notes://all/")
		watch(granted, "notes://all/")
		srv.Updated("notes://all/shut")
		w.Quiet()
		granted.Notification("notifications/resources/updated")
	})
}

func TestSessionIsNotifiedOfResourcesThatItsLastCredentialsMayRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		defer func() { _ = srv.Shutdown(context.Background()) }()
		srv.Resource("notes://shut", "shut", "", fixed("x"), mcpserver.Scopes("a"))
		c := streamCallerOf(t, srv, mcp.V20250618, "ada")
		heard := func() int {
			srv.Updated("notes://shut")
			time.Sleep(time.Second)
			return strings.Count(string(c.out.text()), "resources/updated")
		}
		if v := c.call("ada a", "resources/subscribe", `{"uri":"notes://shut"}`); v.Error != nil {
			t.Fatalf("got %s", v.Raw)
		}
		for _, test := range []struct {
			token string
			heard int
		}{{"ada a", 1}, {"ada", 1}, {"ada a", 2}} {
			c.call(test.token, "ping", "")
			if got := heard(); got != test.heard {
				t.Errorf("after a request with %q: heard of %d changes, want %d", test.token, got, test.heard)
			}
		}
	})
}

func TestLocalPrincipalNeedsNoScopes(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := vault(&mcpserver.Options{HideForbidden: true})
		w := dial(t, srv, r)
		w.Must("tools/call", `{"name":"shut"}`)
		w.Must("acme/do", "")
		if list := string(w.Must("prompts/list", "")); !strings.Contains(list, "shut") {
			t.Errorf("got %s, want everything", list)
		}
	})
}

func TestScopesWithoutAuthenticationAreLoggedOnce(t *testing.T) {
	t.Parallel()
	log := new(logbook)
	srv := vault(&mcpserver.Options{Logger: textLog(log)})
	defer func() { _ = srv.Shutdown(context.Background()) }()
	c := callerOf(t, srv, mcp.V20260728, "")
	for range 3 {
		if v := c.call("", "tools/call", `{"name":"shut"}`); !v.forbids() || v.challenge != "" {
			t.Errorf("got %d %q %s, want 403 without a challenge", v.status, v.challenge, v.Raw)
		}
	}
	if n := strings.Count(log.String(), "no handler authenticates requests"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, log)
	}
}

func TestHandlerAsksForScopesThatDependOnArguments(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	defer func() { _ = srv.Shutdown(context.Background()) }()
	srv.Tool("read", "", func(ctx context.Context, in struct {
		Drawer string `json:"drawer"`
	},
	) (string, error) {
		return in.Drawer, mcpserver.From(ctx).RequireScopes("read:" + in.Drawer)
	})
	for _, r := range eras {
		c := callerOf(t, srv, r, "ada")
		const params = `{"name":"read","arguments":{"drawer":"top"}}`
		if v := c.call("ada", "tools/call", params); v.status != 403 || !v.forbids() || !strings.Contains(v.challenge, `scope="read:top"`) {
			t.Errorf("got %d %q %s, want a challenge", v.status, v.challenge, v.Raw)
		}
		if v := c.call("ada read:top", "tools/call", params); v.status != 200 || v.Error != nil {
			t.Errorf("with the scope: got %d %s", v.status, v.Raw)
		}
	}
	if err := mcpserver.From(t.Context()).RequireScopes("a"); err != nil || mcpserver.From(t.Context()).Identity() != nil {
		t.Errorf("outside of a request: got %v, want that nobody is asked", err)
	}
}

func TestHandlerGetsThePrincipalOfItsCaller(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	defer func() { _ = srv.Shutdown(context.Background()) }()
	srv.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
		who := mcpserver.From(ctx).Identity()
		if who == nil {
			return "nobody", nil
		}
		return fmt.Sprint(who.Principal, who.Scopes), nil
	})
	for _, r := range eras {
		for token, want := range map[string]string{"ada/phone a b": `issuer="test" subject="ada" client="phone" [a b]`, "": "nobody"} {
			c := callerOf(t, srv, r, token)
			if v := c.call(token, "tools/call", `{"name":"who"}`); at(t, v.Result, "/content/0/text") != canonical(t, encoded(t, want)) {
				t.Errorf("%q: got %s, want %s", token, v.Raw, want)
			}
		}
	}
}

func TestFeatureThatMiddlewareBringsIsAskedForItsScopes(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{Dynamic: true})
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == "tools/call" {
					_ = srv.SetTool(mcp.Tool{Name: "late"}, rawNothing, mcpserver.Scopes("a"))
				}
				return next(ctx, r)
			}
		})
		dialWith(t, srv, r, identity("ada")).Refused("tools/call", `{"name":"late"}`, 403)
		srv.RemoveTool("late")
		dialWith(t, srv, r, identity("ada", "a")).Must("tools/call", `{"name":"late"}`)
	})
}

func TestMiddlewareDoesNotSeeForbiddenRequests(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := vault(nil)
		seen := 0
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == "tools/call" {
					seen++
				}
				return next(ctx, r)
			}
		})
		dialWith(t, srv, r, identity("ada")).Refused("tools/call", `{"name":"shut"}`, 403)
		if seen != 0 {
			t.Errorf("got %d calls, want none", seen)
		}
	})
}

// Of all that is wrong with a request the method is told first, then the scopes,
// then what the client has not declared, then the params.
func TestScopesAreAskedForInTheirOrder(t *testing.T) {
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		srv := vault(nil)
		srv.RequireScopes("tasks/cancel", "a")
		forbidden, undeclared := 403, -32602
		switch {
		case isModern(r):
			undeclared = -32021
		case r != mcp.V20251125:
			forbidden, undeclared = -32601, -32601
		}
		dialWith(t, srv, r, identity("ada")).Refused("tasks/cancel", `{"taskId":5}`, forbidden)
		dialWith(t, srv, r, identity("ada", "a")).Refused("tasks/cancel", `{"taskId":5}`, undeclared)
	})
}

func TestResultsThatNeedScopesArePrivate(t *testing.T) {
	eachOf(t, []mcp.Revision{mcp.V20260728}, func(t *testing.T, r mcp.Revision) {
		all := mcpserver.Cache{TTL: time.Minute, Public: true}
		srv := newServer(&mcpserver.Options{ListCache: all, MethodCache: map[string]mcpserver.Cache{mcp.MethodResourcesRead: all}})
		srv.Resource("a://open", "open", "", fixed("x"))
		srv.Resource("a://shut", "shut", "", fixed("x"), mcpserver.Scopes("a"))
		srv.Tool("open", "", nothing)
		srv.RequireScopes("tools/list", "a")
		w := dialWith(t, srv, r, identity("ada", "a"))
		for _, test := range []struct{ method, params, scope string }{
			{"resources/read", `{"uri":"a://open"}`, `"public"`},
			{"resources/read", `{"uri":"a://shut"}`, `"private"`},
			{"resources/list", ``, `"public"`},
			{"tools/list", ``, `"private"`},
		} {
			if got := at(t, w.Must(test.method, test.params), "/cacheScope"); got != test.scope {
				t.Errorf("%s %s: got %s, want %s", test.method, test.params, got, test.scope)
			}
		}
	})
}

func TestScopesThatMakeNoSensePanic(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	for want, f := range map[string]func(){
		"at least one":   func() { mcpserver.Scopes() },
		"printable":      func() { mcpserver.Scopes("a b") },
		`"a\"" `:         func() { mcpserver.Scopes("a\"") },
		"no such method": func() { srv.RequireScopes("tools/cal", "a") },
		"notification":   func() { srv.RequireScopes("notifications/initialized", "a") },
	} {
		if got := panicText(t, f); !strings.Contains(got, strings.TrimSpace(want)) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestRefusalNamesTheMissingScopes(t *testing.T) {
	t.Parallel()
	srv := vault(nil)
	for _, v := range revisions {
		ours, theirs := pipe(t)
		served := make(chan error, 1)
		go func() {
			served <- srv.ServeConn(context.Background(), theirs, mcpserver.ConnOptions{Identity: identity("ada", "a")})
		}()
		c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(ours), &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.CallTool(t.Context(), "shut", nil)
		e, ok := errors.AsType[*mcp.Error](err)
		if !ok || e.Code != mcp.CodeInsufficientScope || !e.Remote {
			t.Errorf("%v: got %v, want insufficient scope", v, err)
			continue
		}
		if data := decoded[mcp.InsufficientScopeData](t, e.Data); !slices.Equal(data.RequiredScopes, []string{"a", "b"}) {
			t.Errorf("%v: got %v, want both", v, data)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
}

func TestURLElicitationGrantsNoScopes(t *testing.T) {
	claim.Shows(t, "R-349a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		defer func() { _ = srv.Shutdown(context.Background()) }()
		visited := false
		srv.Tool("visit", "", func(context.Context, struct{}) (string, error) {
			if visited {
				return "visited", nil
			}
			return "", mcpserver.URLElicitationRequired("Please sign in.", signIn)
		})
		srv.Tool("shut", "", nothing, mcpserver.Scopes("a"))
		c := callerOf(t, srv, r, "ada")
		refused := func() {
			t.Helper()
			v := c.call("ada", "tools/call", `{"name":"shut"}`)
			if v.status != 403 || !v.forbids() || !strings.HasPrefix(v.challenge, "Bearer ") || strings.Contains(v.Raw, "elicit") || strings.Contains(v.Raw, "://") {
				t.Errorf("got %d %q %s, want a challenge and no question", v.status, v.challenge, v.Raw)
			}
		}
		refused()
		v := c.call("ada", "tools/call", `{"name":"visit"}`)
		visited = true
		params := `{"name":"visit"}`
		if isModern(r) {
			params = `{"name":"visit","requestState":` + at(t, v.Result, "/requestState") + `,"inputResponses":{"url-1":{"action":"accept"}}}`
		}
		if v := c.call("ada", "tools/call", params); at(t, v.Result, "/content/0/text") != `"visited"` {
			t.Fatalf("got %s, want the visit made", v.Raw)
		}
		refused()
	})
}

func TestCustomTransportHasTheIdentityOfItsRequest(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := vault(nil)
		ours, theirs := pipe(t)
		w := &wire{Client: wiretest.Client{T: t, Conn: ours}, served: make(chan error, 1)}
		request := (&http.Request{}).WithContext(mcp.WithIdentity(context.Background(), identity("ada", "a", "b")))
		go func() {
			w.served <- srv.ServeConn(context.Background(), theirs, mcpserver.ConnOptions{Request: request})
		}()
		w.Initialize(r, `{}`)
		w.Must("tools/call", `{"name":"shut"}`)
		_ = ours.Close()
		<-w.served
	})
}
