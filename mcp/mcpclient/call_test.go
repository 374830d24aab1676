package mcpclient_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

func TestCallTakesTheResultInTheFormThatIsWanted(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-017a", "R-217")
	for era, handle := range eras(func(_ *script, m message) string {
		switch m.param("name") {
		case `"add"`:
			if m.param("arguments") != `{"a":1,"b":2}` {
				return m.fail(-32602, "arguments "+m.param("arguments"), "")
			}
			return m.result(`{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}`)
		case `"text"`:
			return m.result(`{"content":[{"type":"text","text":"{\"sum\":3}"}]}`)
		}
		return m.result(`{"content":[{"type":"text","text":"no such luck"}],"isError":true}`)
	}) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, handle)
			c := connect(t, target, nil)
			ctx := t.Context()

			if got, err := c.Call[sum](ctx, "add", pair{1, 2}); err != nil || got.Sum != 3 {
				t.Errorf("struct: got %v, %v", got, err)
			}
			if got, err := c.Call[sum](ctx, "text", nil); err != nil || got.Sum != 3 {
				t.Errorf("struct from text: got %v, %v", got, err)
			}
			if got, err := c.Call[string](ctx, "add", jsontext.Value(`{"a":1,"b":2}`)); err != nil || got != `{"sum":3}` {
				t.Errorf("string: got %q, %v", got, err)
			}
			if got, err := c.Call[jsontext.Value](ctx, "add", map[string]int{"a": 1, "b": 2}); err != nil || string(got) != `{"sum":3}` {
				t.Errorf("raw: got %s, %v", got, err)
			}
			if got, err := c.Call[*mcp.CallToolResult](ctx, "add", pair{1, 2}); err != nil || len(got.Content) != 1 {
				t.Errorf("result: got %v, %v", got, err)
			}
			_, err := c.Call[sum](ctx, "bad", nil)
			failed, ok := errors.AsType[*mcpclient.ToolError](err)
			if !ok || !failed.Result.IsError || err.Error() != `call "bad": tool failed: no such luck` {
				t.Errorf("failure: got %v", err)
			}
			if result, err := c.CallTool(ctx, "bad", nil); err != nil || !result.IsError {
				t.Errorf("CallTool: got %v, %v", result, err)
			}
		})
	}
}

func TestErrorsOfTheServerAreRemoteAndOthersAreNot(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-023")
	_, target := serve(t, stateless(func(_ *script, m message) string {
		return m.fail(-32602, "unknown tool", `{"x":1}`)
	}))
	c := connect(t, target, nil)
	_, err := c.CallTool(t.Context(), "add", pair{})
	remote, ok := errors.AsType[*mcp.Error](err)
	if !ok || !remote.Remote || remote.Code != mcp.CodeInvalidParams || string(remote.Data) != `{"x":1}` {
		t.Errorf("got %#v", remote)
	}
	if want := `call "add": peer answered -32602: unknown tool`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	_, err = c.CallTool(t.Context(), "add", []int{1})
	if want := `call "add": arguments: found array, want a JSON object`; err == nil || !strings.HasPrefix(err.Error(), `call "add": arguments`) {
		t.Errorf("got %v, want %q", err, want)
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote {
		t.Error("our own error is remote")
	}
}

func TestInvalidResponseIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-006a", "R-017b", "R-018")
	for name, result := range map[string]string{
		"result type of no text":     `{"resultType":7,"content":[]}`,
		"unknown result type":        `{"resultType":"task","content":[]}`,
		"both a result and an error": `{"content":[]},"error":{"code":1,"message":"no"}`,
		"a result and params":        `{"content":[]},"params":{}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, stateless(func(_ *script, m message) string { return m.result(result) }))
			c := connect(t, target, nil)
			_, err := c.CallTool(t.Context(), "add", nil)
			if err == nil || !strings.Contains(err.Error(), "invalid response") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestStatelessRequestsCarryTheirMetadata(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-026", "R-027a", "R-027b", "R-028", "G-f", "G-h")
	servers, target := serve(t, stateless(func(_ *script, m message) string { return m.result(`{"content":[]}`) }))
	c := connect(t, target, &mcpclient.Options{Info: mcp.Implementation{Name: "tester", Version: "7"}})
	meta := mcp.Meta{"acme/trace": jsontext.Value(`"t"`), "io.modelcontextprotocol/logLevel": jsontext.Value(`"x"`)}
	if _, err := c.CallTool(t.Context(), "add", nil, mcpclient.WithMeta(meta), mcpclient.WithLogLevel(mcp.LevelDebug)); err != nil {
		t.Fatal(err)
	}
	m := servers.nth(0).messages(mcp.MethodToolsCall)[0]
	for key, want := range map[string]string{
		"io.modelcontextprotocol/protocolVersion":    `"2026-07-28"`,
		"io.modelcontextprotocol/clientCapabilities": `{}`,
		"io.modelcontextprotocol/clientInfo":         `{"name":"tester","version":"7"}`,
		"io.modelcontextprotocol/logLevel":           `"debug"`,
		"acme/trace":                                 `"t"`,
	} {
		if got := m.param("_meta", key); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}

func TestProgressComesInOrderOnTheGoroutineOfTheCall(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(func(s *script, m message) string {
		for i := range 5 {
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":5}}`,
				m.param("_meta", "progressToken"), i+1))
		}
		return m.result(`{"content":[]}`)
	}) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, handle)
			c := connect(t, target, nil)
			var got []float64 // without a lock: the race detector watches
			_, err := c.CallTool(t.Context(), "slow", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) {
				got = append(got, p.Progress)
			}))
			if want := []float64{1, 2, 3, 4, 5}; err != nil || !slices.Equal(got, want) {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		})
	}
}

func TestPanicOfAProgressHandlerEndsNothing(t *testing.T) {
	t.Parallel()
	_, target := serve(t, stateless(func(s *script, m message) string {
		s.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + m.param("_meta", "progressToken") + `,"progress":1}}`)
		return m.result(`{"content":[]}`)
	}))
	c := connect(t, target, nil)
	if _, err := c.CallTool(t.Context(), "slow", nil, mcpclient.WithProgress(func(mcp.ProgressParams) { panic("no") })); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestSilentCallEndsAfterItsTimeoutAndIsCancelled(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-049a", "R-049b", "R-049c", "R-049d", "R-219d", "R-279a", "R-280", "R-286a", "R-286b")
	for era, handle := range eras(func(*script, message) string { return "" }) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				servers, target := serve(t, handle)
				c := connect(t, target, &mcpclient.Options{PingInterval: -1})
				for _, test := range []struct {
					opts []mcpclient.CallOption
					want time.Duration
				}{
					{nil, time.Minute},
					{[]mcpclient.CallOption{mcpclient.WithTimeout(time.Second)}, time.Second},
					{[]mcpclient.CallOption{mcpclient.WithTimeout(-1)}, 10 * time.Minute},
				} {
					began := time.Now()
					_, err := c.CallTool(t.Context(), "silent", nil, test.opts...)
					if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within "+test.want.String()) {
						t.Errorf("got %v", err)
					}
					if got := time.Since(began); got != test.want {
						t.Errorf("waited %v, want %v", got, test.want)
					}
				}
				synctest.Wait()
				s := servers.nth(0)
				calls, cancelled := s.messages(mcp.MethodToolsCall), s.messages(mcp.NotificationCancelled)
				if len(cancelled) != len(calls) || cancelled[0].param("requestId") != string(calls[0].ID) {
					t.Errorf("%d calls, cancelled %v", len(calls), cancelled)
				}
			})
		})
	}
}

func TestProgressExtendsTheTimeoutUpToTheMaximum(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-049d", "R-049e", "R-286a", "R-286c")
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, stateless(func(s *script, m message) string {
			for i := range 100 {
				time.Sleep(50 * time.Second)
				s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`,
					m.param("_meta", "progressToken"), i+1))
				if m.param("name") == `"short"` && i == 5 {
					break
				}
			}
			return m.result(`{"content":[]}`)
		}))
		c := connect(t, target, nil)
		progress := mcpclient.WithProgress(func(mcp.ProgressParams) {})
		if _, err := c.CallTool(t.Context(), "short", nil, progress); err != nil {
			t.Errorf("got %v after five minutes of progress", err)
		}
		began := time.Now()
		_, err := c.CallTool(t.Context(), "long", nil, progress)
		if err == nil || !strings.Contains(err.Error(), "no answer within 10m0s, the maximum") {
			t.Errorf("got %v", err)
		}
		if got := time.Since(began); got != 10*time.Minute {
			t.Errorf("waited %v, want 10m", got)
		}
	})
}

func TestContextEndsACall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-278", "R-280")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, session(mcp.V20251125, func(*script, message) string { return "" }))
		c := connect(t, target, nil)
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if _, err := c.CallTool(ctx, "silent", nil); !errors.Is(err, why) {
			t.Errorf("got %v, want %v", err, why)
		}
		synctest.Wait()
		if got := len(servers.nth(0).messages(mcp.NotificationCancelled)); got != 1 {
			t.Errorf("got %d cancellations, want 1", got)
		}
	})
}

func TestConcurrentCallsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-003", "R-004", "R-005")
	_, target := serve(t, stateless(func(_ *script, m message) string {
		return m.result(`{"content":[],"structuredContent":` + m.param("arguments") + `}`)
	}))
	c := connect(t, target, nil)
	var calls sync.WaitGroup
	for i := range 200 {
		calls.Go(func() {
			if got, err := c.Call[pair](t.Context(), "echo", pair{A: i}); err != nil || got.A != i {
				t.Errorf("call %d: got %v, %v", i, got, err)
			}
		})
	}
	calls.Wait()
}

func TestCustomMethodsAndNotifications(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(func(_ *script, m message) string {
		if m.ID == nil {
			return ""
		}
		return m.result(`{"echo":` + m.param("say") + `}`)
	}) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, handle)
			c := connect(t, target, nil)
			if err := c.Notify(t.Context(), "acme/note", map[string]int{"n": 1}); err != nil {
				t.Fatal(err)
			}
			var out struct {
				Echo string `json:"echo"`
			}
			if err := c.Request(t.Context(), "acme/echo", map[string]string{"say": "hi"}, &out); err != nil || out.Echo != "hi" {
				t.Errorf("got %v, %v", out, err)
			}
			if err := c.Request(t.Context(), "acme/echo", map[string]string{"say": "hi"}, nil); err != nil {
				t.Errorf("without a place for the result: %v", err)
			}
			notes := servers.nth(0).messages("acme/note")
			if len(notes) != 1 || notes[0].ID != nil || notes[0].param("n") != "1" {
				t.Errorf("got %v", notes)
			}
		})
	}
}

func TestMiddlewareSeesCallsOnceAndMayAnswer(t *testing.T) {
	t.Parallel()
	_, target := serve(t, stateless(func(_ *script, m message) string { return m.result(`{"content":[]}`) }))
	c := connect(t, target, nil)
	var seen []string
	layer := func(name string) mcpclient.Middleware {
		return func(next mcpclient.Handler) mcpclient.Handler {
			return func(ctx context.Context, r *mcpclient.Request) (any, error) {
				seen = append(seen, name+" "+r.Method)
				if p, ok := r.Params.(*mcp.CallToolParams); ok && p.Name == "local" {
					return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("answered here")}}, nil
				}
				return next(ctx, r)
			}
		}
	}
	c.Use(layer("outer"), layer("inner"))
	if _, err := c.CallTool(t.Context(), "remote", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Call[string](t.Context(), "local", nil); err != nil || got != "answered here" {
		t.Errorf("got %q, %v", got, err)
	}
	if want := []string{"outer tools/call", "inner tools/call", "outer tools/call"}; !slices.Equal(seen, want) {
		t.Errorf("got %v, want %v", seen, want)
	}
}

func TestPingUsesTheMethodOfTheEra(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(nil) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, handle)
			c := connect(t, target, nil)
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"session": "server/discover initialize notifications/initialized ping", "stateless": "server/discover server/discover"}[era]
			if got := servers.nth(0).methods(); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestClosedClientRefusesEverything(t *testing.T) {
	t.Parallel()
	_, target := serve(t, stateless(func(*script, message) string { return "" }))
	c := connect(t, target, nil)
	failed := make(chan error)
	go func() {
		_, err := c.CallTool(context.Background(), "silent", nil)
		failed <- err
	}()
	time.Sleep(10 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, mcpclient.ErrClosed) {
		t.Errorf("call under way: got %v, want ErrClosed", err)
	}
	if _, err := c.CallTool(t.Context(), "add", nil); !errors.Is(err, mcpclient.ErrClosed) {
		t.Errorf("later call: got %v, want ErrClosed", err)
	}
	for _, err := range c.Watch(t.Context(), "a://b") {
		if !errors.Is(err, mcpclient.ErrClosed) {
			t.Errorf("watch: got %v, want ErrClosed", err)
		}
	}
}

func TestNotFoundErrorOfAnOlderServerHasItsCode(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-227")
	for era, handle := range eras(func(_ *script, m message) string { return m.fail(-32002, "gone", `{"uri":"a://b"}`) }) {
		_, target := serve(t, handle)
		_, err := connect(t, target, nil).ReadResource(t.Context(), "a://b")
		if mcp.CodeOf(err) != mcp.CodeResourceNotFound {
			t.Errorf("%s: got %v, want that there is no such resource", era, err)
		}
	}
}
