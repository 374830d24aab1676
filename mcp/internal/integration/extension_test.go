package integration_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

const (
	paintID   = "com.example/paint"
	paintMix  = "com.example/paint/mix"
	paintNews = "notifications/com.example/paint/dried"
)

// bucket is what the extension of these tests answers with.
type bucket struct {
	mcp.ResultBase
	Color string `json:"color"`
}

// paintServer has an extension with a request, a result type and a filter.
func paintServer(sessions bool) *mcpserver.Server {
	srv := mcpserver.New("paint", "1", nil)
	srv.Extend(mcpserver.Extension{
		ID: paintID, Settings: jsontext.Value(`{"colors":3}`), Sessions: sessions,
		Requests: map[string]mcpserver.ExtensionRequest{paintMix: {Name: "color", Handler: func(_ context.Context, r *mcpserver.Request) (any, error) {
			var p struct {
				Color string `json:"color"`
			}
			return &p, r.Decode(&p)
		}}},
		ResultTypes: []mcp.ResultType{"wet"},
		Filters: map[string]mcpserver.Filter{"paint": func(ctx context.Context, _ *mcpserver.Request, wanted jsontext.Value) (any, iter.Seq2[string, any], error) {
			return wanted, func(yield func(string, any) bool) {
				if yield(paintNews, &bucket{Color: "red"}) {
					<-ctx.Done()
				}
			}, nil
		}},
	})
	srv.Tool("paint", "Paints", func(ctx context.Context, _ struct{}) (mcp.Result, error) {
		r := mcpserver.From(ctx)
		if _, ok := r.Extension(paintID); !ok && r.Meta() == nil {
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("dry")}}, nil
		}
		return &bucket{mcp.ResultBase{ResultType: "wet"}, "red"}, nil
	})
	return srv
}

// paintClient has the client's half, which waits until the paint is dry.
func paintClient(v mcp.Revision, sessions bool, news chan string) *mcpclient.Options {
	return &mcpclient.Options{Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{{
		ID: paintID, Sessions: sessions, Names: map[string]string{paintMix: "color"}, ResultTypes: []mcp.ResultType{"wet"},
		Exchange: func(_ *mcpclient.Client, next mcpclient.Exchange) mcpclient.Exchange {
			return func(ctx context.Context, r *mcpclient.Request) (mcp.ResultType, jsontext.Value, error) {
				kind, raw, err := next(ctx, r)
				if kind == "wet" && r.Method == mcp.MethodToolsCall {
					return mcp.ResultComplete, jsontext.Value(`{"content":[{"type":"text","text":"dried"}]}`), err
				}
				return kind, raw, err
			}
		},
		Notifications: map[string]func(context.Context, *mcpclient.Client, jsontext.Value){
			paintNews: func(_ context.Context, _ *mcpclient.Client, params jsontext.Value) { news <- string(params) },
		},
	}}}
}

func TestExtensionIsActiveIfBothSidesDeclareIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-018", "R-405")
	news := make(chan string, 1)
	c := mcptest.Connect(t, paintServer(false), paintClient(mcp.V20260728, false, news))
	if settings, ok := c.HasExtension(paintID); !ok || string(settings) != `{"colors":3}` {
		t.Errorf("got settings %s, %v, want those of the server", settings, ok)
	}
	var mixed bucket
	if err := c.Request(t.Context(), paintMix, map[string]string{"color": "blue"}, &mixed); err != nil || mixed.Color != "blue" {
		t.Errorf("its request: got %+v, %v, want blue", mixed, err)
	}
	if got, err := c.Call[string](t.Context(), "paint", nil); err != nil || got != "dried" {
		t.Errorf("its result type: got %q, %v, want dried", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	go func() {
		if got := <-news; !strings.Contains(got, `"color":"red"`) {
			t.Errorf("its notification: got %s", got)
		}
		cancel(enough)
	}()
	filter := mcp.SubscriptionFilter{Extra: jsontext.Value(`{"paint":["red"]}`)}
	if err := c.Request(ctx, mcp.MethodListen, &mcp.ListenParams{Notifications: filter}, nil); !errors.Is(err, enough) {
		t.Errorf("its subscription: got %v, want it open until we had enough", err)
	}
}

func TestExtensionIsOffUntilItIsDeclared(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-405", "R-018")
	plain := &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}}
	c := mcptest.Connect(t, paintServer(false), plain)
	if _, ok := c.HasExtension(paintID); ok {
		t.Error("the client has an extension that it was not given")
	}
	listen := &mcp.ListenParams{Notifications: mcp.SubscriptionFilter{Extra: jsontext.Value(`{"paint":["red"]}`)}}
	for method, params := range map[string]any{paintMix: nil, mcp.MethodListen: listen} {
		var e *mcp.Error
		err := c.Request(t.Context(), method, params, nil)
		if !errors.As(err, &e) || e.Number != -32021 || string(e.Data) != `{"requiredCapabilities":{"extensions":{"com.example/paint":{}}}}` {
			t.Errorf("%s: got %v, want the extension required", method, err)
		}
	}
	if got, err := c.Call[string](t.Context(), "paint", nil); err != nil || got != "dry" {
		t.Errorf("got %q, %v, want the result of a server without it", got, err)
	}
	_, err := c.Call[string](t.Context(), "paint", nil, mcpclient.WithMeta(mcp.Meta{"com.example/force": jsontext.Value("1")}))
	if mcp.CodeOf(err) != mcp.CodeInternal {
		t.Errorf("a result type that was not declared: got %v, want the server to withhold it", err)
	}
}

func TestServerWithoutTheExtensionRefusesItsMethods(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-405")
	c := mcptest.Connect(t, mcpserver.New("plain", "1", nil), paintClient(mcp.V20260728, true, nil))
	if err := c.Request(t.Context(), paintMix, nil, nil); mcp.CodeOf(err) != mcp.CodeMethodNotFound {
		t.Errorf("got %v, want method not found", err)
	}
	if _, ok := c.HasExtension(paintID); ok {
		t.Error("the client has an extension that the server did not declare")
	}
}

func TestExtensionIsDeclaredInInitializeIfItAllowsThat(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		for _, sessions := range []bool{true, false} {
			c := mcptest.Connect(t, paintServer(sessions), paintClient(v, sessions, nil))
			want := sessions || v == mcp.V20260728
			if _, ok := c.HasExtension(paintID); ok != want {
				t.Errorf("%s, sessions %v: has it %v, want %v", v, sessions, ok, want)
			}
			err := c.Request(t.Context(), paintMix, map[string]string{"color": "blue"}, nil)
			if got := mcp.CodeOf(err) != mcp.CodeMethodNotFound; got != want {
				t.Errorf("%s, sessions %v: got %v, want it served %v", v, sessions, err, want)
			}
		}
	}
}

func TestExtensionThatMakesNoSenseIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-061a", "R-061b")
	handler := func(context.Context, *mcpserver.Request) (any, error) { return nil, nil }
	requests := func(method string) map[string]mcpserver.ExtensionRequest {
		return map[string]mcpserver.ExtensionRequest{method: {Handler: handler}}
	}
	for want, e := range map[string]mcpserver.Extension{
		"want an identifier with a prefix": {ID: "paint"},
		"want a JSON object":               {ID: "com.example/x", Settings: jsontext.Value("1")},
		"belongs to the core":              {ID: "com.example/x", ResultTypes: []mcp.ResultType{mcp.ResultComplete}},
		"was added already":                {ID: paintID},
		"is defined by the protocol":       {ID: "com.example/x", Requests: requests(mcp.MethodToolsCall)},
		"already; want one with a prefix":  {ID: "com.example/x", Requests: requests(paintMix)},
		"the handler is nil":               {ID: "com.example/x", Requests: map[string]mcpserver.ExtensionRequest{"a/b": {}}},
		"not a request of the core":        {ID: "com.example/x", Core: map[string]mcpserver.Handler{"a/b": handler}},
		"is registered already":            {ID: "com.example/x", Core: map[string]mcpserver.Handler{mcp.MethodPing: handler}},
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, want) {
					t.Errorf("got %q, want %q in it", text, want)
				}
			}()
			paintServer(false).Extend(e)
		}()
	}
	twice := []mcpclient.Extension{{ID: paintID}, {ID: paintID}}
	for _, extensions := range [][]mcpclient.Extension{twice, {{ID: "paint"}}, {{ID: paintID, Settings: jsontext.Value("[]")}}} {
		_, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(paintServer(false)), &mcpclient.Options{Extensions: slices.Clone(extensions)})
		if err == nil || !strings.Contains(err.Error(), "extension") {
			t.Errorf("%v: got %v, want it refused", extensions, err)
		}
	}
}

func TestOneSidedExtensionServesClientsThatDidNotDeclareIt(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("paint", "1", nil)
	told := make(chan string, 1)
	srv.Extend(mcpserver.Extension{
		ID: paintID, OneSided: true, Sessions: true,
		Requests: map[string]mcpserver.ExtensionRequest{paintMix: {Handler: func(_ context.Context, r *mcpserver.Request) (any, error) {
			_, declared := r.Extension(paintID)
			return map[string]bool{"declared": declared}, nil
		}}},
		Notifications: map[string]mcpserver.Handler{paintNews: func(_ context.Context, r *mcpserver.Request) (any, error) {
			told <- r.Method()
			return nil, nil
		}},
	})
	mcptest.EachRevision(t, srv, func(t *testing.T, c *mcpclient.Client) {
		var got struct {
			Declared *bool `json:"declared"`
		}
		if err := c.Request(t.Context(), paintMix, nil, &got); err != nil || got.Declared == nil || *got.Declared {
			t.Errorf("got %+v, %v, want it served and not declared", got, err)
		}
	})
	for _, v := range mcp.Revisions() {
		c := mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{v}})
		notify(t, c, told)
	}
}

func TestNotificationOfAnExtensionReachesTheServer(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	srv := mcpserver.New("paint", "1", nil)
	srv.Extend(mcpserver.Extension{ID: paintID, Sessions: true, Notifications: map[string]mcpserver.Handler{
		paintNews: func(_ context.Context, r *mcpserver.Request) (any, error) {
			if _, declared := r.Extension(paintID); !declared {
				t.Errorf("%s: its client did not declare it", r.Revision())
			}
			told <- r.Method()
			return nil, nil
		},
	}})
	web := httptest.NewServer(mcptest.CheckHandler(t, srv.HTTPHandler()))
	t.Cleanup(web.Close)
	for _, v := range mcp.Revisions() {
		o := &mcpclient.Options{Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{{ID: paintID, Sessions: true}}}
		notify(t, mcptest.Connect(t, srv, o), told)
		if v == mcp.V20241105 {
			continue // which Streamable HTTP does not have
		}
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(web.URL), o)
		if err != nil {
			t.Fatal(err)
		}
		notify(t, c, told)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// notify sends the notification of the extension, and waits until the server was told.
func notify(t *testing.T, c *mcpclient.Client, told <-chan string) {
	t.Helper()
	if err := c.Notify(t.Context(), paintNews, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told:
	case <-time.After(testTimeout):
		t.Errorf("%s: the notification was dropped", c.Revision())
	}
}
