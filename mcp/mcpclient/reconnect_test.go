package mcpclient_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// dies is a server whose connection ends at the tool "die".
func dies(s *script, m message) string {
	if m.param("name") == `"die"` {
		s.conn.Close()
		return ""
	}
	return m.result(`{"content":[]}`)
}

func TestLostConnectionIsReopenedAtTheNextCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-082a")
	for era, handle := range eras(dies) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				servers, target := serve(t, handle)
				var events []mcpclient.EventKind
				c := connect(t, target, &mcpclient.Options{OnEvent: func(_ context.Context, e mcpclient.Event) { events = append(events, e.Kind) }})
				_, err := c.CallTool(t.Context(), "die", nil)
				if lost, ok := errors.AsType[*mcpclient.LostError](err); !ok || !strings.Contains(lost.Error(), "connection lost") {
					t.Errorf("got %v, want a LostError", err)
				}
				synctest.Wait()
				if servers.nth(1).conn != nil {
					t.Error("a new connection before the next call")
				}
				if _, err := c.CallTool(t.Context(), "live", nil); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				want := []mcpclient.EventKind{mcpclient.EventConnected, mcpclient.EventLost, mcpclient.EventReinitialised}
				if !slices.Equal(events, want) {
					t.Errorf("got %v, want %v", events, want)
				}
				if got := servers.nth(1).methods(); era == "session" && strings.Contains(got, mcp.MethodDiscover) {
					t.Errorf("the server was probed again: %v", got)
				}
			})
		})
	}
}

func TestConnectionLostRepeatedlyIsReopenedWithBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, stateless(dies))
		c := connect(t, target, nil)
		began := time.Now()
		for range 6 {
			if _, err := c.CallTool(t.Context(), "die", nil); err == nil {
				t.Fatal("survived")
			}
		}
		// Pauses of 0, 500 ms, 1 s, 2 s and 4 s, each with up to a quarter more.
		if waited := time.Since(began); waited < 7500*time.Millisecond || waited > 10*time.Second {
			t.Errorf("six deaths took %v", waited)
		}
		time.Sleep(2 * time.Minute)
		began = time.Now()
		if _, err := c.CallTool(t.Context(), "live", nil); err != nil || time.Since(began) > 0 {
			t.Errorf("after a quiet time: %v after %v", err, time.Since(began))
		}
	})
}

func TestCallsWaitTogetherForOneNewConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(dies))
		c := connect(t, target, nil)
		if _, err := c.CallTool(t.Context(), "die", nil); err == nil {
			t.Fatal("survived")
		}
		done := make(chan error, 20)
		for range 20 {
			go func() {
				_, err := c.CallTool(t.Context(), "live", nil)
				done <- err
			}()
		}
		for range 20 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if servers.nth(1).conn == nil || servers.nth(2).conn != nil {
			t.Error("want exactly one new connection")
		}
	})
}

func TestRestartCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	ours := &scripts{t: t, handle: stateless(dies)}
	defer ours.work.Wait()
	_, renewable := serve(t, stateless(dies))
	for name, test := range map[string]struct {
		target mcpclient.Target
		opts   *mcpclient.Options
	}{
		"option":              {renewable, &mcpclient.Options{NoRestart: true}},
		"a single connection": {mcpclient.Conn(ours.open()), nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, test.target, test.opts)
			for range 2 {
				_, err := c.CallTool(t.Context(), "die", nil)
				if _, ok := errors.AsType[*mcpclient.LostError](err); !ok {
					t.Errorf("got %v, want a LostError", err)
				}
			}
			w := watch(t.Context(), c, "a://1")
			<-w.done
			if _, ok := errors.AsType[*mcpclient.LostError](w.err); !ok {
				t.Errorf("watch: got %v, want a LostError", w.err)
			}
		})
	}
}

func TestIdleSessionIsPingedAndGivenUpAfterThreeMisses(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-288a", "R-288b")
	synctest.Test(t, func(t *testing.T) {
		var deaf atomic.Bool
		servers, target := serve(t, func(s *script, m message) string {
			if m.Method == mcp.MethodPing && deaf.Load() {
				return ""
			}
			return session(mcp.V20251125, nil)(s, m)
		})
		lost := make(chan error, 1)
		var log strings.Builder
		connect(t, target, &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), OnEvent: func(_ context.Context, e mcpclient.Event) {
			if e.Kind == mcpclient.EventLost {
				lost <- e.Err
			}
		}})
		time.Sleep(5 * time.Minute)
		if got := len(servers.nth(0).messages(mcp.MethodPing)); got < 9 || got > 11 {
			t.Errorf("pinged %d times in five minutes, want about 10", got)
		}
		deaf.Store(true)
		began := time.Now()
		if err := <-lost; err == nil || !strings.Contains(err.Error(), "no answer to ping") {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(began); waited > 2*time.Minute {
			t.Errorf("noticed after %v", waited)
		}
		synctest.Wait() // the client logs as well after the event
		if !strings.Contains(log.String(), "no answer to ping") {
			t.Errorf("got log %s, want what happened", &log)
		}
	})
}

func TestStatelessServerIsNotPinged(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-289")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(nil))
		connect(t, target, nil)
		time.Sleep(10 * time.Minute)
		if got, want := servers.nth(0).methods(), mcp.MethodDiscover; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestServerThatDropsTheRevisionIsNegotiatedAgain(t *testing.T) {
	t.Parallel()
	upgraded := false
	_, target := serve(t, func(s *script, m message) string {
		if upgraded {
			return session(mcp.V20251125, dies)(s, m)
		}
		if m.Method == mcp.MethodToolsCall {
			upgraded = true
			return m.fail(-32022, "gone", `{"supported":["2025-11-25"],"requested":"2026-07-28"}`)
		}
		return stateless(nil)(s, m)
	})
	c := connect(t, target, nil)
	if _, err := c.CallTool(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	if got := c.Revision(); got != mcp.V20251125 {
		t.Errorf("got %v, want %v", got, mcp.V20251125)
	}
}

func TestCloseEndsInTimeAlthoughAHandlerDoesNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		_, target := serve(t, session(mcp.V20251125, func(s *script, _ message) string {
			return `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + seatQuestion + `}`
		}))
		opts := answersAll()
		opts.Logger = quiet()
		opts.ElicitForm = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			<-release
			return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
		}
		c, err := mcpclient.Connect(t.Context(), target, opts)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = c.CallTool(context.Background(), "book", nil) }()
		synctest.Wait()
		began := time.Now()
		if err := c.Close(); err == nil || err.Error() != "close: not done within 10s: context deadline exceeded" {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(began); waited != 10*time.Second {
			t.Errorf("waited %v, want 10s", waited)
		}
		close(release)
	})
}

// A client that believed the server would repeat a call that it calls harmless.
func TestAnnotationsDoNotMakeACallRetryable(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-210")
	for era, handle := range eras(func(s *script, m message) string {
		if m.Method == mcp.MethodToolsList {
			return m.result(`{"tools":[{"name":"die","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":true,"destructiveHint":false}}]}`)
		}
		return dies(s, m)
	}) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, handle)
			c := connect(t, target, nil)
			if _, err := names(t, c); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CallTool(t.Context(), "die", nil); err == nil {
				t.Error("got no error")
			}
			if _, err := names(t, c); err != nil {
				t.Fatal(err)
			}
			if got := len(servers.nth(0).messages(mcp.MethodToolsCall)) + len(servers.nth(1).messages(mcp.MethodToolsCall)); got != 1 {
				t.Errorf("called %d times, want 1", got)
			}
		})
	}
}
