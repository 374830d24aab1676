package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// Where programs are, how they are started and what they write is for the operator.
func TestCallersDoNotSeeWhyAnUpstreamIsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const secret = "/opt/private/serve"
		srv := newServer("a")
		srv.Tool("greet", "Greet", greet)
		var admitted atomic.Int32
		var mu sync.Mutex
		var reasons []string
		g := gateway.New([]host.Upstream{upstream("a", srv)}, &gateway.Options{
			Logger: quiet,
			Admit: func(_ context.Context, u *host.Upstream) (*host.Upstream, error) {
				if admitted.Add(1) == 1 { // the shared connection lists the tool
					return u, nil
				}
				other := *u
				other.Target = mcpclient.Command(secret)
				return &other, nil
			},
			OnDecision: func(d host.Decision) error {
				mu.Lock()
				defer mu.Unlock()
				if d.Action == host.ActionStart && d.Outcome == host.OutcomeFailed {
					reasons = append(reasons, d.Reason)
				}
				return nil
			},
		})
		t.Cleanup(g.Close)
		g.Start(t.Context())
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
		for range 4 { // the first ones wait for the next attempt
			result, err := c.CallTool(t.Context(), "a__greet", greeting{"Ada"})
			if err != nil || !result.IsError {
				t.Fatalf("got %+v, %v, want a result for the model", result, err)
			}
			if text := result.Content.Text(); strings.Contains(text, secret) || !strings.Contains(text, `: unavailable (incident `) {
				t.Errorf("got %q, want no more than that it is unavailable", text)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if last := reasons[len(reasons)-1]; !strings.Contains(last, secret) {
			t.Errorf("recorded %q, want the whole reason", last)
		}
	})
}

// What callers see of an error does not depend on the kind of their request: the host logs it once, under
// the incident id that the caller gets.
func TestCallersSeeTheSameErrorInRequestsThatCallNoTool(t *testing.T) {
	t.Parallel()
	const secret = "/opt/private/serve"
	for _, test := range []struct {
		name   string
		admit  func(*host.Upstream) (*host.Upstream, error) // for the connection of the caller
		answer error                                        // of the upstream
		want   string
		logged bool
	}{
		{name: "needs approval", admit: func(*host.Upstream) (*host.Upstream, error) {
			return nil, errors.Join(host.ErrNeedsApproval, errors.New(secret))
		}, want: `: a person has to approve the server "a" in Fondaco (its terminal, or the command "fondaco approve a")`},
		{name: "not started", admit: func(u *host.Upstream) (*host.Upstream, error) {
			other := *u
			other.Target = mcpclient.Command(secret)
			return &other, nil
		}, want: `: upstream "a": failed: unavailable (incident `, logged: true},
		{
			name: "an error for the host", answer: mcp.Errorf(mcp.CodeInvalidRequest, "%s", secret),
			want: `: upstream "a": it does not accept the requests of the host (incident `, logged: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
				synctest.Test(t, func(t *testing.T) {
					var admitted atomic.Int32
					var log lockedBuffer
					g := gateway.New([]host.Upstream{upstream("a", failingServer(up, test.answer))}, &gateway.Options{
						Logger: slog.New(slog.NewTextHandler(&log, nil)),
						Admit: func(_ context.Context, u *host.Upstream) (*host.Upstream, error) {
							if admitted.Add(1) == 1 || test.admit == nil { // the shared connection lists the features
								return u, nil
							}
							return test.admit(u)
						},
					})
					t.Cleanup(g.Close)
					g.Start(t.Context())
					down.Logger = quiet
					c := mcptest.Connect(t, g.Server(), down)
					for method, err := range requestsThatCallNoTool(t.Context(), c) {
						e, _ := errors.AsType[*mcp.Error](err)
						if e == nil || e.Code != mcp.CodeInternal || !strings.HasPrefix(e.Message, method+test.want) || strings.Contains(e.Message, secret) {
							t.Errorf("%s: got %v, want %s", method, err, test.want)
							continue
						}
						if _, id, ok := strings.Cut(e.Message, "(incident "); ok != test.logged ||
							ok && !log.hasLine("level=WARN", "upstream=a", "incident="+strings.TrimSuffix(id, ")")) {
							t.Errorf("%s: got %v, want the incident of a line of the log", method, err)
						}
					}
					if log.hasLine("level=ERROR") {
						t.Errorf("got a log with errors of the host itself:\n%s", log.String())
					}
				})
			})
		})
	}
}

// failingServer is a server with a resource, a template and a prompt, whose requests have an error.
func failingServer(o *mcpserver.Options, err error) *mcpserver.Server {
	srv := mcpserver.New("a", "1", o)
	srv.Resource("notes://a", "A", "text/plain", func(context.Context) ([]byte, error) { return nil, err })
	complete := func(context.Context, mcpserver.CompletionRequest) ([]string, error) { return nil, err }
	srv.Template("notes://{title}", "Note", "text/plain", func(context.Context, struct {
		Title string `json:"title"`
	},
	) ([]byte, error) {
		return nil, err
	}, mcpserver.CompleteArg("title", complete))
	srv.Prompt("plan", "Plan", func(context.Context, greeting) ([]mcp.PromptMessage, error) { return nil, err }, mcpserver.CompleteArg("name", complete))
	return srv
}

// requestsThatCallNoTool returns the errors of the requests to a failingServer by their methods.
func requestsThatCallNoTool(ctx context.Context, c *mcpclient.Client) func(yield func(method string, err error) bool) {
	return func(yield func(string, error) bool) {
		_, err := c.ReadResource(ctx, "notes://a")
		if !yield(mcp.MethodResourcesRead, err) {
			return
		}
		_, err = c.GetPrompt(ctx, "a__plan", map[string]string{"name": "Ada"})
		if !yield(mcp.MethodPromptsGet, err) {
			return
		}
		_, err = c.Complete(ctx, &mcp.CompleteParams{Ref: mcp.PromptRef("a__plan"), Argument: mcp.CompleteArgument{Name: "name"}})
		if !yield(mcp.MethodComplete, err) {
			return
		}
		_, err = c.Complete(ctx, &mcp.CompleteParams{Ref: mcp.ResourceRef("notes://{title}"), Argument: mcp.CompleteArgument{Name: "title"}})
		yield(mcp.MethodComplete, err)
	}
}

// lockedBuffer is the text of a log.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// hasLine reports whether a line contains all parts.
func (b *lockedBuffer) hasLine(parts ...string) bool {
lines:
	for line := range strings.Lines(b.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		return true
	}
	return false
}

// A server asks where neither the caller nor the user of the host can be asked: the error names who could be, and how.
func TestMissingCapabilityComesWithWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-05")
	const person = `a host that can ask its user: in a terminal ("fondaco up"), or in its console with "questions": true under "consent" in its configuration`
	refusing := host.Settings{Questions: host.QuestionRules{Elicitation: host.PermissionRefused, Sampling: host.SamplingDeny, Roots: host.PermissionRefused}}
	elicits := answering(mcp.V20260728, noAnswer)
	nothing := &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}, Logger: quiet}
	for _, test := range []struct {
		needs    string
		settings host.Settings
		client   *mcpclient.Options
		number   int64 // zero for a result
		want     string
	}{
		{"elicitation", host.Settings{}, nothing, -32021, "needs it; want a client that declares elicitation, or " + person},
		{"sampling", host.Settings{}, nothing, -32021, `needs it; want a client that declares sampling, or "sampling": "ask" in the settings of the server and ` + person},
		{"sampling", host.Settings{Questions: host.QuestionRules{Sampling: host.SamplingAsk}}, nothing, -32021, "needs it; want a client that declares sampling, and " + person},
		{"roots", host.Settings{}, nothing, -32021, `needs it; want a client that declares roots, or some of the host: "fondaco roots add a DIRECTORY"`},
		{"elicitation", refusing, elicits, 0, `upstream "a": it has to ask in this call; the settings of the server "a" do not allow it to ask for that; want "elicitation": true`},
		{"sampling", refusing, nothing, -32021, `needs it; the settings of the server "a" do not allow it to ask for that; want "sampling": "relay" or "ask"`},
		{"roots", refusing, nothing, -32021, `needs it; the settings of the server "a" do not allow it to ask for that; want "roots": true`},
		{"elicitation", host.Settings{Share: true}, elicits, 0, `upstream "a": it has to ask in this call; the server "a" is shared by all callers, and so asks nobody; want no "share" in its settings`},
		{mcp.MethodElicit, host.Settings{}, nothing, -32601, mcp.MethodElicit + ": unknown; want a client that declares elicitation, or " + person},
		{mcp.MethodElicit, host.Settings{}, elicits, -32601, mcp.MethodElicit + ": unknown"},
	} {
		srv := mcpserver.New("a", "1", &mcpserver.Options{Revisions: []mcp.Revision{mcp.V20260728}, Logger: quiet})
		srv.AddTool(mcp.Tool{Name: "ask"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			if strings.Contains(test.needs, "/") { // a server that has asked, and passes the answer on
				return nil, mcp.Errorf(mcp.CodeMethodNotFound, "%s: unknown", test.needs)
			}
			e := mcp.Errorf(mcp.CodeMissingCapability, "needs it")
			e.Data = []byte(`{"requiredCapabilities":{"` + test.needs + `":{}}}`)
			return nil, e
		})
		u := upstream("a", srv)
		u.Settings = test.settings
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(start(t, u).Server()), test.client) // mcptest would answer
		if err != nil {
			t.Fatal(err)
		}
		result, err := c.CallTool(t.Context(), "a__ask", nil)
		_ = c.Close()
		e, _ := errors.AsType[*mcp.Error](err)
		switch {
		case test.number == 0 && (err != nil || !result.IsError || result.Content.Text() != test.want):
			t.Errorf("%s: got %+v, %v, want %q", test.needs, result, err, test.want)
		case test.number != 0 && (e == nil || e.Number != test.number || e.Message != test.want):
			t.Errorf("%s: got %+v, %v, want %d and %q", test.needs, result, err, test.number, test.want)
		}
	}
}
