package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

var quiet = slog.New(slog.DiscardHandler)

func newServer(name string) *mcpserver.Server {
	return mcpserver.New(name, "1.0.0", &mcpserver.Options{Logger: quiet})
}

func upstream(key string, srv *mcpserver.Server) host.Upstream {
	return host.Upstream{Key: key, Transport: "in this process", Target: mcpclient.InProcess(srv)}
}

// start starts a gateway to which nobody is connected.
func start(t testing.TB, upstreams ...host.Upstream) *gateway.Gateway {
	t.Helper()
	return startWith(t, new(gateway.Options), upstreams...)
}

// startWith is start with options.
func startWith(t testing.TB, o *gateway.Options, upstreams ...host.Upstream) *gateway.Gateway {
	t.Helper()
	o.Logger = quiet
	if slices.ContainsFunc(upstreams, func(u host.Upstream) bool { _, ok := u.Target.(*mcpclient.CommandTarget); return ok }) {
		o.StartTimeout, o.CallStartTimeout = testTimeout, testTimeout
	}
	g := gateway.New(upstreams, o)
	t.Cleanup(g.Close)
	g.Start(t.Context())
	return g
}

// open starts a gateway to the upstreams and connects a client to it.
func open(t *testing.T, opts *mcpclient.Options, upstreams ...host.Upstream) (*gateway.Gateway, *mcpclient.Client) {
	t.Helper()
	g := start(t, upstreams...)
	if opts == nil {
		opts = new(mcpclient.Options)
	}
	opts.Logger = quiet
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.CheckWire(t, mcptest.Dial(t, g.Server()), mcptest.Client, mcptest.CheckOnly(mcptest.Client))), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, c
}

// eachPairing runs a test with upstreams and clients of the oldest revision, the
// last one with sessions, and the newest.
func eachPairing(t *testing.T, test func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options)) {
	t.Helper()
	revisions := []mcp.Revision{mcp.V20241105, mcp.V20251125, mcp.V20260728}
	for _, up := range revisions {
		for _, down := range revisions {
			t.Run(fmt.Sprintf("%s behind for %s", up, down), func(t *testing.T) {
				t.Parallel()
				test(t, &mcpclient.Options{Revisions: []mcp.Revision{down}}, &mcpserver.Options{Revisions: []mcp.Revision{up}, Logger: quiet})
			})
		}
	}
}

type greeting struct {
	Name string `json:"name"`
}

func greet(_ context.Context, in greeting) (string, error) { return "Hello " + in.Name, nil }

func TestFeaturesAreRelayedInEveryRevision(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-01", "E-02")
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		srv := mcpserver.New("a", "1", up)
		srv.Tool("greet", "Greet", greet)
		srv.Tool("fail", "Fail", func(context.Context, struct{}) (string, error) { return "", errors.New("no luck") })
		srv.Resource("notes://a", "A", "text/plain", func(context.Context) ([]byte, error) { return []byte("text of a"), nil })
		srv.Template("notes://{title}", "Note", "text/plain", func(_ context.Context, in struct {
			Title string `json:"title"`
		},
		) ([]byte, error) {
			if in.Title == "none" {
				return nil, mcpserver.ErrNotFound
			}
			return []byte("text of " + in.Title), nil
		}, mcpserver.CompleteArg("title", mcpserver.Prefix("alpha", "beta")))
		srv.Prompt("plan", "Plan", func(_ context.Context, in greeting) ([]mcp.PromptMessage, error) {
			return []mcp.PromptMessage{mcpserver.UserMessage("Plan with " + in.Name)}, nil
		}, mcpserver.CompleteArg("name", mcpserver.Prefix("Ada", "Alan", "Grace")))

		_, c := open(t, down, upstream("a", srv))
		ctx := t.Context()
		if got, err := c.Call[string](ctx, "a__greet", greeting{"Ada"}); got != "Hello Ada" || err != nil {
			t.Errorf("got %q, %v, want a greeting", got, err)
		}
		if got, err := c.CallTool(ctx, "a__fail", nil); err != nil || !got.IsError || got.Content.Text() != "no luck" {
			t.Errorf("got %+v, %v, want the tool's own error", got, err)
		}
		for _, uri := range []string{"notes://a", "notes://b"} {
			got, err := c.ReadResource(ctx, uri)
			if err != nil || len(got.Contents) != 1 || got.Contents[0].Text != "text of "+uri[len("notes://"):] {
				t.Errorf("%s: got %+v, %v, want its text", uri, got, err)
			}
		}
		_, err := c.ReadResource(ctx, "notes://none")
		missing, _ := errors.AsType[*mcp.Error](err)
		number := map[bool]int64{false: -32002, true: -32602}[down.Revisions[0] == mcp.V20260728]
		if missing == nil || missing.Number != number || string(missing.Data) != `{"uri":"notes://none"}` {
			t.Errorf("got %+v, want %d and the URI that there is not", err, number)
		}
		prompt, err := c.GetPrompt(ctx, "a__plan", map[string]string{"name": "Ada"})
		if err != nil || len(prompt.Messages) != 1 || (mcp.Contents{prompt.Messages[0].Content}).Text() != "Plan with Ada" {
			t.Errorf("got %+v, %v, want the prompt", prompt, err)
		}
		for _, test := range []struct {
			ref            mcp.Reference
			argument, want string
		}{{mcp.PromptRef("a__plan"), "name", "Ada Alan"}, {mcp.ResourceRef("notes://{title}"), "title", "alpha"}} {
			got, err := c.Complete(ctx, &mcp.CompleteParams{Ref: test.ref, Argument: mcp.CompleteArgument{Name: test.argument, Value: "a"}})
			if err != nil || strings.Join(got.Values, " ") != test.want {
				t.Errorf("%v: got %+v, %v, want %s", test.ref, got, err, test.want)
			}
		}
	})
}

func TestProgressAndCancellationReachTheOtherSide(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		cancelled := make(chan error, 1)
		srv := mcpserver.New("a", "1", up)
		srv.Tool("wait", "Wait", func(ctx context.Context, _ struct{}) (string, error) {
			mcpserver.Progress(ctx, 1, 3, "one")
			mcpserver.Progress(ctx, 2, 3, "two")
			<-ctx.Done()
			cancelled <- context.Cause(ctx)
			return "", ctx.Err()
		})
		_, c := open(t, down, upstream("a", srv))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var heard []float64
		_, err := c.CallTool(ctx, "a__wait", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) {
			if heard = append(heard, p.Progress); p.Progress == 2 {
				cancel()
			}
		}))
		if !errors.Is(err, context.Canceled) || !slices.Equal(heard, []float64{1, 2}) {
			t.Errorf("got %v after progress %v, want a cancelled call after 1 and 2", err, heard)
		}
		select {
		case <-cancelled:
		case <-time.After(testTimeout):
			t.Error("the upstream was not told of the cancellation")
		}
	})
}

func TestChangesAreAnnounced(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		synctest.Test(t, func(t *testing.T) { announce(t, down, up) })
	})
}

func announce(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
	srv := mcpserver.New("a", "1", up)
	srv.Tool("greet", "Greet", greet)
	srv.Resource("clock://now", "Clock", "text/plain", func(context.Context) ([]byte, error) { return []byte("now"), nil })
	changed := make(chan struct{}, 10)
	down.OnToolsChanged = func(context.Context, *mcpclient.Client) { changed <- struct{}{} }
	_, c := open(t, down, upstream("a", srv))

	srv.Tool("greet_again", "Greet again", greet)
	awaitChange(t, changed)
	if got := toolNames(t, c); !slices.Equal(got, []string{"a__greet", "a__greet_again"}) {
		t.Errorf("got %v, want the new tool too", got)
	}
	srv.RemoveTool("greet")
	awaitChange(t, changed)
	if got := toolNames(t, c); !slices.Equal(got, []string{"a__greet_again"}) {
		t.Errorf("got %v, want the one that is left", got)
	}

	ctx, stop := context.WithTimeout(t.Context(), testTimeout)
	defer stop()
	heard := 0
	for uri, err := range c.Watch(ctx, "clock://now") {
		if err != nil || uri != "clock://now" {
			t.Fatalf("got %q, %v, want an update", uri, err)
		}
		if heard++; heard == 4 { // the first one says that the watch is in place
			return
		}
		srv.Updated("clock://now")
	}
	t.Errorf("got %d updates, want 3", heard-1)
}

// testTimeout limits waits for what never happens. It is long because other tests use the processors, too.
const testTimeout = 2 * time.Minute

func awaitChange(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(testTimeout):
		t.Fatal("the change was not announced")
	}
}

func toolNames(t *testing.T, c *mcpclient.Client) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func TestLogMessagesReachTheirCallerAtItsLevel(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		srv := mcpserver.New("talker", "1", up)
		srv.Tool("talk", "Talk", func(ctx context.Context, _ struct{}) (string, error) {
			mcpserver.Log(ctx).Debug("too much")
			mcpserver.Log(ctx).Warn("take care", "what", 1)
			return "", nil
		})
		_, c := open(t, down, upstream("a", srv))
		_, other := open(t, &mcpclient.Options{
			Revisions: down.Revisions, OnLog: func(_ context.Context, m *mcp.LoggingMessageParams) { t.Errorf("another client got %s", m.Data) },
		}, upstream("a", srv))
		if err := c.SetLogLevel(t.Context(), mcp.LevelNotice); err != nil {
			t.Fatal(err)
		}
		var heard []string
		for range 2 {
			_, err := c.CallTool(t.Context(), "a__talk", nil, mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
				heard = append(heard, fmt.Sprintf("%s %s %s", m.Level, m.Logger, m.Data))
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		const want = `warning talker {"msg":"take care","what":1}`
		if !slices.Equal(heard, []string{want, want}) {
			t.Errorf("got %q, want each message as it was sent: %s", heard, want)
		}
		if err := other.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCompletionReportsTheTotal(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		srv := mcpserver.New("a", "1", up)
		srv.Prompt("p", "p", func(context.Context, greeting) ([]mcp.PromptMessage, error) { return nil, nil },
			mcpserver.CompleteWith(func(context.Context, *mcp.CompleteParams) (*mcp.Completion, error) {
				return &mcp.Completion{Values: []string{"x", "y"}, Total: new(int64(250)), HasMore: true}, nil
			}))
		_, c := open(t, down, upstream("a", srv))
		got, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.PromptRef("a__p"), Argument: mcp.CompleteArgument{Name: "name"}})
		if err != nil || !slices.Equal(got.Values, []string{"x", "y"}) || got.Total == nil || *got.Total != 250 || !got.HasMore {
			t.Errorf("got %+v, %v, want what the upstream knows", got, err)
		}
	})
}

func TestValuesOfATemplateAreCheckedByTheUpstreamAlone(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		srv := mcpserver.New("a", "1", up)
		srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "any://{+path}", Name: "any"}, func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "text"}}}, nil
		}, mcpserver.UncheckedVariables("path"))
		srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "one://{name}", Name: "one"}, func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "text"}}}, nil
		})
		_, c := open(t, down, upstream("a", srv))
		if _, err := c.ReadResource(t.Context(), "any:///etc/../x"); err != nil {
			t.Errorf("got %v, want the upstream's contents", err)
		}
		if _, err := c.ReadResource(t.Context(), "one://.."); err == nil || !strings.Contains(err.Error(), `variable "name"`) {
			t.Errorf("got %v, want the upstream's error", err)
		}
	})
}
