package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// logs is a server that logs before it answers "logged" or, with a second call
// under way, "held".
func logs(release <-chan struct{}) func(*script, message) string {
	return func(s *script, m message) string {
		if m.Method == mcp.NotificationCancelled {
			return ""
		}
		if m.param("name") == `"held"` {
			<-release
		}
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%s}}`, m.param("name")))
		return m.result(`{"content":[]}`)
	}
}

func TestLogMessagesOfACallReachItsCaller(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	for era, handle := range eras(logs(release)) {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				servers, target := serve(t, handle)
				var others []string
				c := connect(t, target, &mcpclient.Options{
					OnLog: func(_ context.Context, m *mcp.LoggingMessageParams) { others = append(others, string(m.Data)) },
				})
				var own []string
				returned := false
				if _, err := c.CallTool(t.Context(), "logged", nil, mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
					if returned {
						t.Error("a message after the call has returned")
					}
					own = append(own, string(m.Data))
				})); err != nil {
					t.Fatal(err)
				}
				returned = true
				if _, err := c.CallTool(t.Context(), "other", nil); err != nil {
					t.Fatal(err)
				}
				servers.nth(0).send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"of none"}}`)
				synctest.Wait()
				if got, want := fmt.Sprint(own, others), `["logged"] ["other" "of none"]`; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if sent := servers.nth(0).messages(mcp.MethodToolsCall)[0]; era == "stateless" && sent.param("_meta", "io.modelcontextprotocol/logLevel") != `"info"` {
					t.Errorf("got %s, want it to ask for log messages", sent.param("_meta"))
				}
			})
		})
	}
}

func TestLogMessageThatMayBeOfSeveralCallsIsGivenToNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		_, target := serve(t, session(mcp.V20251125, logs(release)))
		var others []string
		c := connect(t, target, &mcpclient.Options{
			OnLog: func(_ context.Context, m *mcp.LoggingMessageParams) { others = append(others, string(m.Data)) },
		})
		var own []string
		mine := mcpclient.WithLog(func(m *mcp.LoggingMessageParams) { own = append(own, string(m.Data)) })
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "held", nil, mine)
			done <- err
		}()
		synctest.Wait()
		if _, err := c.CallTool(t.Context(), "quick", nil); err != nil {
			t.Fatal(err)
		}
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := fmt.Sprint(own, others), `["held"] ["quick"]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestLogMessagesGoToALoggerOfSlog(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-257")
	var out bytes.Buffer
	write := mcpclient.LogTo(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	for _, test := range []struct{ params, want string }{
		{`{"level":"warning","logger":"db","data":{"msg":"late","minutes":5,"to":["a"],"why":"snow fall"}}`, `level=WARN msg=late minutes=5 to="[\"a\"]" why="snow fall" logger=db`},
		{`{"level":"notice","data":"plain text"}`, `level=INFO+2 msg="plain text"`},
		{`{"level":"emergency","data":{"message":"fire","msg":7}}`, `level=ERROR+12 msg=fire msg=7`},
		{`{"level":"error","data":[1,2]}`, `level=ERROR msg=[1,2]`},
		{`{"level":"error","data":null}`, `level=ERROR msg=""`},
		{`{"level":"info","data":"forged\nlevel=ERROR msg=\u001b[31m"}`, `level=INFO msg="forged\nlevel=ERROR msg=\x1b[31m"`},
		{`{"level":"debug","data":"too low"}`, ``},
		{`{"level":"loud","data":"unknown"}`, ``},
		{`{"level":"info","data":"` + strings.Repeat("x", 5000) + `"}`, `level=INFO msg=` + strings.Repeat("x", 4096)},
	} {
		out.Reset()
		m := new(mcp.LoggingMessageParams)
		if err := json.Unmarshal([]byte(test.params), m); err != nil {
			t.Fatal(err)
		}
		write(t.Context(), m)
		if got := strings.TrimSpace(out.String()); got != test.want {
			t.Errorf("%.80s: got %.200s, want %.200s", test.params, got, test.want)
		}
	}
}

func TestTraceOfTheContextIsSent(t *testing.T) {
	t.Parallel()
	const parent, other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", `"00-00000000000000000000000000000001-0000000000000001-00"`
	traced := mcp.ContextWithTrace(t.Context(), mcp.Trace{Parent: parent, State: "a=b", Baggage: "c=d"})
	for era, handle := range eras(func(_ *script, m message) string { return m.result(`{"content":[]}`) }) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, handle)
			c := connect(t, target, nil)
			sent := func(ctx context.Context, opts ...mcpclient.CallOption) string {
				t.Helper()
				if _, err := c.CallTool(ctx, "a", nil, opts...); err != nil {
					t.Fatal(err)
				}
				calls := servers.nth(0).messages(mcp.MethodToolsCall)
				last := calls[len(calls)-1]
				return last.param("_meta", "traceparent") + last.param("_meta", "tracestate") + last.param("_meta", "baggage") + last.param("_meta", "com.example/x")
			}
			for _, test := range []struct{ name, got, want string }{
				{"none", sent(t.Context()), ""},
				{"all", sent(traced), `"` + parent + `""a=b""c=d"`},
				{"beside other metadata", sent(traced, mcpclient.WithMeta(mcp.Meta{"com.example/x": raw("1")})), `"` + parent + `""a=b""c=d"1`},
				{"another trace by hand", sent(traced, mcpclient.WithMeta(mcp.Meta{"traceparent": raw(other)})), other + `"c=d"`},
				{"broken", sent(mcp.ContextWithTrace(t.Context(), mcp.Trace{Parent: "00-1", State: "a=b"})), ""},
			} {
				if test.got != test.want {
					t.Errorf("%s: got %s, want %s", test.name, test.got, test.want)
				}
			}
		})
	}
}

func TestMiddlewareSetsTheTrace(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ofContext := mcp.Trace{Parent: "00-00000000000000000000000000000001-0000000000000001-00"}
	for _, test := range []struct {
		set  mcp.Trace
		want string
	}{
		{mcp.Trace{Parent: parent, State: "a=b"}, `"` + parent + `""a=b"`},
		{mcp.Trace{Parent: parent, State: "a"}, `"` + parent + `"`},
		{mcp.Trace{Parent: "00-1"}, `"` + ofContext.Parent + `"`},
	} {
		servers, target := serve(t, eras(func(_ *script, m message) string { return m.result(`{"content":[]}`) })["stateless"])
		c := connect(t, target, &mcpclient.Options{Middleware: []mcpclient.Middleware{func(next mcpclient.Handler) mcpclient.Handler {
			return func(ctx context.Context, r *mcpclient.Request) (any, error) {
				r.SetTrace(test.set)
				return next(ctx, r)
			}
		}}})
		if _, err := c.CallTool(mcp.ContextWithTrace(t.Context(), ofContext), "a", nil); err != nil {
			t.Fatal(err)
		}
		call := servers.nth(0).messages(mcp.MethodToolsCall)[0]
		if got := call.param("_meta", "traceparent") + call.param("_meta", "tracestate"); got != test.want {
			t.Errorf("%+v: got %s, want %s", test.set, got, test.want)
		}
	}
}
