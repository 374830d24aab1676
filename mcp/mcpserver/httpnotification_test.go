package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// notify sends a notification of the stateless era over HTTP, and returns the response.
func notify(by *mcp.Identity, s *mcpserver.Server, method, params, from string) *http.Response {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, method, params)
	r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(body))
	r.RemoteAddr = from
	if by != nil {
		r = r.WithContext(mcp.WithIdentity(r.Context(), by))
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method},
	}
	w := httptest.NewRecorder()
	s.HTTPHandler().ServeHTTP(w, r)
	return w.Result()
}

const noteHeld = "notifications/acme/held"

// holdingNotes returns a server whose notification handler runs until let go or cancelled.
func holdingNotes(load *mcpserver.LoadOptions, l *limitsTold) (s *mcpserver.Server, running *atomic.Int32, letGo func()) {
	s, release := holding(load, l)
	running, hold := new(atomic.Int32), make(chan struct{})
	s.Handle(noteHeld, func(ctx context.Context, _ *mcpserver.Request) (any, error) {
		running.Add(1)
		defer running.Add(-1)
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return nil, ctx.Err()
	})
	return s, running, func() {
		release()
		close(hold)
		synctest.Wait()
	}
}

func TestNotificationsOverStatelessHTTPAreAdmittedLikeCalls(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	for _, test := range []struct {
		name   string
		load   mcpserver.LoadOptions
		by     *mcp.Identity
		status int
		limit  mcp.Limit
		retry  string
	}{
		{"all together", mcpserver.LoadOptions{MaxCalls: 1}, nil, 503, mcp.LimitCalls, "5"},
		{"one principal", mcpserver.LoadOptions{ShareCalls: 1}, ann, 429, mcp.LimitCallsShare, "1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := new(limitsTold)
			s, running, letGo := holdingNotes(&test.load, l)
			first := make(chan int, 1)
			go func() { first <- notify(test.by, s, noteHeld, "", loopback).StatusCode }()
			synctest.Wait()
			refused := notify(test.by, s, noteHeld, "", loopback)
			if refused.StatusCode != test.status || refused.Header.Get("Retry-After") != test.retry || l.of(test.limit) != 1 || running.Load() != 1 {
				t.Errorf("%s: got HTTP %d, Retry-After %q, %v told, %d handlers, want %d, %s, %s, 1", test.name, refused.StatusCode, refused.Header.Get("Retry-After"), l.limits, running.Load(), test.status, test.retry, test.limit)
			}
			if r := callBy(test.by, s, loopback, loopback); r.StatusCode != test.status {
				t.Errorf("%s: a call meanwhile: got HTTP %d, want %d", test.name, r.StatusCode, test.status)
			}
			begun := time.Now()
			if r := notify(test.by, s, mcp.NotificationCancelled, `"requestId":7,`, loopback); r.StatusCode != http.StatusAccepted || time.Since(begun) != 0 {
				t.Errorf("%s: a cancellation: got HTTP %d after %v, want it accepted at once", test.name, r.StatusCode, time.Since(begun))
			}
			letGo()
			if got := <-first; got != http.StatusAccepted {
				t.Errorf("%s: the first notification: got HTTP %d, want 202", test.name, got)
			}
			if r := notify(test.by, s, noteHeld, "", loopback); r.StatusCode != http.StatusAccepted {
				t.Errorf("%s: afterwards: got HTTP %d, want 202", test.name, r.StatusCode)
			}
		})
	}
}

// Handlers of notifications that use up all places are ended for the call of another owner, as
// calls are.
func TestNotificationHandlersOfOneOwnerAreEndedForAnother(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		s, running, letGo := holdingNotes(&mcpserver.LoadOptions{MaxCalls: 4}, new(limitsTold))
		for range 4 {
			go notify(ann, s, noteHeld, "", loopback)
		}
		synctest.Wait()
		called := make(chan int, 1)
		go func() { called <- callBy(nil, s, loopback, loopback).StatusCode }()
		time.Sleep(time.Second) // half of the maximum wait
		synctest.Wait()
		if running.Load() != 3 {
			t.Errorf("%d handlers run, want one ended", running.Load())
		}
		letGo()
		if got := <-called; got != http.StatusOK {
			t.Errorf("the call of another owner: got HTTP %d, want 200", got)
		}
	})
}

// A handler that waits for something else has no place, as with calls.
func TestNotificationHandlerThatWaitsIdleHasNoPlace(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		s := newServer(&mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1}})
		decided := make(chan struct{})
		s.Handle(noteHeld, func(ctx context.Context, _ *mcpserver.Request) (any, error) {
			return nil, mcpserver.WaitIdle(ctx, func(context.Context) error {
				<-decided
				return nil
			})
		})
		s.Tool("hold", "", nothing)
		noted := make(chan int, 1)
		go func() { noted <- notify(nil, s, noteHeld, "", loopback).StatusCode }()
		synctest.Wait()
		for range 2 {
			if r := callBy(nil, s, loopback, loopback); r.StatusCode != http.StatusOK {
				t.Errorf("a call meanwhile: got HTTP %d, want 200", r.StatusCode)
			}
		}
		close(decided)
		if got := <-noted; got != http.StatusAccepted {
			t.Errorf("got HTTP %d, want 202", got)
		}
		if r := callBy(nil, s, loopback, loopback); r.StatusCode != http.StatusOK {
			t.Errorf("a call afterwards: got HTTP %d, want 200", r.StatusCode)
		}
	})
}
