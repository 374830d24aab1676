package mcpserver_test

import (
	"context"
	"crypto/tls"
	"encoding/json/jsontext"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/wiretest"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// journal is what middleware and handlers have seen, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer func() { j.lines = nil }()
	return strings.Join(j.lines, " ")
}

// trace is middleware that notes what passes it, both ways.
func (j *journal) trace(name string) mcpserver.Middleware {
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			direction := ">"
			if r.Outbound() {
				direction = "<"
			}
			j.add(direction + name + ":" + r.Method())
			result, err := next(ctx, r)
			j.add("/" + name)
			return result, err
		}
	}
}

func TestMiddlewareWrapsEveryMessageInOrder(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		var j journal
		srv := everything(nil)
		w := dial(t, srv, r)
		srv.Use(j.trace("a"), j.trace("b"))
		srv.Use(j.trace("c"))
		for _, test := range []struct{ method, params string }{
			{"tools/list", ""},
			{"tools/call", `{"name":"echo"}`},
			{"tools/call", `{"name":"unknown"}`},
			{"prompts/list", ""},
			{"resources/read", `{"uri":"a://b"}`},
			{"completion/complete", `{}`},
		} {
			w.Call(test.method, test.params)
			m := test.method
			if got, want := j.take(), ">a:"+m+" >b:"+m+" >c:"+m+" /c /b /a"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		w.Write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		w.Refused("unknown", "", -32601)
		synctest.Wait() // the notification has been handled
		if got, want := j.take(), ">a:notifications/progress >b:notifications/progress >c:notifications/progress /c /b /a"; got != want {
			t.Errorf("got %s, want %s: unknown methods do not come so far", got, want)
		}
	})
}

func TestMiddlewareSeesInitializeAndRequestsToTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		srv := newServer(nil)
		srv.Use(j.trace("a"), j.trace("b"))
		srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
			var roots mcp.ListRootsResult
			if err := mcpserver.From(ctx).Call(ctx, mcp.MethodRootsList, nil, &roots); err != nil {
				return "", err
			}
			return roots.Roots[0].URI, nil
		})
		w := dialAs(t, srv, mcp.V20251125, `{"roots":{}}`)
		synctest.Wait() // the notification has been handled
		got := j.take()
		for _, method := range []string{"initialize", "notifications/initialized", "ping"} {
			if want := ">a:" + method + " >b:" + method + " /b /a"; !strings.Contains(got, want) {
				t.Errorf("got %s, want %s in it", got, want)
			}
		}
		id := w.Send("tools/call", `{"name":"ask"}`)
		question := w.Read()
		if question.Method != "roots/list" {
			t.Fatalf("got %s, want roots/list", question.Raw)
		}
		w.Write(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"roots":[{"uri":"file:///home"}]}}`)
		if got := at(t, w.Reply(id).Result, "/content/0/text"); got != `"file:///home"` {
			t.Errorf("got %s, want the client's root", got)
		}
		if got, want := j.take(), ">a:tools/call >b:tools/call <a:roots/list <b:roots/list /b /a /b /a"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestMiddlewareMayAnswerRefuseAndChange(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("a", "", nothing)
		srv.Tool("b", "", nothing)
		srv.Tool("c", "", nothing)
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				var p mcp.CallToolParams
				if r.Method() != mcp.MethodToolsCall || r.Decode(&p) != nil {
					return next(ctx, r)
				}
				switch p.Name {
				case "a":
					return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("answered")}}, nil
				case "b":
					return nil, mcp.Errorf(mcp.CodeInvalidRequest, "not you")
				}
				result, err := next(ctx, r)
				result.(*mcp.CallToolResult).Content = mcp.Contents{mcp.Text("changed")}
				return result, err
			}
		})
		w := dial(t, srv, r)
		if got := at(t, w.Must("tools/call", `{"name":"a"}`), "/content/0/text"); got != `"answered"` {
			t.Errorf("got %s, want the middleware's answer", got)
		}
		if err := w.Refused("tools/call", `{"name":"b"}`, -32600); err.Message != "not you" {
			t.Errorf("got %q, want the middleware's refusal", err.Message)
		}
		if got := at(t, w.Must("tools/call", `{"name":"c"}`), "/content/0/text"); got != `"changed"` {
			t.Errorf("got %s, want the changed result", got)
		}
	})
}

func TestMiddlewareThatFailsIsPrivate(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := everything(nil)
		w := dial(t, srv, r)
		broken := true
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				switch {
				case broken && r.Method() == "tools/list":
					panic("oops")
				case broken && r.Method() == "prompts/list":
					return nil, errors.New("disk on fire")
				case broken && r.Method() == "resources/list":
					return "no object", nil
				case broken && r.Method() == "resources/read":
					return bomb{}, nil
				}
				return next(ctx, r)
			}
		})
		for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/read"} {
			incident(t, w.Refused(method, `{"uri":"a://b"}`, -32603).Message)
		}
		broken = false
		w.Must("tools/list", "")
	})
}

// bomb cannot be encoded.
type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("boom") }

func TestMiddlewareMayRegisterWhileItIsConstructed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registered := false
		srv := everything(nil)
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			if !registered {
				registered = true
				srv.Handle("acme/own", func(context.Context, *mcpserver.Request) (any, error) { return nil, nil })
				srv.Tool("own", "", nothing)
			}
			return next
		})
		w := dial(t, srv, mcp.V20251125)
		w.Must("tools/call", `{"name":"own"}`)
		w.Must("acme/own", "")
	})
}

func TestMiddlewareIsConstructedOnceByUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		made := 0
		counted := func(name string) mcpserver.Middleware {
			return func(next mcpserver.Handler) mcpserver.Handler {
				made++
				return j.trace(name)(next)
			}
		}
		srv := everything(nil)
		srv.Use(counted("a"))
		srv.Handle("acme/own", func(ctx context.Context, r *mcpserver.Request) (any, error) {
			var roots mcp.ListRootsResult
			return nil, r.Call(ctx, mcp.MethodRootsList, nil, &roots)
		})
		srv.RequireScopes("acme/own", "any")
		srv.Use(counted("b"), counted("c"))
		w := dialAs(t, srv, mcp.V20251125, `{"roots":{}}`)
		synctest.Wait()
		j.take()
		id := w.Send("acme/own", "")
		w.Write(`{"jsonrpc":"2.0","id":` + string(w.Read().ID) + `,"result":{"roots":[]}}`)
		w.Reply(id)
		if got, want := j.take(), ">a:acme/own >b:acme/own >c:acme/own <a:roots/list <b:roots/list <c:roots/list /c /b /a /c /b /a"; got != want || made != 3 {
			t.Errorf("got %s, %d constructed; want %s, 3", got, made, want)
		}
	})
}

func TestMiddlewareHasToPassOnTheRequestThatItGot(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		var log logbook
		srv := everything(&mcpserver.Options{Logger: textLog(&log)})
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == "tools/list" {
					return next(ctx, &mcpserver.Request{})
				}
				return next(ctx, r)
			}
		})
		w := dial(t, srv, r)
		incident(t, w.Refused("tools/list", "", -32603).Message)
		if want := "middleware: next was called with another Request"; !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "method=tools/list") {
			t.Errorf("got the log %s, want %q", log.String(), want)
		}
	})
}

func TestCustomMethod(t *testing.T) {
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		var j journal
		srv := newServer(nil)
		srv.Handle("acme/sum", func(_ context.Context, r *mcpserver.Request) (any, error) {
			var in struct{ A, B int }
			if err := r.Decode(&in); err != nil {
				return nil, err
			}
			return map[string]int{"sum": in.A + in.B}, nil
		})
		srv.Handle("acme/nothing", func(context.Context, *mcpserver.Request) (any, error) { return nil, nil })
		srv.Handle("notifications/acme/note", func(_ context.Context, r *mcpserver.Request) (any, error) {
			j.add("noted")
			return nil, errors.New("is logged")
		})
		srv.Use(j.trace("a"))
		w := dial(t, srv, r)
		if got := at(t, w.Must("acme/sum", `{"A":1,"B":2}`), "/sum"); got != "3" {
			t.Errorf("got %s, want 3", got)
		}
		w.Refused("acme/sum", `{"A":"1"}`, -32602)
		same(t, withoutEnvelope(t, w.Must("acme/nothing", "")), `{}`)
		w.Refused("acme/other", "", -32601)
		synctest.Wait() // notifications/initialized is taken
		j.take()
		w.Write(`{"jsonrpc":"2.0","method":"notifications/acme/note"}`)
		synctest.Wait()
		if got := j.take(); got != ">a:notifications/acme/note noted /a" {
			t.Errorf("got %s, want the notification taken", got)
		}
	})
}

func TestCustomMethodCannotReplaceAMethodOfTheProtocol(t *testing.T) {
	t.Parallel()
	handler := func(context.Context, *mcpserver.Request) (any, error) { return nil, nil }
	for _, test := range []struct {
		method  string
		handler mcpserver.Handler
		want    string
	}{
		{"", handler, "the method is empty"},
		{"acme/x", nil, `handle "acme/x": the handler is nil`},
		{"tools/list", handler, `handle "tools/list": the method is defined by the protocol or registered already; want one of your own, such as "acme/tools/list"`},
		{"notifications/initialized", handler, "registered already"},
		{"acme/twice", handler, "registered already"},
	} {
		srv := newServer(nil)
		if test.method == "acme/twice" {
			srv.Handle(test.method, handler)
		}
		if text := panicText(t, func() { srv.Handle(test.method, test.handler) }); !strings.Contains(text, test.want) {
			t.Errorf("%q: got %q, want %q in it", test.method, text, test.want)
		}
	}
}

func TestUseAndHandleUnderLoad(t *testing.T) {
	t.Parallel()
	srv := everything(nil)
	w := dial(t, srv, mcp.V20251125)
	var changes sync.WaitGroup
	var j journal
	for i := range 4 {
		changes.Go(func() {
			for k := range 10 {
				srv.Use(j.trace("x"))
				srv.Handle("acme/"+string(rune('a'+i))+string(rune('a'+k)), func(context.Context, *mcpserver.Request) (any, error) { return nil, nil })
			}
		})
	}
	for range 100 {
		w.Must("tools/list", "")
	}
	changes.Wait()
	j.take()
	w.Must("acme/dj", "")
	if got := strings.Count(j.take(), ">x"); got != 40 {
		t.Errorf("got %d middlewares, want 40", got)
	}
}

func TestRequestContextDescribesTheCall(t *testing.T) {
	claim.Shows(t, "R-035", "D-02b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		var seen []string
		note := func(s string) { seen = append(seen, s) }
		srv := newServer(nil)
		srv.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
			r := mcpserver.From(ctx)
			client, named := r.Client()
			parent, state, baggage := r.Trace()
			note(r.Method())
			note(r.Principal().String())
			note(r.Revision().String())
			note(client.Name)
			if !named || r.Capabilities().Roots == nil || r.Capabilities().Sampling != nil || r.Header() != nil || r.TLS() != nil || r.Outbound() {
				t.Errorf("got %v, %+v, %v, want a named client with roots, without HTTP", named, r.Capabilities(), r.Header())
			}
			note(parent + state + baggage)
			note(string(r.Meta()["com.example/k"]))
			if len(r.Meta()) != 1 {
				t.Errorf("got metadata %v, want the client's own alone", r.Meta())
			}
			return "", nil
		})
		w := dialAs(t, srv, r, `{"roots":{}}`)
		meta := `"com.example/k":1,"traceparent":"00-1","tracestate":"a=b","baggage":"c=d","progressToken":5`
		if isModern(r) {
			w.Revision = mcp.V20251125 // the metadata is given whole
			meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"wire","version":"0"}`
		}
		w.Must("tools/call", `{"_meta":{`+meta+`},"name":"who"}`)
		if want := []string{"tools/call", "local", r.String(), "wire", "00-1a=bc=d", "1"}; !slices.Equal(seen, want) {
			t.Errorf("got %q, want %q", seen, want)
		}
	})
}

func TestClientInfoIsOptional(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-030", "G-h")
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		srv.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
			if client, named := mcpserver.From(ctx).Client(); named || client.Name != "" {
				t.Errorf("got %+v, %v, want nobody", client, named)
			}
			return "", nil
		})
		dial(t, srv, mcp.V20260728).Must("tools/call", `{"name":"who"}`)
	})
}

func TestHandlerRunsOutsideOfACall(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := mcpserver.From(ctx)
	client, named := r.Client()
	parent, state, baggage := r.Trace()
	if r != nil || r.Principal() != mcp.PrincipalAnonymous || named || client.Name != "" || r.Revision() != (mcp.Revision{}) ||
		r.Meta() != nil || parent+state+baggage != "" || r.Header() != nil || r.TLS() != nil || r.Capabilities().Roots != nil {
		t.Error("got knowledge, want none")
	}
	mcpserver.Progress(ctx, 1, 2, "half")
	mcpserver.Log(ctx).Error("nobody hears")
	if err := r.Call(ctx, mcp.MethodRootsList, nil, nil); !errors.Is(err, mcpserver.ErrNotInCall) {
		t.Errorf("got %v, want %v", err, mcpserver.ErrNotInCall)
	}
	if err := r.Decode(new(struct{})); !errors.Is(err, mcpserver.ErrNotInCall) {
		t.Errorf("got %v, want %v", err, mcpserver.ErrNotInCall)
	}
}

func TestParamsOfARequestAreRaw(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		var params jsontext.Value
		srv.Handle("acme/x", func(_ context.Context, r *mcpserver.Request) (any, error) {
			params = r.Params().Clone()
			return nil, nil
		})
		dial(t, srv, r).Must("acme/x", `{"n":12345678901234567890.0}`)
		if got := at(t, params, "/n"); !strings.Contains(string(params), "12345678901234567890.0") {
			t.Errorf("got %s (%s), want the number as it came", params, got)
		}
	})
}

func TestCustomTransportGivesThePrincipal(t *testing.T) {
	claim.Shows(t, "R-088a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		ada := mcp.Principal{Issuer: "https://id.example.com", Subject: "ada"}
		srv := newServer(nil)
		srv.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
			r := mcpserver.From(ctx)
			if r.TLS() == nil {
				t.Error("got no TLS state, want that of the request")
			}
			return r.Principal().Subject + " " + r.Header().Get("X-Seat"), nil
		})
		srv.Tool("private", "", nothing, mcpserver.Visible(func(who *mcp.Identity) bool { return who.Principal != ada }))
		ours, theirs := pipe(t)
		served := make(chan error)
		go func() {
			served <- srv.ServeConn(context.Background(), theirs, mcpserver.ConnOptions{
				Identity: &mcp.Identity{Principal: ada}, Request: &http.Request{Header: http.Header{"X-Seat": {"4A"}}, TLS: new(tls.ConnectionState)},
			})
		}()
		w := &wire{Client: wiretest.Client{T: t, Conn: ours}}
		w.Initialize(r, `{}`)
		if got := at(t, w.Must("tools/call", `{"name":"who"}`), "/content/0/text"); got != `"ada 4A"` {
			t.Errorf("got %s, want who the transport says", got)
		}
		w.Refused("tools/call", `{"name":"private"}`, -32602)
		_ = ours.Close()
		if err := <-served; err != nil {
			t.Errorf("got %v, want nil", err)
		}
	})
}

func TestMiddlewareOfExtensionsIsInsideOfThatOfUse(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		var mu sync.Mutex
		var order []string
		layer := func(name string) mcpserver.Middleware {
			return func(next mcpserver.Handler) mcpserver.Handler {
				return func(ctx anyContext, r *mcpserver.Request) (any, error) {
					if r.Method() == mcp.MethodToolsCall {
						mu.Lock()
						order = append(order, name)
						mu.Unlock()
					}
					return next(ctx, r)
				}
			}
		}
		srv := newServer(nil)
		srv.Tool("a", "", nothing)
		srv.Use(layer("use 1"))
		srv.Extend(mcpserver.Extension{ID: "com.example/a", Middleware: layer("a")})
		srv.Use(layer("use 2"))
		srv.Extend(mcpserver.Extension{ID: "com.example/none"})
		srv.Extend(mcpserver.Extension{ID: "com.example/b", Sessions: true, Middleware: layer("b")})
		dial(t, srv, r).Must("tools/call", `{"name":"a"}`)
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(order, ", "); got != "use 1, use 2, a, b" {
			t.Errorf("got %s", got)
		}
	})
}
