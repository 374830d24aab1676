package streamhttp

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// serveIn serves one message of a session without a network and returns the
// status.
func serveIn(ctx context.Context, t *testing.T, h *Handler, method, id, body string) int {
	t.Helper()
	r := request(ctx, t, method, "http://localhost/", body, httpheader.SessionID, id)
	if method == http.MethodGet {
		r.Header.Set(httpheader.Accept, httpheader.TypeEventStream)
	}
	return serveRecorded(h, r).Code
}

// holds reports whether the session of an id is in the table.
func (t *sessions) holds(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byKey[keyOf(id)] != nil
}

// size returns how many sessions are in the table.
func (t *sessions) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byKey)
}

func TestIdleSessionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core := newTestCore(map[string]tool{"long": func(context.Context, *exchange.Inbound) (any, error) {
			time.Sleep(2 * time.Hour)
			return text("done"), nil
		}})
		h := NewHandler(core, nil)
		idle, used, calling, listening := openRecorded(t, h), openRecorded(t, h), openRecorded(t, h), openRecorded(t, h)
		go serveIn(t.Context(), t, h, "POST", calling, callTool(9, "long"))
		ctx, hangUp := context.WithCancel(t.Context())
		go serveIn(ctx, t, h, "GET", listening, "")

		time.Sleep(29 * time.Minute)
		if got := serveIn(t.Context(), t, h, "POST", used, ping); got != 200 {
			t.Errorf("after 29 minutes: got status %d, want 200", got)
		}
		time.Sleep(2 * time.Minute)
		for name, tt := range map[string]struct {
			id   string
			want bool
		}{"idle": {idle, false}, "used": {used, true}, "calling": {calling, true}, "listening": {listening, true}} {
			if got := h.sessions.holds(tt.id); got != tt.want {
				t.Errorf("%s session after 31 minutes: got %v, want it kept: %v", name, got, tt.want)
			}
		}
		time.Sleep(time.Hour)
		if h.sessions.holds(used) {
			t.Error("the used session is kept an hour later")
		}
		hangUp()
		time.Sleep(31 * time.Minute)
		if n := h.sessions.size(); n != 1 {
			t.Errorf("with one call running: got %d sessions, want 1", n)
		}
		time.Sleep(time.Hour)
		if opened, closed, _ := core.counts(); closed != opened || h.sessions.size() != 0 {
			t.Errorf("at the end: got %d of %d sessions ended, %d in the table, want all and none", closed, opened, h.sessions.size())
		}
		h.Close()
	})
}

func TestFullTableEndsTheLongestIdleSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core := newTestCore(plainTools)
		h := NewHandler(core, &Options{MaxSessions: 2})
		older := openRecorded(t, h)
		time.Sleep(time.Second)
		newer := openRecorded(t, h)
		time.Sleep(time.Second)
		serveIn(t.Context(), t, h, "POST", older, ping) // and so the newer is idle for longer
		third := openRecorded(t, h)
		for name, tt := range map[string]struct {
			id   string
			want bool
		}{"older, used since": {older, true}, "newer, longest idle": {newer, false}, "third": {third, true}} {
			if got := h.sessions.holds(tt.id); got != tt.want {
				t.Errorf("%s: got %v, want it kept: %v", name, got, tt.want)
			}
		}
		for _, id := range []string{older, third} {
			go serveIn(t.Context(), t, h, "POST", id, callTool(1, "wait"))
		}
		synctest.Wait()
		w := serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", initialize))
		if w.Code != 503 || w.Header().Get(httpheader.RetryAfter) == "" || w.Header().Get(httpheader.SessionID) != "" {
			t.Errorf("none idle: got status %d, session %q, want 503, Retry-After and none", w.Code, w.Header().Get(httpheader.SessionID))
		}
		if opened, closed, _ := core.counts(); opened-closed != 2 {
			t.Errorf("got %d sessions open, want 2", opened-closed)
		}
		h.Close()
		if opened, closed, _ := core.counts(); opened != closed || h.sessions.quota.pool.Held() != 0 {
			t.Errorf("after Close: got %d sessions open, %d counted, want none", opened-closed, h.sessions.quota.pool.Held())
		}
	})
}

func TestCoreClosedIsCalledAfterTheLastCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		core := newTestCore(map[string]tool{"stubborn": func(context.Context, *exchange.Inbound) (any, error) {
			<-proceed
			return text("done"), nil
		}})
		h := NewHandler(core, nil)
		id := openRecorded(t, h)
		go serveIn(t.Context(), t, h, "POST", id, callTool(1, "stubborn"))
		synctest.Wait()
		core.session().End()
		core.session().End()
		synctest.Wait()
		if _, closed, _ := core.counts(); closed != 0 {
			t.Error("the core was told of the end while a call ran")
		}
		close(proceed)
		synctest.Wait()
		if _, closed, _ := core.counts(); closed != 1 {
			t.Errorf("the core was told %d times, want once", closed)
		}
		h.Close()
	})
}

func TestShutdownOpensNoSession(t *testing.T) {
	t.Parallel()
	core := newTestCore(nil)
	core.full = errors.New("shutting down")
	h := NewHandler(core, nil)
	defer h.Close()
	w := serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", initialize))
	if w.Code != 503 || w.Header().Get(httpheader.RetryAfter) == "" {
		t.Errorf("got status %d, want 503 and Retry-After", w.Code)
	}
	if opened, closed, requests := core.counts(); opened+closed+requests != 0 {
		t.Errorf("got %d opened, %d closed, %d requests, want none", opened, closed, requests)
	}
}

func TestInitializeOfADisconnectedClientKeepsNoSession(t *testing.T) {
	t.Parallel()
	core := newTestCore(nil)
	h := NewHandler(core, nil)
	defer h.Close()
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	serveRecorded(h, request(ctx, t, "POST", "http://localhost/", initialize))
	if opened, closed, requests := core.counts(); opened != 1 || closed != 1 || requests != 1 || h.sessions.size() != 0 {
		t.Errorf("got %d opened, %d closed, %d requests, %d kept, want 1, 1, 1, 0", opened, closed, requests, h.sessions.size())
	}
}

func TestSessionOpenedDuringShutdownIsNotKept(t *testing.T) {
	t.Parallel()
	core := newTestCore(nil)
	h := NewHandler(core, nil)
	h.sessions.close(errShutdown)
	w := serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", initialize))
	if opened, closed, _ := core.counts(); w.Code != 503 || opened != 1 || closed != 1 || h.sessions.quota.pool.Held() != 0 {
		t.Errorf("got status %d, %d opened, %d closed, %d counted, want 503, 1, 1, 0", w.Code, opened, closed, h.sessions.quota.pool.Held())
	}
	h.Close()
}
