package gateway_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// slowStarter is an upstream whose starts wait for go, from the given one on.
type slowStarter struct {
	host.Upstream
	from   int32
	starts atomic.Int32
	goOn   chan struct{}

	gateway *gateway.Gateway // made by client
}

func newSlowStarter(from int32) *slowStarter {
	srv := newServer("s")
	srv.Tool("count", "Count", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 3 {
			mcpserver.Progress(ctx, float64(i), 3, "counted")
		}
		return "done", nil
	})
	srv.Prompt("plan", "Plan", func(context.Context, greeting) ([]mcp.PromptMessage, error) { return nil, nil },
		mcpserver.CompleteArg("name", mcpserver.Prefix("Ada")))
	srv.Resource("notes://a", "A", "text/plain", func(context.Context) ([]byte, error) { return []byte("a"), nil })
	srv.Template("notes://n/{title}", "Note", "text/plain", func(context.Context, struct {
		Title string `json:"title"`
	},
	) ([]byte, error) {
		return []byte("n"), nil
	}, mcpserver.CompleteArg("title", mcpserver.Prefix("alpha")))
	return &slowStarter{Upstream: upstream("s", srv), from: from, goOn: make(chan struct{})}
}

// client starts a gateway to the upstream and one that is ready, and returns a client of it.
func (s *slowStarter) client(t *testing.T, revision mcp.Revision) *mcpclient.Client {
	t.Helper()
	ready := newServer("r")
	ready.Tool("greet", "Greet", greet)
	s.gateway = startWith(t, &gateway.Options{Admit: func(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
		if u.Key == "s" && s.starts.Add(1) >= s.from {
			select {
			case <-s.goOn:
			case <-ctx.Done():
			}
		}
		return u, ctx.Err()
	}}, s.Upstream, upstream("r", ready))
	return mcptest.Connect(t, s.gateway.Server(), &mcpclient.Options{
		Logger: quiet, Revisions: []mcp.Revision{revision}, Timeouts: mcpclient.TimeoutOptions{Call: time.Hour},
	})
}

const stillStarting = `upstream "s": still starting, call again`

// From 1 the features are unknown during the wait, from 2 the connection of the caller is waited for.
func TestCallOfAStartingServerWaits50SecondsWithProgress(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, from := range []int32{1, 2} {
			synctest.Test(t, func(t *testing.T) {
				s := newSlowStarter(from)
				c := s.client(t, revision)
				for range 2 { // the second call begins no start
					var progress []float64
					began := time.Now()
					result, err := c.CallTool(t.Context(), "s__count", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) {
						if !strings.Contains(p.Message, "waiting for the server to start") {
							t.Errorf("%s, from %d: got the progress %+v", revision, from, p)
						}
						progress = append(progress, p.Progress)
					}))
					if err != nil || !result.IsError || result.Content.Text() != stillStarting || time.Since(began) != 50*time.Second {
						t.Errorf("%s, from %d: got %+v, %v after %s, want %q after 50 s", revision, from, result, err, time.Since(began), stillStarting)
					}
					if len(progress) < 9 {
						t.Errorf("%s, from %d: got %d progress notifications, want one every 5 s", revision, from, len(progress))
					}
				}
				if got := s.starts.Load(); got != from {
					t.Errorf("%s, from %d: got %d starts, want one that goes on", revision, from, got)
				}
				close(s.goOn)
				if got, err := c.Call[string](t.Context(), "s__count", nil); got != "done" || err != nil {
					t.Errorf("%s, from %d: got %q, %v once the server has started", revision, from, got, err)
				}
			})
		}
	}
}

func TestProgressOfTheServerFollowsThatOfItsStart(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, from := range []int32{1, 2} {
			synctest.Test(t, func(t *testing.T) {
				s := newSlowStarter(from)
				c := s.client(t, revision)
				time.AfterFunc(33*time.Second, func() { close(s.goOn) })
				var messages []string
				last := -1.0
				result, err := c.CallTool(t.Context(), "s__count", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) {
					if p.Progress <= last {
						t.Errorf("%s, from %d: got progress %g after %g", revision, from, p.Progress, last)
					}
					last = p.Progress
					messages = append(messages, p.Message)
				}))
				if err != nil || result.IsError || result.Content.Text() != "done" {
					t.Errorf("%s, from %d: got %+v, %v, want the result", revision, from, result, err)
				}
				if !slices.Contains(messages, "waiting for the server to start") || messages[len(messages)-1] != "counted" {
					t.Errorf("%s, from %d: got progress %q, want that of the start and of the tool", revision, from, messages)
				}
			})
		}
	}
}

// A resource may be of any server, so a request for one that nobody lists waits only as long as lists do, which
// is over here.
func TestRequestsForAStartingServerSayThatItStarts(t *testing.T) {
	t.Parallel()
	requests := map[string]func(context.Context, *mcpclient.Client) error{
		"prompts/get": func(ctx context.Context, c *mcpclient.Client) error {
			_, err := c.GetPrompt(ctx, "s__plan", map[string]string{"name": "A"})
			return err
		},
		"resources/read": func(ctx context.Context, c *mcpclient.Client) error {
			_, err := c.ReadResource(ctx, "notes://a")
			return err
		},
		"completion/complete, prompt": func(ctx context.Context, c *mcpclient.Client) error {
			_, err := c.Complete(ctx, &mcp.CompleteParams{Ref: mcp.PromptRef("s__plan"), Argument: mcp.CompleteArgument{Name: "name", Value: "A"}})
			return err
		},
		"completion/complete, template": func(ctx context.Context, c *mcpclient.Client) error {
			_, err := c.Complete(ctx, &mcp.CompleteParams{Ref: mcp.ResourceRef("notes://n/{title}"), Argument: mcp.CompleteArgument{Name: "title", Value: "a"}})
			return err
		},
	}
	for name, request := range requests {
		for _, from := range []int32{1, 2} {
			synctest.Test(t, func(t *testing.T) {
				s := newSlowStarter(from)
				c := s.client(t, mcp.V20251125)
				began, want := time.Now(), 50*time.Second
				if from == 1 && (name == "resources/read" || name == "completion/complete, template") {
					want = 0
				}
				if err := request(t.Context(), c); err == nil || !strings.Contains(err.Error(), stillStarting) || time.Since(began) != want {
					t.Errorf("%s, from %d: got %v after %s, want an error that says it after %s", name, from, err, time.Since(began), want)
				}
				if got, err := c.Call[string](t.Context(), "r__greet", greeting{"Ada"}); got != "Hello Ada" || err != nil {
					t.Errorf("%s, from %d: the other server: got %q, %v", name, from, got, err)
				}
				close(s.goOn)
				time.Sleep(time.Second)
				if err := request(t.Context(), c); err != nil {
					t.Errorf("%s, from %d: got %v once the server has started", name, from, err)
				}
			})
		}
	}
}

func TestWaitsOfACallForAStartHaveOneLimitTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlowStarter(1)
		c := s.client(t, mcp.V20251125)                                 // returns after the 10 s for which a start is waited for
		time.AfterFunc(33*time.Second, func() { s.goOn <- struct{}{} }) // for the shared connection alone
		began := time.Now()
		result, err := c.CallTool(t.Context(), "s__count", nil)
		if err != nil || !result.IsError || result.Content.Text() != stillStarting || time.Since(began) != 50*time.Second {
			t.Errorf("got %+v, %v after %s, want %q after 50 s", result, err, time.Since(began), stillStarting)
		}
		if got := s.starts.Load(); got != 2 {
			t.Errorf("got %d starts, want one of each connection", got)
		}
	})
}
