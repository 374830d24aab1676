package streamhttp

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func TestShutdownWaitsForCallsAndTakesWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		question := func(id jsonrpc.ID) []byte { return jsonrpc.AppendRequest(nil, id, "roots/list", nil) }
		core := newTestCore(map[string]tool{"ask": func(ctx context.Context, in *exchange.Inbound) (any, error) {
			_, err := in.SendRequest(ctx, question, question)
			return text("asked"), err
		}})
		h := NewHandler(core, nil)
		id := openRecorded(t, h)
		call := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			call <- serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", callTool(1, "ask"), httpheader.SessionID, id))
		}()
		stream := make(chan int, 1)
		go func() { stream <- serveIn(t.Context(), t, h, "GET", id, "") }()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- h.Shutdown(t.Context()) }()
		synctest.Wait()
		if len(stream) != 1 || len(ended) != 0 {
			t.Errorf("got the stream ended: %v, the shutdown ended: %v, want true, false", len(stream) == 1, len(ended) == 1)
		}
		for name, got := range map[string]int{
			"request":    serveIn(t.Context(), t, h, "POST", id, ping),
			"initialize": serveIn(t.Context(), t, h, "POST", "", initialize),
			"stream":     serveIn(t.Context(), t, h, "GET", id, ""),
		} {
			if got != 503 {
				t.Errorf("%s: got status %d, want 503", name, got)
			}
		}
		if got := serveIn(t.Context(), t, h, "POST", id, `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`); got != 202 {
			t.Errorf("response: got status %d, want 202", got)
		}
		if w := <-call; !strings.Contains(w.Body.String(), "asked") {
			t.Errorf("the call: got body %q, want its reply", w.Body)
		}
		if err := <-ended; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if opened, closed, _ := core.counts(); opened != closed {
			t.Errorf("got %d sessions ended of %d, want all", closed, opened)
		}
	})
}

func TestShutdownCancelsWhatOutlivesItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), nil)
		id := openRecorded(t, h)
		go serveIn(t.Context(), t, h, "POST", id, callTool(1, "wait"))
		go serveRecorded(h, modernRequest(t.Context(), t, "wait"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := h.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		synctest.Wait()
		if n := h.atWork(); n != 0 {
			t.Errorf("got %d requests and calls at work, want none", n)
		}
		if err := h.Shutdown(ctx); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

func TestCloseCancelsAndWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core := newTestCore(map[string]tool{"wait": func(ctx context.Context, _ *exchange.Inbound) (any, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // what a handler does to clean up
			return nil, context.Cause(ctx)
		}})
		h := NewHandler(core, nil)
		id := openRecorded(t, h)
		ctx, hangUp := context.WithCancel(t.Context())
		go serveIn(ctx, t, h, "POST", id, callTool(1, "wait"))
		go serveIn(ctx, t, h, "GET", id, "")
		go serveRecorded(h, modernRequest(t.Context(), t, "wait"))
		synctest.Wait()
		hangUp() // the call outlives its connection and not the handler
		synctest.Wait()
		began := time.Now()
		if err := h.Close(); err != nil || time.Since(began) != time.Second || h.atWork() != 0 {
			t.Errorf("got %v after %v with %d at work, want nil after 1 s with none", err, time.Since(began), h.atWork())
		}
		if got := serveIn(t.Context(), t, h, "POST", id, ping); got != 503 {
			t.Errorf("after Close: got status %d, want 503", got)
		}
	})
}
