package mcpclient_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// counting is a server whose results count the requests of their method, so that
// a test sees whether a result is a new one.
func counting(hints string) func(*script, message) string {
	return func(s *script, m message) string {
		n := strconv.Itoa(len(s.messages(m.Method)))
		switch m.Method {
		case mcp.MethodToolsList:
			return m.result(`{"tools":[{"name":"t` + n + `","inputSchema":{"type":"object"}}]` + hints + `}`)
		case mcp.MethodPromptsList:
			return m.result(`{"prompts":[{"name":"p` + n + `"}]` + hints + `}`)
		case mcp.MethodResourcesList:
			return m.result(`{"resources":[{"uri":"r:` + n + `","name":"r"}]` + hints + `}`)
		case mcp.MethodResourceTemplatesList:
			return m.result(`{"resourceTemplates":[{"uriTemplate":"r:` + n + `{x}","name":"r"}]` + hints + `}`)
		case mcp.MethodResourcesRead:
			return m.result(`{"contents":[{"uri":` + m.param("uri") + `,"text":"` + n + `"}]` + hints + `}`)
		case mcp.MethodToolsCall:
			return m.result(`{"content":[{"type":"text","text":"` + n + `"}]` + hints + `}`)
		}
		return ""
	}
}

const aMinute = `,"ttlMs":60000,"cacheScope":"private"`

// asked does every request that may be answered from what was kept, and returns
// the counts in the answers.
func asked(t *testing.T, c *mcpclient.Client, opts ...mcpclient.CallOption) string {
	t.Helper()
	var all []string
	note := func(count string, err error) {
		if err != nil {
			t.Error(err)
		}
		all = append(all, count)
	}
	for tool, err := range c.Tools(t.Context(), opts...) {
		note(tool.Name, err)
	}
	for prompt, err := range c.Prompts(t.Context(), opts...) {
		note(prompt.Name, err)
	}
	for resource, err := range c.Resources(t.Context(), opts...) {
		note(resource.URI, err)
	}
	for template, err := range c.Templates(t.Context(), opts...) {
		note(template.URITemplate, err)
	}
	note(read(t, c, "a://1", opts...), nil)
	return strings.Join(all, " ")
}

func read(t *testing.T, c *mcpclient.Client, uri string, opts ...mcpclient.CallOption) string {
	t.Helper()
	result, err := c.ReadResource(t.Context(), uri, opts...)
	if err != nil {
		t.Error(err)
		return ""
	}
	return result.Contents[0].Text
}

const first, second, third = "t1 p1 r:1 r:1{x} 1", "t2 p2 r:2 r:2{x} 2", "t3 p3 r:3 r:3{x} 3"

func TestResultsAreCachedAsLongAsTheServerAllows(t *testing.T) {
	claim.Shows(t, "R-268a", "R-268b", "R-271")
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, stateless(counting(aMinute)))
		c := connect(t, target, nil)
		for _, step := range []struct {
			after time.Duration
			want  string
		}{
			{0, first},
			{time.Minute - 1, first},
			{1, second},
			{time.Minute - 1, second},
		} {
			time.Sleep(step.after)
			if got := asked(t, c); got != step.want {
				t.Errorf("after %v: got %s, want %s", step.after, got, step.want)
			}
		}
		if got := asked(t, c, mcpclient.NoCache()); got != third {
			t.Errorf("Fresh: got %s, want %s", got, third)
		}
		if got := asked(t, c); got != third {
			t.Errorf("after Fresh: got %s, want what it brought, %s", got, third)
		}
	})
}

func TestResultsWithoutCachingHintsAreNotCached(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-268a", "D-20")
	for name, hints := range map[string]string{
		"nothing said":      ``,
		"stale at once":     `,"ttlMs":0,"cacheScope":"public"`,
		"negative":          `,"ttlMs":-1,"cacheScope":"public"`,
		"the most negative": `,"ttlMs":-9223372036854775808,"cacheScope":"private"`,
		"scope alone":       `,"cacheScope":"public"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, stateless(counting(hints)))
			c := connect(t, target, nil)
			if got := asked(t, c) + " " + asked(t, c); got != first+" "+second {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestCacheTimeIsAtMostADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, stateless(counting(`,"ttlMs":9223372036854775807,"cacheScope":"no such scope"`)))
		c := connect(t, target, nil)
		asked(t, c)
		time.Sleep(24*time.Hour - time.Second)
		if got := asked(t, c); got != first {
			t.Errorf("within a day: got %s, want %s", got, first)
		}
		time.Sleep(time.Second)
		if got := asked(t, c); got != second {
			t.Errorf("after a day: got %s, want %s", got, second)
		}
	})
}

// Sessions say nothing of caching; what one says all the same has no meaning.
func TestResultsOfSessionsAreNotCached(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions()[:4] {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, session(v, counting(aMinute)))
			c := connect(t, target, &mcpclient.Options{Revisions: []mcp.Revision{v}})
			if got := asked(t, c) + " " + asked(t, c); got != first+" "+second {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestOnlyTheSameQuestionHasTheSameAnswer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-266a")
	_, target := serve(t, stateless(counting(aMinute)))
	c := connect(t, target, nil)
	trace := mcpclient.WithMeta(mcp.Meta{mcp.MetaTraceparent: raw(`"00-1-1-01"`)})
	tenant := mcpclient.WithMeta(mcp.Meta{"com.example/tenant": raw(`"a"`)})
	for i, step := range []struct {
		uri  string
		opts []mcpclient.CallOption
		want string
	}{
		{"a://1", nil, "1"},
		{"a://1", nil, "1"},
		{"a://2", nil, "2"},
		{"a://1", []mcpclient.CallOption{trace}, "1"},
		{"a://1", []mcpclient.CallOption{tenant}, "3"},
		{"a://1", []mcpclient.CallOption{tenant}, "4"},
		{"a://1", nil, "1"},
	} {
		if got := read(t, c, step.uri, step.opts...); got != step.want {
			t.Errorf("step %d: got %s, want %s", i, got, step.want)
		}
	}
	for i := range 2 {
		got, err := c.Call[string](t.Context(), "t", nil)
		if want := strconv.Itoa(i + 1); err != nil || got != want {
			t.Errorf("tools/call: got %s, %v, want %s: it is never kept", got, err, want)
		}
	}
	var got struct {
		Contents []mcp.ResourceContents `json:"contents"`
	}
	err := c.Request(t.Context(), mcp.MethodResourcesRead, raw(`{ "uri": "\u0061://1" }`), &got)
	if err != nil || got.Contents[0].Text != "1" {
		t.Errorf("the same params written otherwise: got %v, %v, want what was kept", got, err)
	}
}

func TestResultsOfCallsWithAnswersAreNotCached(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-266b")
	reads := 0
	_, target := serve(t, stateless(func(s *script, m message) string {
		if m.param("inputResponses") == "" && m.param("requestState") == "" {
			return m.result(`{"resultType":"input_required","requestState":"s","inputRequests":{"r":{"method":"roots/list"}}}`)
		}
		reads++
		return m.result(fmt.Sprintf(`{"contents":[{"uri":"a://1","text":"%d"}]`+aMinute+`}`, reads))
	}))
	c := connect(t, target, &mcpclient.Options{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }})
	for _, want := range []string{"1", "2"} {
		if got := read(t, c, "a://1"); got != want {
			t.Errorf("after a round: got %s, want %s", got, want)
		}
	}
	byHand := mcpclient.WithInput(mcp.InputResponseParams{RequestState: new("s")})
	for _, want := range []string{"3", "4"} {
		if got := read(t, c, "a://1", byHand); got != want {
			t.Errorf("by hand: got %s, want %s", got, want)
		}
	}
	for _, want := range []string{"5", "6"} {
		var got mcp.ReadResourceResult
		err := c.Request(t.Context(), mcp.MethodResourcesRead, raw(`{"uri":"a://1","requestState":"s"}`), &got)
		if err != nil || got.Contents[0].Text != want {
			t.Errorf("in the params: got %v, %v, want %s", got, err, want)
		}
	}
}

func TestChangeNotificationsInvalidateCachedResultsAtOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-270")
	for _, test := range []struct {
		note, params, want string
	}{
		{mcp.NotificationToolsListChanged, `{}`, "t2 p1 r:1 r:1{x} 1"},
		{mcp.NotificationPromptsListChanged, `{}`, "t1 p2 r:1 r:1{x} 1"},
		{mcp.NotificationResourcesListChanged, `{}`, "t1 p1 r:2 r:2{x} 1"},
		{mcp.NotificationResourceUpdated, `{"uri":"a://1"}`, "t1 p1 r:1 r:1{x} 2"},
		{mcp.NotificationResourceUpdated, `{"uri":"a://1/part"}`, "t1 p1 r:1 r:1{x} 2"},
		{mcp.NotificationResourceUpdated, `{"uri":"a://"}`, "t1 p1 r:1 r:1{x} 2"},
		{mcp.NotificationResourceUpdated, `{"uri":"a://12"}`, first},
		{mcp.NotificationResourceUpdated, `{}`, first},
		{mcp.NotificationMessage, `{"level":"info","data":1}`, first},
	} {
		t.Run(test.note+test.params, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				servers, target := serve(t, stateless(counting(aMinute)))
				c := connect(t, target, nil)
				if got := asked(t, c); got != first {
					t.Fatalf("at first: got %s", got)
				}
				servers.nth(0).send(`{"jsonrpc":"2.0","method":"` + test.note + `","params":` + test.params + `}`)
				synctest.Wait()
				if got := asked(t, c); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
			})
		})
	}
}

// The answer was made before the change that the notification tells of.
func TestResultOlderThanItsChangeNotificationIsNotCached(t *testing.T) {
	claim.Shows(t, "R-270")
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, stateless(func(s *script, m message) string {
			if len(s.messages(m.Method)) == 1 {
				s.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`)
			}
			return counting(aMinute)(s, m)
		}))
		c := connect(t, target, nil)
		for _, want := range []string{"1", "2", "2"} {
			if got := read(t, c, "a://1"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

func TestLostConnectionInvalidatesTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(counting(aMinute)))
		c := connect(t, target, nil)
		asked(t, c)
		asked(t, c)
		_ = servers.nth(0).conn.Close()
		synctest.Wait()
		if got := asked(t, c); got != first { // of the second server
			t.Errorf("got %s, want %s", got, first)
		}
		if got := len(servers.nth(1).messages(mcp.MethodToolsList)); got != 1 {
			t.Errorf("the second server was asked %d times, want once", got)
		}
	})
}

func TestForgetAndNoCache(t *testing.T) {
	t.Parallel()
	_, target := serve(t, stateless(counting(aMinute)))
	c := connect(t, target, nil)
	asked(t, c)
	c.ClearCache()
	if got := asked(t, c); got != second {
		t.Errorf("after Forget: got %s, want %s", got, second)
	}
	_, target = serve(t, stateless(counting(aMinute)))
	c = connect(t, target, &mcpclient.Options{Limits: mcpclient.LimitOptions{MaxCache: -1}})
	asked(t, c)
	if got := asked(t, c); got != second {
		t.Errorf("with a negative MaxCache: got %s, want %s", got, second)
	}
}

// Two clients of one server are two principals: neither gets what the other was
// told, whatever the server says of the scope.
func TestCachedResultsReachNoOtherPrincipal(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-267")
	for _, scope := range []string{"private", "public"} {
		_, target := serve(t, stateless(counting(`,"ttlMs":60000,"cacheScope":"`+scope+`"`)))
		alice, bob := connect(t, target, nil), connect(t, target, nil)
		read(t, alice, "a://other")
		if got := read(t, alice, "a://1"); got != "2" {
			t.Errorf("alice: got %s, want 2", got)
		}
		if got := read(t, bob, "a://1"); got != "1" { // the first request of his connection
			t.Errorf("bob: got %s, want an answer of his own", got)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	t.Run("results", func(t *testing.T) {
		t.Parallel()
		servers, target := serve(t, stateless(counting(aMinute)))
		c := connect(t, target, nil)
		for i := range 1100 {
			read(t, c, fmt.Sprint("a://", i))
		}
		for i := range 1100 {
			read(t, c, fmt.Sprint("a://", 1099-i))
		}
		got := len(servers.nth(0).messages(mcp.MethodResourcesRead)) - 1100
		if got < 1100-1024 || got > 1100 {
			t.Errorf("%d of 1100 were asked for again, want at least %d", got, 1100-1024)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		large := strings.Repeat("x", 900)
		servers, target := serve(t, stateless(func(s *script, m message) string {
			text := large
			if m.param("uri") == `"a://huge"` {
				text = strings.Repeat("x", 1100)
			}
			return m.result(`{"contents":[{"uri":"u","text":"` + text + `"}]` + aMinute + `}`)
		}))
		c := connect(t, target, &mcpclient.Options{Limits: mcpclient.LimitOptions{MaxCache: 4096}})
		for _, uri := range []string{"a://huge", "a://huge", "a://1", "a://2", "a://3", "a://4", "a://5", "a://5", "a://1", "a://5"} {
			read(t, c, uri)
		}
		var got []string
		for _, m := range servers.nth(0).messages(mcp.MethodResourcesRead) {
			got = append(got, strings.Trim(m.param("uri"), `"`))
		}
		// Five are too many, so the first one had to make room, and comes again.
		want := []string{"a://huge", "a://huge", "a://1", "a://2", "a://3", "a://4", "a://5", "a://1"}
		if !slices.Equal(got, want) {
			t.Errorf("asked for %v, want %v", got, want)
		}
	})
}

func TestCallerCannotChangeACachedResult(t *testing.T) {
	t.Parallel()
	_, target := serve(t, stateless(counting(aMinute)))
	c := connect(t, target, nil)
	result, err := c.ReadResource(t.Context(), "a://1")
	if err != nil {
		t.Fatal(err)
	}
	result.Contents[0].Text = "changed"
	if got := read(t, c, "a://1"); got != "1" {
		t.Errorf("got %s, want 1", got)
	}
}

// Pages that are kept can name a cursor that the server knows no more.
func TestListWithAnExpiredCursorStartsAgain(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-269a", "R-269b")
	p := pages{
		none: page(`,"nextCursor":"old"`+aMinute, "a", "b"), "old": page("", "c"),
	}
	servers, target := serve(t, stateless(func(s *script, m message) string { return p.handle(s, m) }))
	c := connect(t, target, nil)
	if got, err := names(t, c); err != nil || strings.Join(got, " ") != "a b c" {
		t.Fatalf("at first: got %v, %v", got, err)
	}
	p[none], p["new"] = page(`,"nextCursor":"new"`+aMinute, "a", "x", "b"), page("", "d")
	delete(p, "old")
	got, err := names(t, c)
	if err != nil || strings.Join(got, " ") != "a b x d" {
		t.Errorf("got %v, %v, want each item once, of the new list", got, err)
	}
	if n := len(servers.nth(0).messages(mcp.MethodToolsList)); n != 5 {
		t.Errorf("got %d requests, want 2 and then 3", n)
	}
	delete(p, "new")
	if _, err := names(t, c); err == nil || !strings.Contains(err.Error(), "bad cursor new") {
		t.Errorf("a cursor that is never known: got %v, want the server's error", err)
	}
}

// What was kept before a resource was watched may be older than the watching.
func TestWatchInvalidatesTheCachedResource(t *testing.T) {
	t.Parallel()
	w := new(watchable)
	_, target := serve(t, stateless(func(s *script, m message) string {
		if m.Method == mcp.MethodResourcesRead {
			return counting(aMinute)(s, m)
		}
		return w.handle(s, m)
	}))
	c := connect(t, target, nil)
	if got := read(t, c, "a://1"); got != "1" {
		t.Fatalf("at first: got %s", got)
	}
	for uri, err := range c.Watch(t.Context(), "a://1") {
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, c, uri); got != "2" {
			t.Errorf("got %s, want 2: a result from before the watching is no news", got)
		}
		break
	}
}

func TestPingIsAnsweredByTheServerAndNotFromTheCache(t *testing.T) {
	t.Parallel()
	servers, target := serve(t, func(_ *script, m message) string {
		return m.result(`{"supportedVersions":["2026-07-28"],"capabilities":{}` + aMinute + `}`)
	})
	c := connect(t, target, nil)
	before := len(servers.nth(0).messages(mcp.MethodDiscover))
	for range 3 {
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(servers.nth(0).messages(mcp.MethodDiscover)) - before; got != 3 {
		t.Errorf("got %d requests for 3 pings, want one for each", got)
	}
}
