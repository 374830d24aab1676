package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// refusing is an upstream to which no connection can be made.
func refusing(key string) host.Upstream {
	return host.Upstream{Key: key, Target: mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
		return nil, errors.New("no such thing")
	})}
}

// hanging is an upstream that reads everything and answers nothing.
func hanging(key string) host.Upstream {
	return host.Upstream{Key: key, Target: mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
		return &hangingTarget{closed: make(chan struct{})}, nil
	})}
}

type hangingTarget struct {
	once   sync.Once
	closed chan struct{}
}

func (s *hangingTarget) Read(ctx context.Context) ([]byte, error) {
	select {
	case <-s.closed:
		return nil, errors.New("closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *hangingTarget) Write(context.Context, []byte) error { return nil }

func (s *hangingTarget) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func TestUpstreamsThatDoNotStartDelayListsOnlyBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer("good")
		srv.Tool("greet", "Greet", greet)
		var mu sync.Mutex
		var news []string
		g := gateway.New([]host.Upstream{refusing("broken"), hanging("slow"), upstream("good", srv)}, &gateway.Options{
			Logger: quiet,
			OnStatus: func(s host.Status) {
				mu.Lock()
				defer mu.Unlock()
				news = append(news, s.Key+" "+string(s.State))
			},
		})
		defer g.Close()
		begun := time.Now()
		g.Start(t.Context())
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("got a start of %v, want the bound of 10s", took)
		}
		for i, want := range []host.Status{
			{Key: "broken", State: host.Suspended, Reason: "connect to server: no such thing"},
			{Key: "slow", State: host.Starting},
			{Key: "good", State: host.Ready, Tools: 1, Revision: mcp.V20260728},
		} {
			got := g.Status()[i]
			if got.Key != want.Key || got.State != want.State || got.Reason != want.Reason || got.Tools != want.Tools || got.Revision != want.Revision {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		c := mcptest.Connect(t, g.Server(), nil)
		if got, err := c.Call[string](t.Context(), "good__greet", greeting{"Ada"}); got != "Hello Ada" || err != nil {
			t.Errorf("got %q, %v, want an answer", got, err)
		}
		time.Sleep(20*time.Second + 100*time.Millisecond)
		if got := g.Status()[1]; got.State != host.Failed || !strings.Contains(got.Reason, "not connected within 30s") {
			t.Errorf("got %+v, want the slow one given up", got)
		}
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(news)
		if want := []string{"broken failed", "broken suspended", "good ready", "slow failed"}; !slices.Equal(news, want) {
			t.Errorf("got news %q, want %q", news, want)
		}
	})
}

func TestFirstUpstreamWithAURIServesIt(t *testing.T) {
	t.Parallel()
	text := func(s string) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) { return []byte(s), nil }
	}
	first, second := newServer("first"), newServer("second")
	first.Resource("notes://a", "A", "text/plain", text("of the first"))
	second.Resource("notes://a", "A", "text/plain", text("of the second"))
	second.Resource("notes://b", "B", "text/plain", text("of the second"))
	g, c := open(t, nil, upstream("one", first), upstream("two", second))
	for uri, want := range map[string]string{"notes://a": "of the first", "notes://b": "of the second"} {
		result, err := c.ReadResource(t.Context(), uri)
		if err != nil || result.Contents[0].Text != want {
			t.Errorf("%s: got %+v, %v, want %s", uri, result, err, want)
		}
	}
	want := []string{`resource "notes://a": upstream "one" has it already; clients see this one as "fondaco://two/notes://a"`}
	if got := g.Status()[1].Omitted; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	first.RemoveResource("notes://a")
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(10 * time.Millisecond) {
		result, err := c.ReadResource(t.Context(), "notes://a")
		if err == nil && result.Contents[0].Text == "of the second" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, %v, want the second to take its place", result, err)
		}
	}
}

func TestInvalidFeaturesOfAnUpstreamAreOmittedWithAReason(t *testing.T) {
	t.Parallel()
	answer := func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("ok")}}, nil
	}
	srv := mcpserver.New("a", "1", &mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
	srv.AddTool(mcp.Tool{Name: "fine"}, answer)
	srv.AddTool(mcp.Tool{Name: "tasks.only", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskRequired}}, answer)
	srv.AddTool(mcp.Tool{Name: strings.Repeat("long", 20)}, answer)
	g, c := open(t, nil, upstream("a", srv))
	if got := toolNames(t, c); len(got) != 2 || got[0] != "a__fine" || len(got[1]) != 64 {
		t.Errorf("got %v, want the one that is fine and the one that is cut", got)
	}
	if got, err := c.Call[string](t.Context(), toolNames(t, c)[1], nil); got != "ok" || err != nil {
		t.Errorf("got %q, %v, want the cut name to work", got, err)
	}
	if got := g.Status()[0].Omitted; len(got) != 1 || !strings.HasPrefix(got[0], `tool "tasks.only": `) {
		t.Errorf("got %q, want the tool that needs tasks", got)
	}
}

func TestArgumentsAndResultsPassUnchanged(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		const raw = `{"big":123456789012345678901234567890,"tiny":1.10,"text":"<é>","n":null,"x":[{}]}`
		var got string
		srv := mcpserver.New("a", "1", up)
		srv.AddTool(mcp.Tool{Name: "echo"}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			got = string(p.Arguments)
			return &mcp.CallToolResult{
				Content:           mcp.Contents{mcp.Text("<é>\x00"), mcp.Image([]byte{0, 255}, "image/png")},
				StructuredContent: p.Arguments,
				ResultBase:        mcp.ResultBase{Meta: mcp.Meta{"com.example/a": jsontext.Value(raw)}},
			}, nil
		})
		_, c := open(t, down, upstream("a", srv))
		result, err := c.CallTool(t.Context(), "a__echo", jsontext.Value(raw))
		if err != nil || got != raw {
			t.Fatalf("got arguments %s, %v, want %s", got, err, raw)
		}
		if text, ok := result.Content[0].(mcp.TextContent); !ok || text.Text != "<é>\x00" {
			t.Errorf("got %+v, want the text unchanged", result.Content[0])
		}
		if image, ok := result.Content[1].(mcp.ImageContent); !ok || string(image.Data) != "\x00\xff" {
			t.Errorf("got %+v, want the image unchanged", result.Content[1])
		}
		if s := result.StructuredContent; s != nil && string(s) != raw {
			t.Errorf("got %s, want %s", s, raw)
		}
		if m := result.Meta["com.example/a"]; string(m) != raw {
			t.Errorf("got metadata %s, want %s", m, raw)
		}
	})
}

func TestMetadataOfTheCallerReachesTheUpstream(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		var meta mcp.Meta
		var parent string
		srv := mcpserver.New("a", "1", up)
		srv.Tool("look", "Look", func(ctx context.Context, _ struct{}) (string, error) {
			meta = mcpserver.From(ctx).Meta()
			parent, _, _ = mcpserver.From(ctx).Trace()
			return "", nil
		})
		_, c := open(t, down, upstream("a", srv))
		_, err := c.CallTool(t.Context(), "a__look", nil, mcpclient.WithMeta(mcp.Meta{
			"com.example/a": jsontext.Value(`"x"`), mcp.MetaTraceparent: jsontext.Value(`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`),
		}))
		if err != nil || string(meta["com.example/a"]) != `"x"` || parent != "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" {
			t.Errorf("got %v, %q, %v, want the caller's metadata and trace", meta, parent, err)
		}
	})
}

func TestErrorsOfTheProtocolPass(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		srv := mcpserver.New("a", "1", up)
		answers := map[string]*mcp.Error{
			"params": {Code: mcp.CodeInvalidParams, Message: "no", Data: jsontext.Value(`{"why":1}`)},
			"own":    {Code: mcp.CodeOther, Number: -31000, Message: "own"},
		}
		for name, e := range answers {
			srv.AddTool(mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, e })
		}
		_, c := open(t, down, upstream("a", srv))
		for name, want := range answers {
			_, err := c.CallTool(t.Context(), "a__"+name, nil)
			got, ok := errors.AsType[*mcp.Error](err)
			if !ok || got.Code != want.Code || got.Message != want.Message || string(got.Data) != string(want.Data) {
				t.Errorf("%s: got %v, want %+v", name, err, want)
			}
		}
	})
}

func TestServersWithTheSameNameAreDistinguished(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-209a", "R-209b")
	var upstreams []host.Upstream
	for _, key := range []string{"one", "two"} {
		srv := newServer("same")
		srv.Tool("key", "", func(context.Context, struct{}) (string, error) { return key, nil })
		upstreams = append(upstreams, upstream(key, srv))
	}
	_, c := open(t, nil, upstreams...)
	for _, key := range []string{"one", "two"} {
		if got, err := c.Call[string](t.Context(), key+"__key", nil); err != nil || got != key {
			t.Errorf("got %q, %v, want %s", got, err, key)
		}
	}
}

// A server that fails again for the same reason is reported once: the reason does not depend on
// the revision that an attempt begins with.
func TestRepeatedFailureOfAnHTTPServerIsReportedOnce(t *testing.T) {
	t.Parallel()
	attempts := make(chan string, 100)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), mcp.MethodDiscover) {
			attempts <- r.Method
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(web.Close)
	statuses := make(chan host.Status, 100)
	g := gateway.New([]host.Upstream{{Key: "d", Target: mcpclient.URL(web.URL)}}, &gateway.Options{
		Logger: quiet, OnStatus: func(s host.Status) { statuses <- s },
	})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	<-attempts
	first := <-statuses
	for range 2 {
		g.Retry("d")
		select {
		case <-attempts:
		case s := <-statuses:
			t.Fatalf("got %s: %s after %s: %s, want each attempt to begin in the same way", s.State, s.Reason, first.State, first.Reason)
		}
	}
}
