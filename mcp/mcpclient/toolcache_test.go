package mcpclient_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestUnlistedToolIsListedForItsOutputSchemaOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-211b", "R-219c")
	for era, handle := range eras(outputs) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, handle)
			c := connect(t, target, nil)
			if _, err := c.CallTool(t.Context(), "sum", raw(`{"fail":false}`)); err != nil {
				t.Errorf("a result without structured content: %v", err)
			}
			if got := len(servers.nth(0).messages(mcp.MethodToolsList)); got != 0 {
				t.Errorf("a result without structured content: listed %d times, want 0", got)
			}
			var calls sync.WaitGroup
			for range 5 {
				calls.Go(func() {
					_, err := c.CallTool(t.Context(), "sum", answer(`{"sum":"3"}`))
					if _, violation := errors.AsType[*mcpclient.ProtocolError](err); !violation {
						t.Errorf("got %v, want a *ProtocolError", err)
					}
				})
			}
			calls.Wait()
			if _, err := c.CallTool(t.Context(), "sum", answer(`{"sum":3}`)); err != nil {
				t.Error(err)
			}
			if _, err := c.CallTool(t.Context(), "hidden", answer(`{"x":1}`)); err != nil {
				t.Errorf("a tool that is not listed: %v", err)
			}
			if got := len(servers.nth(0).messages(mcp.MethodToolsList)); got != 1 {
				t.Errorf("listed %d times, want once", got)
			}
		})
	}
}

// The program may ask a server of the session era for tools that it does not declare. The
// client does not do so by itself.
func TestUndeclaredToolsAreListedOnlyForTheProgram(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-046b")
	for _, capabilities := range []string{`{}`, `{"prompts":{}}`} {
		servers, target := serve(t, func(s *script, m message) string {
			switch m.Method {
			case mcp.MethodInitialize:
				return m.result(`{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"old","version":"1"}}`)
			case mcp.MethodToolsList:
				return m.result(`{"tools":[{"name":"sum","inputSchema":{"type":"object"}}]}`)
			case mcp.MethodToolsCall:
				return m.result(`{"content":[],"structuredContent":{"sum":3}}`)
			case mcp.MethodPing:
				return m.result(`{}`)
			case mcp.MethodDiscover:
				return m.fail(-32601, "not scripted", "")
			}
			return ""
		})
		c := connect(t, target, nil)
		if _, err := c.CallTool(t.Context(), "sum", nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := servers.nth(0).methods(), "server/discover initialize notifications/initialized tools/call ping"; got != want {
			t.Errorf("%s: got %s, want %s", capabilities, got, want)
		}
		if got, err := names(t, c); err != nil || len(got) != 1 {
			t.Errorf("%s: got %v, %v, want the tool that the program asks for", capabilities, got, err)
		}
	}
}

func TestAFailingListFailsNoCall(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]func(m message) string{
		"an error":        func(m message) string { return m.fail(-32603, "no lists today", "") },
		"an invalid list": func(m message) string { return m.result(`{"tools":7}`) },
		"silence":         func(message) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				servers, target := serve(t, stateless(func(s *script, m message) string {
					if m.Method == mcp.MethodToolsList {
						return list(m)
					}
					return outputs(s, m)
				}))
				c := connect(t, target, nil)
				began := time.Now()
				for range 2 {
					if _, err := c.CallTool(t.Context(), "sum", answer(`{"sum":"3"}`)); err != nil {
						t.Errorf("got %v, want a result that is not checked", err)
					}
				}
				if got := len(servers.nth(0).messages(mcp.MethodToolsList)); got != 1 {
					t.Errorf("listed %d times, want once", got)
				}
				if got := time.Since(began); got > 5*time.Second {
					t.Errorf("waited %v, want at most 5s", got)
				}
			})
		})
	}
}

func TestACallWaitsForTheOutputSchemaNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, stateless(func(s *script, m message) string {
			if m.Method == mcp.MethodToolsList {
				return ""
			}
			return outputs(s, m)
		}))
		c := connect(t, target, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.CallTool(ctx, "sum", answer(`{"sum":"3"}`)); err != nil {
			t.Errorf("got %v, want the result that the server has sent", err)
		}
	})
}

func TestAChangedListIsReadAgainForOutputSchemas(t *testing.T) {
	t.Parallel()
	servers, target := serve(t, session(mcp.V20251125, outputs))
	seen := make(chan struct{})
	c := connect(t, target, &mcpclient.Options{OnToolsChanged: func(context.Context, *mcpclient.Client) { close(seen) }})
	call := func() error {
		_, err := c.CallTool(t.Context(), "sum", answer(`{"sum":"3"}`))
		return err
	}
	first := call()
	servers.nth(0).send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	<-seen
	for i, err := range []error{first, call()} {
		if err == nil || !strings.Contains(err.Error(), "output schema") {
			t.Errorf("call %d: got %v, want a violation of the output schema", i, err)
		}
	}
	if got := len(servers.nth(0).messages(mcp.MethodToolsList)); got != 2 {
		t.Errorf("listed %d times, want twice", got)
	}
}

func TestNoListIsReadWithAPriorOrWithoutTheCheck(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]*mcpclient.Options{
		"Prior":         {Prior: &mcpclient.Prior{Revision: mcp.V20260728}},
		"NoOutputCheck": {NoOutputCheck: true},
	} {
		servers, target := serve(t, stateless(outputs))
		c := connect(t, target, opts)
		if _, err := c.CallTool(t.Context(), "sum", answer(`{"sum":"3"}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := len(servers.nth(0).messages(mcp.MethodToolsList)); got != 0 {
			t.Errorf("%s: listed %d times, want 0", name, got)
		}
	}
}

func TestGivenDefinitionStandsForAList(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(outputs) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, handle)
			c := connect(t, target, nil)
			given := mcpclient.WithTool(&mcp.Tool{Name: "sum", InputSchema: raw(`{"type":"object"}`), OutputSchema: raw(`{"type":"object","properties":{"sum":{"type":"number"}}}`)})
			if _, err := c.CallTool(t.Context(), "sum", answer(`{"sum":3}`), given); err != nil {
				t.Error(err)
			}
			if _, err := c.CallTool(t.Context(), "sum", answer(`{"sum":"3"}`), given); !isViolation(err) {
				t.Errorf("got %v, want a *ProtocolError", err)
			}
			if got := len(servers.nth(0).messages(mcp.MethodToolsList)); got != 0 {
				t.Errorf("listed %d times, want not at all", got)
			}
		})
	}
}

func isViolation(err error) bool {
	_, ok := errors.AsType[*mcpclient.ProtocolError](err)
	return ok
}
