package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// questioningServer is a server of 2025-11-25 that asks in its calls: "form" and "roots" ask and answer
// at once, "await" answers with what it gets for its question for the roots.
func questioningServer(answers chan<- string) serverFunc {
	return func(ctx context.Context, conn mcp.Conn) error {
		var waiting jsontext.Value
		return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
			const gone = `"result":{"content":[{"type":"text","text":"gone"}]}`
			rootsQuestion := func() { c.send(`{"jsonrpc":"2.0","id":"roots","method":"roots/list"}`) }
			switch {
			case m.Method == mcp.MethodToolsList:
				return `"result":{"tools":[` + rawTool("form", 1, "") + `,` + rawTool("roots", 1, "") + `,` + rawTool("await", 1, "") + `]}`
			case m.Method == mcp.MethodToolsCall && strings.Contains(m.text, `"form"`):
				c.ask("form")
				time.Sleep(time.Millisecond) // the client is asked before the result is there
				return gone
			case m.Method == mcp.MethodToolsCall && strings.Contains(m.text, `"roots"`):
				rootsQuestion()
				time.Sleep(time.Millisecond)
				return gone
			case m.Method == mcp.MethodToolsCall:
				waiting = m.ID
				rootsQuestion()
			case m.Method == "" && waiting != nil:
				c.respond(waiting, gone)
				waiting = nil
				answers <- m.text
			case m.Method == "":
				answers <- m.text
			}
			return ""
		})
	}
}

// rootsClient is a client of the session era that answers questions for its roots while it is not silent,
// and never fills in a form.
func rootsClient(t *testing.T, s mcpclient.Server, silent *bool) *mcpclient.Client {
	t.Helper()
	o := answering(mcp.V20251125, func(ctx context.Context) (*mcp.ElicitResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	o.Roots = func(ctx context.Context) ([]mcp.Root, error) {
		if *silent {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		time.Sleep(500 * time.Millisecond)
		return []mcp.Root{{URI: "file:///ada"}}, nil
	}
	return mcptest.Connect(t, s, o)
}

func TestResultIsNotHeldBackByAnOpenQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers, silent := make(chan string, 10), true
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(questioningServer(answers))})
		c := rootsClient(t, g.Server(), &silent)
		call := func(tool string) time.Duration {
			began := time.Now()
			if got, err := c.Call[string](t.Context(), "a__"+tool, nil); err != nil || got != "gone" {
				t.Fatalf("%s: got %q, %v, want the result", tool, got, err)
			}
			took := time.Since(began)
			if got := <-answers; !strings.Contains(got, `"error"`) || !strings.Contains(got, "no answer came in time") {
				t.Errorf("%s: the upstream got %s for its question, want an error", tool, got)
			}
			return took
		}
		if took := call("form"); took > 50*time.Millisecond {
			t.Errorf("form: the first result came after %v, want 30 ms for a question for the roots", took)
		}
		if took := call("form"); took > time.Millisecond {
			t.Errorf("form: the result came after %v, want it at once", took)
		}
		if took := call("roots"); took > time.Second+time.Millisecond {
			t.Errorf("roots: the result came after %v, want a second for a client that may answer", took)
		}
		if took := call("roots"); took > time.Millisecond {
			t.Errorf("roots: the result came after %v, want it at once for a client that has not answered", took)
		}
	})
}

func TestServerThatWaitsForRootsGetsTheLastKnownOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers, silent := make(chan string, 10), true
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(questioningServer(answers))})
		c := rootsClient(t, g.Server(), &silent)
		call := func(tool, want string) {
			began := time.Now()
			if got, err := c.Call[string](t.Context(), "a__"+tool, nil); err != nil || got != "gone" {
				t.Fatalf("%s: got %q, %v, want the result", tool, got, err)
			}
			if took := time.Since(began); took > 6*time.Second {
				t.Errorf("%s: the result came after %v, want the question answered after 5 s", tool, took)
			}
			if got := <-answers; !strings.Contains(got, want) {
				t.Errorf("%s: the upstream got %s, want %s", tool, got, want)
			}
		}
		call("await", "no answer came in time")
		silent = false
		call("await", "file:///ada")
		call("roots", "file:///ada")
		silent = true
		call("await", "file:///ada")
		call("roots", "file:///ada")
	})
}

// A question of the session era does not name its call, and is asked in the oldest one.
func TestQuestionOutlivesTheCallInWhichItWasAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var first, second jsontext.Value
		server := serverFunc(func(ctx context.Context, conn mcp.Conn) error {
			return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
				switch {
				case m.Method == mcp.MethodToolsList:
					return `"result":{"tools":[` + rawTool("first", 1, "") + `,` + rawTool("second", 1, "") + `]}`
				case m.Method == mcp.MethodToolsCall && strings.Contains(m.text, `"first"`):
					first = m.ID
				case m.Method == mcp.MethodToolsCall:
					second = m.ID
					c.ask("form")
					time.Sleep(time.Millisecond) // the client is asked before the result of the first call is there
					c.respond(first, `"result":{"content":[{"type":"text","text":"done"}]}`)
				case m.Method == "":
					text := strconv.Quote(m.text)
					c.respond(second, `"result":{"content":[{"type":"text","text":`+text+`}]}`)
				}
				return ""
			})
		})
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(server)})
		c := mcptest.Connect(t, g.Server(), answering(mcp.V20251125, func(ctx context.Context) (*mcp.ElicitResult, error) {
			select {
			case <-time.After(time.Minute):
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
		var work sync.WaitGroup
		work.Go(func() {
			if got, err := c.Call[string](t.Context(), "a__first", nil); err != nil || got != "done" {
				t.Errorf("got %q, %v, want the result of the first call", got, err)
			}
		})
		synctest.Wait()
		if got, err := c.Call[string](t.Context(), "a__second", nil); err != nil || !strings.Contains(got, `"decline"`) {
			t.Errorf("the upstream got %s, %v, want the answer of the client", got, err)
		}
		work.Wait()
	})
}
