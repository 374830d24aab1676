package mcpserver_test

import (
	"context"
	"encoding/json/v2"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestCachingHints(t *testing.T) {
	claim.Shows(t, "R-052", "R-263a", "R-264", "G-c")
	eachOf(t, []mcp.Revision{mcp.V20260728}, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{
			ListCache: mcpserver.Cache{TTL: time.Minute, Public: true},
			MethodCache: map[string]mcpserver.Cache{
				mcp.MethodPromptsList:   {TTL: 2 * time.Minute},
				mcp.MethodResourcesRead: {TTL: 3 * time.Minute, Public: true},
			},
			PageSize: 2,
		})
		srv.Resource("a://1", "1", "", fixed("x"), mcpserver.CacheResource(mcpserver.Cache{TTL: time.Second, Public: true}))
		srv.Resource("a://2", "2", "", fixed("x"))
		srv.AddResource(mcp.Resource{URI: "a://3", Name: "3"}, readRaw(&mcp.ReadResourceResult{
			Contents: []mcp.ResourceContents{{URI: "a://3"}}, Caching: mcp.CacheFor(time.Hour, mcp.CachePrivate),
		}, nil))
		srv.Tool("a", "", nothing)
		srv.Prompt("a", "", emptyPrompt)
		w := dial(t, srv, r)
		var second string
		if err := json.Unmarshal([]byte(at(t, w.Must("resources/list", ""), "/nextCursor")), &second); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct{ method, params, want string }{
			{"resources/read", `{"uri":"a://1"}`, `1000 "public"`},
			{"resources/read", `{"uri":"a://2"}`, `180000 "public"`},
			{"resources/read", `{"uri":"a://3"}`, `3600000 "private"`},
			{"server/discover", ``, `60000 "public"`},
			{"tools/list", ``, `60000 "public"`},
			{"prompts/list", ``, `120000 "private"`},
			{"resources/list", ``, `60000 "public"`},
			{"resources/list", `{"cursor":"` + second + `"}`, `60000 "public"`},
			{"resources/templates/list", ``, `60000 "public"`},
		} {
			result := w.Must(test.method, test.params)
			if got := at(t, result, "/ttlMs") + " " + at(t, result, "/cacheScope"); got != test.want {
				t.Errorf("%s %s: got %s, want %s", test.method, test.params, got, test.want)
			}
		}
		if got := at(t, w.Must("tools/call", `{"name":"a"}`), "/ttlMs"); got != "" {
			t.Errorf("tools/call: got ttlMs %s, want none", got)
		}
	})
}

func TestSessionsGetNoCachingHints(t *testing.T) {
	eachOf(t, mcp.Revisions()[:4], func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{ListCache: mcpserver.Cache{TTL: time.Minute}})
		srv.Resource("a://1", "1", "", fixed("x"), mcpserver.CacheResource(mcpserver.Cache{TTL: time.Second}))
		w := dial(t, srv, r)
		for _, m := range []struct{ method, params string }{{"resources/list", ""}, {"resources/read", `{"uri":"a://1"}`}} {
			if got := string(w.Must(m.method, m.params)); strings.Contains(got, "ttlMs") || strings.Contains(got, "cacheScope") {
				t.Errorf("%s: got %s, want no hints", m.method, got)
			}
		}
	})
}

// A result that depends on the principal must not be marked public, because a shared cache
// would give it to others.
func TestRestrictedResultsAreNeverPublic(t *testing.T) {
	claim.Shows(t, "R-265")
	eachOf(t, []mcp.Revision{mcp.V20260728}, func(t *testing.T, r mcp.Revision) {
		public := mcpserver.Cache{TTL: time.Minute, Public: true}
		srv := newServer(&mcpserver.Options{ListCache: public})
		everybody := mcpserver.Visible(func(*mcp.Identity) bool { return true })
		nobody := mcpserver.Visible(func(*mcp.Identity) bool { return false })
		srv.Tool("open", "", nothing)
		srv.Tool("secret", "", nothing, nobody)
		srv.Prompt("open", "", emptyPrompt)
		srv.Resource("a://1", "1", "", fixed("x"), mcpserver.CacheResource(public), everybody)
		srv.AddResource(mcp.Resource{URI: "a://2", Name: "2"}, readRaw(&mcp.ReadResourceResult{
			Contents: []mcp.ResourceContents{{URI: "a://2"}}, Caching: mcp.CacheFor(time.Hour, mcp.CachePublic),
		}, nil), everybody)
		srv.Resource("a://3", "3", "", fixed("x"), mcpserver.CacheResource(public))
		w := dial(t, srv, r)
		for _, test := range []struct{ method, params, want string }{
			{"tools/list", ``, `"private"`},
			{"prompts/list", ``, `"public"`},
			{"resources/list", ``, `"private"`},
			{"resources/read", `{"uri":"a://1"}`, `"private"`},
			{"resources/read", `{"uri":"a://2"}`, `"private"`},
			{"resources/read", `{"uri":"a://3"}`, `"public"`},
		} {
			if got := at(t, w.Must(test.method, test.params), "/cacheScope"); got != test.want {
				t.Errorf("%s %s: got %s, want %s", test.method, test.params, got, test.want)
			}
		}
	})
}

func TestQuestionsCarryNoCachingHints(t *testing.T) {
	claim.Shows(t, "R-263b")
	eachOf(t, []mcp.Revision{mcp.V20260728}, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddResource(mcp.Resource{URI: "a://2", Name: "2"}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
			return &mcp.InputRequiredResult{RequestState: new("s")}, nil
		}, mcpserver.CacheResource(mcpserver.Cache{TTL: time.Hour}))
		got := string(dial(t, srv, r).Must("resources/read", `{"uri":"a://2"}`))
		if !strings.Contains(got, "input_required") || strings.Contains(got, "ttlMs") || strings.Contains(got, "cacheScope") {
			t.Errorf("got %s, want a question without hints", got)
		}
	})
}

func TestCachingOfUncacheableMethodIsRefused(t *testing.T) {
	t.Parallel()
	text := panicText(t, func() {
		newServer(&mcpserver.Options{MethodCache: map[string]mcpserver.Cache{mcp.MethodToolsCall: {}}})
	})
	if !strings.Contains(text, `MethodCache: "tools/call": want server/discover, a list or resources/read`) {
		t.Errorf("got %q", text)
	}
}
