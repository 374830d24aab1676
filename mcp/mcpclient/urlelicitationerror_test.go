package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// gate is a server of 2025-11-25 whose tool requires URL elicitations until it is open.
type gate struct {
	open  atomic.Bool
	visit atomic.Pointer[string] // the elicitations
}

func newGate(elicitations string) *gate {
	g := new(gate)
	g.visit.Store(&elicitations)
	return g
}

func (g *gate) handle(_ *script, m message) string {
	if g.open.Load() {
		return m.result(`{"content":[{"type":"text","text":"in"}]}`)
	}
	return m.fail(-32042, "visit first", `{"elicitations":`+*g.visit.Load()+`}`)
}

func elicitation(id string) string {
	return `{"mode":"url","message":"m","url":"https://example.com/` + id + `","elicitationId":"` + id + `"}`
}

// visitor notes the URLs to which the user is sent.
type visitor struct {
	action mcp.ElicitAction
	urls   []string
	then   func()
}

func (v *visitor) options() *mcpclient.Options {
	return &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20251125}, PingInterval: -1,
		ElicitURL: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			v.urls = append(v.urls, strings.TrimPrefix(p.URL, "https://example.com/"))
			if v.then != nil {
				v.then()
			}
			return &mcp.ElicitResult{Action: v.action}, nil
		},
	}
}

func TestRequiredURLElicitationIsMadeAndTheCallSentAgain(t *testing.T) {
	claim.Shows(t, "R-344a")
	synctest.Test(t, func(t *testing.T) {
		g := newGate("[" + elicitation("1") + "," + elicitation("2") + "]")
		servers, target := serve(t, session(mcp.V20251125, g.handle))
		v := &visitor{action: mcp.ElicitAccept}
		c := connect(t, target, v.options())
		began := time.Now()
		time.AfterFunc(time.Second, func() {
			g.open.Store(true)
			for _, id := range []string{"unknown", "2", "1", "1"} {
				servers.nth(0).send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"` + id + `"}}`)
			}
		})
		got, err := c.Call[string](t.Context(), "enter", nil)
		if err != nil || got != "in" || time.Since(began) != time.Second {
			t.Errorf("got %q, %v after %v, want it as soon as both are done", got, err, time.Since(began))
		}
		calls := servers.nth(0).messages(mcp.MethodToolsCall)
		if fmt.Sprint(v.urls) != "[1 2]" || len(calls) != 2 || string(calls[0].ID) == string(calls[1].ID) {
			t.Errorf("got URLs %v and %d calls", v.urls, len(calls))
		}
	})
}

// A server need not tell, so the call is made again now and then. Nobody is sent
// to the same place twice.
func TestRequiredURLElicitationIsAwaitedWithoutNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate("[" + elicitation("1") + "]")
		servers, target := serve(t, session(mcp.V20251125, g.handle))
		v := &visitor{action: mcp.ElicitAccept}
		c := connect(t, target, v.options())
		time.AfterFunc(100*time.Second, func() { g.open.Store(true) }) // more than Timeout
		got, err := c.Call[string](t.Context(), "enter", nil)
		if err != nil || got != "in" || fmt.Sprint(v.urls) != "[1]" {
			t.Errorf("got %q, %v, URLs %v", got, err, v.urls)
		}
		if n := len(servers.nth(0).messages(mcp.MethodToolsCall)); n < 3 || n > 10 {
			t.Errorf("got %d calls in 100 s, want a few", n)
		}
	})
}

func TestRequiredURLElicitationHasAnEnd(t *testing.T) {
	for name, test := range map[string]struct {
		action mcp.ElicitAction
		visit  string
		again  bool // news that it is done, and a new one
		want   string
	}{
		"the user declines":          {mcp.ElicitDecline, elicitation("1"), false, "the user did not accept"},
		"the user goes away":         {mcp.ElicitCancel, elicitation("1"), false, "the user did not accept"},
		"nothing ever happens":       {mcp.ElicitAccept, elicitation("1"), false, "no answer within 10m0s, the maximum"},
		"ever more elicitations":     {mcp.ElicitAccept, elicitation("1"), true, "still requires URL elicitation after 8 rounds"},
		"a form":                     {mcp.ElicitAccept, `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`, false, "want mode url and an elicitationId"},
		"no id":                      {mcp.ElicitAccept, `{"mode":"url","message":"m","url":"https://example.com/"}`, false, "want mode url and an elicitationId"},
		"a URL that nobody may open": {mcp.ElicitAccept, `{"mode":"url","message":"m","url":"file:///etc","elicitationId":"1"}`, false, "want an absolute URL without a user name"},
		"none":                       {mcp.ElicitAccept, ``, false, "found 0 elicitations"},
		"very many":                  {mcp.ElicitAccept, elicitation("1") + strings.Repeat(","+elicitation("1"), 16), false, "found 17 elicitations in its data, want 1 to 16"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate("[" + test.visit + "]")
				servers, target := serve(t, session(mcp.V20251125, g.handle))
				v := &visitor{action: test.action}
				if test.again {
					v.then = func() { g.visit.Store(new("[" + elicitation(fmt.Sprint(len(v.urls)+1)) + "]")) }
				}
				c := connect(t, target, v.options())
				_, err := c.CallTool(t.Context(), "enter", nil)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code != mcp.CodeURLElicitationRequired {
					t.Errorf("got code %v, want that of the server's error", e.Code)
				}
				if n := len(servers.nth(0).messages(mcp.MethodToolsCall)); n > 40 {
					t.Errorf("got %d calls", n)
				}
			})
		})
	}
}

// A server that reports an elicitation as complete and that still requires it is not asked in a
// tight loop.
func TestCompleteURLElicitationThatIsStillRequiredIsGivenTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate("[" + elicitation("1") + "]")
		servers, target := serve(t, session(mcp.V20251125, func(s *script, m message) string {
			s.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"1"}}`)
			return g.handle(s, m)
		}))
		v := &visitor{action: mcp.ElicitAccept}
		c := connect(t, target, v.options())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.CallTool(ctx, "enter", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the caller's deadline", err)
		}
		if n := len(servers.nth(0).messages(mcp.MethodToolsCall)); n > 8 {
			t.Errorf("got %d calls in a minute", n)
		}
	})
}

func TestRequiredURLElicitationWithoutAHandlerIsTheServersError(t *testing.T) {
	t.Parallel()
	g := newGate("[" + elicitation("1") + "]")
	_, target := serve(t, session(mcp.V20251125, g.handle))
	v := new(visitor)
	for name, call := range map[string]func(c *mcpclient.Client) error{
		"by hand": func(c *mcpclient.Client) error {
			_, err := c.CallTool(t.Context(), "enter", nil, mcpclient.ManualInput())
			return err
		},
		"no handler": func(*mcpclient.Client) error {
			c := connect(t, target, &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
			_, err := c.CallTool(t.Context(), "enter", nil)
			return err
		},
	} {
		err := call(connect(t, target, v.options()))
		e, ok := errors.AsType[*mcp.Error](err)
		if !ok || e.Code != mcp.CodeURLElicitationRequired || !strings.Contains(string(e.Data), `"elicitationId":"1"`) || len(v.urls) > 0 {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
