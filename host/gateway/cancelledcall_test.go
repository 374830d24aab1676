package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// hangingDiary is recordingServer with a tool that returns when it is cancelled, and one that
// asks.
func hangingDiary(o *mcpserver.Options) *mcpserver.Server {
	srv := recordingServer(o)
	srv.Tool("hang", "Hang", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	srv.Tool("ask", "Ask", func(ctx context.Context, _ struct{}) (string, error) {
		who, err := mcpserver.Ask[greeting](ctx, "who", "Who?")
		return who.Name, err
	})
	return srv
}

// The state of a server survives a call that its caller cancels.
func TestCancelledCallEndsNoConnection(t *testing.T) {
	t.Parallel()
	for _, share := range []bool{false, true} {
		for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			for _, down := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
				synctest.Test(t, func(t *testing.T) {
					f := &sessionTarget{revision: up, make: hangingDiary}
					g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f), Settings: host.Settings{Share: share}})
					c := newWordClient(t, g, down, "x") // it declares all capabilities
					c.write(t)
					served, _ := f.counts()
					for range 3 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						if _, err := c.CallTool(ctx, "d__hang", nil); !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("got %v, want the call cancelled", err)
						}
						cancel()
					}
					synctest.Wait()
					if got := c.write(t); got != "x x" {
						t.Errorf("%s behind for %s, share %t: got %q, want the state kept", up, down, share, got)
					}
					if now, _ := f.counts(); now != served {
						t.Errorf("%s behind for %s, share %t: got %d connections, want %d as before", up, down, share, now, served)
					}
				})
			}
		}
	}
}

// The author of a server learns why a call was cancelled, also through a host.
func TestReasonOfACancellationIsPassedOn(t *testing.T) {
	t.Parallel()
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			synctest.Test(t, func(t *testing.T) {
				causes := make(chan error, 1)
				f := &sessionTarget{revision: up, make: func(o *mcpserver.Options) *mcpserver.Server {
					srv := recordingServer(o)
					srv.Tool("hang", "Hang", func(ctx context.Context, _ struct{}) (string, error) {
						<-ctx.Done()
						causes <- context.Cause(ctx)
						return "", ctx.Err()
					})
					return srv
				}}
				c := newWordClient(t, start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)}), down, "x")
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					time.Sleep(time.Second)
					cancel(&mcp.CancelledError{Reason: "the user closed the window"})
				}()
				if _, err := c.CallTool(ctx, "d__hang", nil); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want the call cancelled", err)
				}
				cause := <-causes
				if cancelled, ok := errors.AsType[*mcp.CancelledError](cause); !ok || cancelled.Reason != "the user closed the window" {
					t.Errorf("%s behind for %s: got %v, want the reason of the client", up, down, cause)
				}
			})
		}
	}
}

// A user who cancels a call and calls again at once is asked.
func TestServerCanAskAgainAfterACancelledCall(t *testing.T) {
	t.Parallel()
	for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			f := &sessionTarget{revision: mcp.V20251125, make: hangingDiary}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
			var mu sync.Mutex
			asked := 0
			c := mcptest.Connect(t, g.Server(), answering(down, func(context.Context) (*mcp.ElicitResult, error) {
				mu.Lock()
				defer mu.Unlock()
				asked++
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsonValue(`{"name":"Ada"}`)}, nil
			}))
			for n := range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, _ = c.CallTool(ctx, "d__hang", nil)
				cancel()
				if result, err := c.CallTool(t.Context(), "d__ask", nil); err != nil || result.Content.Text() != "Ada" || asked != n+1 {
					t.Errorf("%s: got %+v, %v after %d questions, want an answer", down, result, err, asked)
				}
			}
			if served, _ := f.counts(); served != 2 {
				t.Errorf("%s: got %d connections, want the shared one and that of the caller", down, served)
			}
		})
	}
}

// stubbornServer goes on with a call that was cancelled: its tool "slow" asks "slow?" when
// another call comes. Its tool "ask" asks "ask?" and returns when it has the answer to that.
type stubbornServer struct {
	opened atomic.Int32
	slow   chan struct{} // gets a token for each call of "slow"
}

func newStubbornServer() *stubbornServer { return &stubbornServer{slow: make(chan struct{}, 10)} }

// cancelSlow calls "slow", and cancels the call when the server has it.
func (s *stubbornServer) cancelSlow(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-s.slow
		cancel()
	}()
	if _, err := c.CallTool(ctx, "a__slow", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the call cancelled", err)
	}
}

func (s *stubbornServer) Serve(ctx context.Context, conn mcp.Conn) error {
	s.opened.Add(1)
	slow := false
	calls := make(map[string]jsonValue) // by the id of their question
	question := func(c rawConn, id string) {
		c.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"elicitation/create","params":{"message":"` + id + `?","requestedSchema":{"type":"object","properties":{}}}}`)
	}
	return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
		switch {
		case m.Method == mcp.MethodToolsList:
			return `"result":{"tools":[{"name":"slow","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}}]}`
		case m.Method == mcp.MethodToolsCall && strings.Contains(string(m.Params), `"slow"`):
			slow = true
			s.slow <- struct{}{}
		case m.Method == mcp.MethodToolsCall:
			if slow {
				question(c, "slow")
			}
			calls["ask"] = m.ID
			question(c, "ask")
		case m.Method == "" && strings.Contains(m.text, `"id":"ask"`):
			text := "answered"
			if strings.Contains(m.text, `"error"`) {
				text = "refused"
			}
			c.respond(calls["ask"], `"result":{"content":[{"type":"text","text":"`+text+`"}]}`)
		case m.ID != nil && m.Method != mcp.MethodDiscover && m.Method != mcp.MethodInitialize:
			return emptyResult
		}
		return ""
	})
}

// However many clients call, the question of a cancelled call reaches only the client that has
// made that call, and every client is asked what concerns its own calls.
func TestQuestionOfACancelledCallReachesOnlyItsClient(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-342b")
	connect := map[string]func(*testing.T, *gateway.Gateway, *mcpclient.Options) *mcpclient.Client{
		"connections": func(t *testing.T, g *gateway.Gateway, o *mcpclient.Options) *mcpclient.Client {
			return mcptest.Connect(t, g.Server(), o)
		},
		"HTTP": func(t *testing.T, g *gateway.Gateway, o *mcpclient.Options) *mcpclient.Client {
			return mcptest.Connect(t, g.Server().HTTPHandler(), o)
		},
	}
	for transport, connect := range connect {
		s := newStubbornServer()
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(s)})
		var mu sync.Mutex
		asked := make(map[string][]string)
		client := func(name string) *mcpclient.Client {
			o := answering(mcp.V20260728, nil)
			o.Info = mcp.Implementation{Name: name, Version: "1"}
			o.ElicitForm = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				mu.Lock()
				defer mu.Unlock()
				asked[name] = append(asked[name], p.Message)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsonValue(`{}`)}, nil
			}
			return connect(t, g, o)
		}
		ada, bob, eve := client("ada"), client("bob"), client("eve")
		for _, canceller := range []*mcpclient.Client{ada, bob} {
			s.cancelSlow(t, canceller)
		}
		var calls sync.WaitGroup
		for _, c := range []*mcpclient.Client{eve, bob, ada, eve} {
			calls.Go(func() {
				if result, err := c.CallTool(t.Context(), "a__ask", nil); err != nil || result.Content.Text() != "answered" {
					t.Errorf("%s: got %+v, %v, want the question of the call answered", transport, result, err)
				}
			})
		}
		calls.Wait()
		mu.Lock()
		if slices.Contains(asked["eve"], "slow?") || len(asked["eve"]) != 2 {
			t.Errorf("%s: a client that has cancelled nothing was asked %q", transport, asked["eve"])
		}
		mu.Unlock()
	}
}

// After a client has cancelled a call, its next call uses the same connection, and only that
// client is asked on it.
func TestClientThatCancelledIsAskedOnTheSameConnection(t *testing.T) {
	t.Parallel()
	for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		var mu sync.Mutex
		var asked []string
		s := newStubbornServer()
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(s)})
		o := answering(down, nil)
		o.ElicitForm = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, p.Message)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsonValue(`{}`)}, nil
		}
		c := mcptest.Connect(t, g.Server(), o)
		s.cancelSlow(t, c)
		if result, err := c.CallTool(t.Context(), "a__ask", nil); err != nil || result.Content.Text() != "answered" {
			t.Errorf("%s: got %+v, %v, want the question answered", down, result, err)
		}
		mu.Lock()
		if opened := s.opened.Load(); !slices.Contains(asked, `The server "a" asks: ask?`) || opened != 2 {
			t.Errorf("%s: got questions %q over %d connections, want those of the client's own calls over one and the shared one", down, asked, opened)
		}
		mu.Unlock()
	}
}
