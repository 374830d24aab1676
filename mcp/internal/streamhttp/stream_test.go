package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// copying attaches a recorded connection to a stream.
func copying(ctx context.Context, st *stream) (w *httptest.ResponseRecorder, done chan struct{}) {
	w, done = httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		sw := st.attach(lazyctx.New(ctx, nil))
		defer sw.detach()
		sw.copyTo(newResponder(w, &Options{}, nil))
	}()
	return w, done
}

func TestFullStreamMakesItsSenderWaitForTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newStream(nil)
		sent := make(chan error, maxStreamQueue+2)
		go func() {
			for n := range maxStreamQueue + 2 {
				sent <- st.Send(t.Context(), fmt.Append(nil, n))
			}
			st.end(dialect.Reply{Body: []byte("reply"), Status: 200})
		}()
		synctest.Wait()
		if len(sent) != maxStreamQueue {
			t.Errorf("got %d messages queued, want %d", len(sent), maxStreamQueue)
		}
		w, done := copying(t.Context(), st)
		<-done
		if got := strings.Count(w.Body.String(), "event: "); got != maxStreamQueue+3 || !strings.HasSuffix(w.Body.String(), event("257")+"\n"+event("reply")+"\n") {
			t.Errorf("got %d events, the last %q, want every message in order and the reply", got, w.Body.String()[w.Body.Len()-60:])
		}
		for range maxStreamQueue + 2 {
			if err := <-sent; err != nil {
				t.Errorf("send: %v", err)
			}
		}
	})
}

func TestReplyThatArrivesBeforeTheFirstEventIsTheWholeResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newStream(nil)
		st.log = newEventLog(newEventMemory(1), false, limit.Owner{}, slog.New(slog.DiscardHandler))
		st.log.lock()
		w, done := copying(t.Context(), st)
		synctest.Wait() // it has seen no reply, and is about to look for messages
		st.end(dialect.Reply{Body: []byte("refusal"), Status: 403, Challenge: "more scopes"})
		st.log.unlock()
		<-done
		if got := w.Header().Get(httpheader.WWWAuthenticate); w.Code != 403 || got != "more scopes" || w.Body.String() != "refusal" {
			t.Errorf("got %d %q %q, want the refusal with its status and challenge", w.Code, got, w.Body)
		}
	})
}

func TestFullStreamWithoutConnectionRefusesAndKeepsTheReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newStream(nil)
		ctx, hangUp := context.WithCancel(t.Context())
		hangUp()
		_, done := copying(ctx, st)
		<-done
		var err error
		n := 0
		for ; err == nil && n < 10_000; n++ {
			err = st.Send(t.Context(), []byte(noteA))
		}
		if !errors.Is(err, errStreamFull) || n != maxStreamQueue+1 {
			t.Errorf("got %v at message %d, want %v at %d", err, n, errStreamFull, maxStreamQueue+1)
		}
		st.end(dialect.Reply{Body: []byte("reply"), Status: 200})
		st.end(dialect.Reply{Body: []byte("another"), Status: 200})
		if err := st.Send(t.Context(), []byte(noteA)); !errors.Is(err, errStreamEnded) {
			t.Errorf("after the end: got %v, want %v", err, errStreamEnded)
		}
		w, done := copying(t.Context(), st) // as a resumed connection would
		<-done
		if got := w.Body.String(); strings.Count(got, "event: ") != maxStreamQueue+1 || !strings.HasSuffix(got, event("reply")+"\n") {
			t.Errorf("got %d events, want what was queued and the reply", strings.Count(got, "event: "))
		}
	})
}

func TestDetachWakesAWaitingSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newStream(nil)
		for st.tryQueue([]byte(noteA)) == nil {
		}
		results := make(chan error, 2)
		go func() { results <- st.Send(t.Context(), []byte(noteA)) }()
		impatient, giveUp := context.WithCancelCause(t.Context())
		go func() { results <- st.Send(impatient, []byte(noteA)) }()
		synctest.Wait()
		cause := errors.New("no more")
		giveUp(cause)
		if err := <-results; !errors.Is(err, cause) {
			t.Errorf("a sender whose context ends: got %v, want %v", err, cause)
		}
		st.attach(lazyctx.New(t.Context(), nil)).detach()
		if err := <-results; !errors.Is(err, errStreamFull) {
			t.Errorf("a sender whose connection goes: got %v, want %v", err, errStreamFull)
		}
	})
}

func TestQueueIsBoundedInBytesAndTakesOneMessageOfAnySize(t *testing.T) {
	t.Parallel()
	st := newStream(nil)
	if st.tryQueue(make([]byte, 2*maxQueueBytes)) != nil {
		t.Error("a large message alone was refused")
	}
	if st.tryQueue([]byte("x")) == nil {
		t.Error("a second one was taken")
	}
	if msgs, _ := st.attach(lazyctx.New(t.Context(), nil)).pop(false); len(msgs) != 1 {
		t.Errorf("got %d messages, want 1", len(msgs))
	}
	n := 0
	for st.tryQueue(make([]byte, 1<<20)) == nil {
		n++
	}
	if n != 4 {
		t.Errorf("got %d messages of 1 MiB, want 4", n)
	}
}

func TestLongQueueIsCopiedToItsEnd(t *testing.T) {
	t.Parallel()
	st := newStream(nil)
	for range 5 {
		st.tryQueue(make([]byte, writePiece))
	}
	st.end(dialect.Reply{Body: []byte("reply"), Status: 200})
	w, done := copying(t.Context(), st)
	<-done
	if got := strings.Count(w.Body.String(), "event: "); got != 6 || !strings.HasSuffix(w.Body.String(), event("reply")+"\n") {
		t.Errorf("got %d events, want five messages and the reply", got)
	}
}

func TestHandlerMayCloseItsStreamBeforeTheConnectionIsAttached(t *testing.T) {
	t.Parallel()
	st := newStream(nil)
	st.canReconnect = true
	if st.tryQueue([]byte("1")) != nil || !st.CloseStream(time.Second) || st.tryQueue([]byte("2")) != nil {
		t.Fatal("the stream takes no messages before its connection has attached")
	}
	first := st.attach(lazyctx.New(t.Context(), nil))
	if msgs, what := first.pop(false); len(msgs) != 1 || what.retry != time.Second {
		t.Errorf("first connection: got %d messages and retry %v, want 1 and 1s", len(msgs), what.retry)
	}
	first.detach()
	if msgs, what := st.attach(lazyctx.New(t.Context(), nil)).pop(false); len(msgs) != 1 || what.retry != 0 {
		t.Errorf("connection that comes back: got %d messages and retry %v, want 1 and none", len(msgs), what.retry)
	}
}

// A reply may have more values than a message of a peer.
func TestReplyOfAnySizeIsKnownAsTheReply(t *testing.T) {
	t.Parallel()
	wide := "[" + strings.Repeat("0,", 200_000) + "0]"
	deep := strings.Repeat("[", 500) + strings.Repeat("]", 500)
	for _, content := range []string{"{}", wide, deep} {
		if !isReply([]byte(`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":` + content + `}}`)) {
			t.Errorf("a reply of %d bytes counts as another message", len(content))
		}
	}
	if isReply([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)) {
		t.Error("a request counts as the reply")
	}
}

// The outcome of a call that is taken over may be there before the connection of its client is
// attached, and that connection may break before it has an event.
func TestOnlyAStreamWithoutAnEventIDIsAnOrphan(t *testing.T) {
	t.Parallel()
	reply := dialect.Reply{Body: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)}
	for name, test := range map[string]struct {
		takenOver, attach, detach, end, want bool
	}{
		"no connection yet":           {end: true},
		"attached":                    {end: true, attach: true},
		"runs":                        {attach: true, detach: true},
		"hung up":                     {attach: true, detach: true, end: true, want: true},
		"taken over":                  {takenOver: true, end: true},
		"taken over, and it hangs up": {takenOver: true, attach: true, detach: true, end: true},
	} {
		st := newStream(nil)
		st.continued = &continuation{stream: st, isOpen: test.takenOver}
		if test.attach {
			sw := st.attach(lazyctx.New(t.Context(), nil))
			if test.detach {
				sw.detach()
			}
		}
		if test.end {
			st.end(reply)
		}
		if got := st.isOrphan(); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	if newStream(nil).isOrphan() {
		t.Error("the stream of an ordinary call counts as an orphan")
	}
}
