package peer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/peer"
)

func TestMain(m *testing.M) { leak.Main(m) }

func response(id jsonrpc.ID, result string) jsonrpc.Message {
	return jsonrpc.Message{Kind: jsonrpc.Response, ID: id, Result: []byte(result)}
}

func note(method string) jsonrpc.Message {
	return jsonrpc.Message{Kind: jsonrpc.Notification, Method: method}
}

func parseID(t *testing.T, raw string) jsonrpc.ID {
	t.Helper()
	id, err := jsonrpc.ParseID([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestCancelledRequestGetsNoReplyAndOthersDo(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-278", "R-281a")
	var r peer.Running
	ctxA, a := r.Begin(t.Context(), parseID(t, `"a"`))
	ctxB, b := r.Begin(t.Context(), parseID(t, `2`))
	why := errors.New("no more")
	if !r.Cancel(parseID(t, `"\u0061"`), why) {
		t.Error("cancel by another spelling of the same id: not found")
	}
	if r.Cancel(parseID(t, `"2"`), why) {
		t.Error(`cancel of "2" reached request 2`)
	}
	if context.Cause(ctxA) != why || ctxB.Err() != nil {
		t.Errorf("causes: got %v and %v, want only the first cancelled", context.Cause(ctxA), context.Cause(ctxB))
	}
	if a.End() || !b.End() {
		t.Error("a reply is wanted for the cancelled request, or none for the other")
	}
	if r.Len() != 0 {
		t.Errorf("%d requests left in the table", r.Len())
	}
	r.Wait()
}

func TestTheSameIDTwiceAtOnceIsRefused(t *testing.T) {
	t.Parallel()
	var r peer.Running
	_, first := r.Begin(t.Context(), parseID(t, "1"))
	if _, second := r.Begin(t.Context(), parseID(t, "1")); second != nil {
		t.Fatal("a second request of the same id was let in")
	}
	first.End()
	_, again := r.Begin(t.Context(), parseID(t, "1"))
	if again == nil {
		t.Fatal("the id cannot be used again after its request has ended")
	}
	again.End()
}

func TestAnswersReachTheirRequestAndNoOther(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-004", "R-005", "R-282a")
	var p peer.Pending
	var wg sync.WaitGroup
	waiters := make([]*peer.Waiter, 100)
	for i := range waiters {
		w, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		waiters[i] = w
		wg.Go(func() {
			defer w.Close()
			m, err := w.Next(t.Context())
			if want := fmt.Sprintf(`"for %s"`, w.ID); err != nil || string(m.Result) != want {
				t.Errorf("request %s got %s, %v, want %s", w.ID, m.Result, err, want)
			}
		})
	}
	for i := len(waiters) - 1; i >= 0; i-- {
		if id := waiters[i].ID; !p.Resolve(response(id, fmt.Sprintf(`"for %s"`, id))) {
			t.Errorf("answer to %s was not taken", id)
		}
	}
	wg.Wait()
	if p.Resolve(response(waiters[0].ID, `"again"`)) {
		t.Error("a second answer to the same request was taken")
	}
	late, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if !p.Resolve(response(late.ID, `"first"`)) || p.Resolve(response(late.ID, `"second"`)) {
		t.Error("want the first answer taken and the second not, although nobody has read the first")
	}
	if p.Resolve(response(parseID(t, `"1"`), `"forged"`)) {
		t.Error(`an answer to "1" was taken for request 1`)
	}
	if p.Len() != 0 {
		t.Errorf("%d requests left waiting", p.Len())
	}
}

func TestMessagesOfARequestComeInOrderBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-273c")
	var p peer.Pending
	w, _ := p.Open()
	defer w.Close()
	p.Deliver(w.ID, note("one"))
	p.Deliver(w.ID, note("two"))
	p.Resolve(response(w.ID, "{}"))
	if p.Deliver(w.ID, note("late")) {
		t.Error("a notification was delivered after the answer")
	}
	for _, want := range []string{"one", "two", ""} {
		if m, err := w.Next(t.Context()); err != nil || m.Method != want {
			t.Fatalf("got %q, %v, want %q", m.Method, err, want)
		}
	}
}

// A failure here means that a caller that does not listen can make the reader
// of its connection wait, or lose its answer.
func TestFullQueueDropsTheOldestNotificationAndNeverTheAnswer(t *testing.T) {
	t.Parallel()
	var p peer.Pending
	w, _ := p.Open()
	defer w.Close()
	for i := range 1000 {
		p.Deliver(w.ID, note(fmt.Sprint(i)))
	}
	p.Resolve(response(w.ID, `"done"`))
	var last string
	count := 0
	for {
		m, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == jsonrpc.Response {
			break
		}
		last, count = m.Method, count+1
	}
	if last != "999" || count+w.Dropped() != 1000 || count > 256 {
		t.Errorf("got %d notifications up to %s and %d dropped, want at most 256 up to 999 and the rest dropped", count, last, w.Dropped())
	}
}

func TestQueueIsBoundedInBytesToo(t *testing.T) {
	t.Parallel()
	var p peer.Pending
	w, _ := p.Open()
	defer w.Close()
	big := note("big")
	big.Params = make([]byte, 4<<20)
	for range 10 {
		p.Deliver(w.ID, big)
	}
	if kept := 10 - w.Dropped(); kept != 4 {
		t.Errorf("%d notifications of 4 MiB are kept, want 4", kept)
	}
	p.Resolve(response(w.ID, `"done"`))
	for range 4 {
		if m, err := w.Next(t.Context()); err != nil || m.Method != "big" {
			t.Fatalf("got %q, %v", m.Method, err)
		}
	}
	if m, err := w.Next(t.Context()); err != nil || m.Kind != jsonrpc.Response {
		t.Errorf("got %v, %v, want the answer", m.Kind, err)
	}
}

func TestCancelledWaitFreesItsSlotIfThePeerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-049b")
	synctest.Test(t, func(t *testing.T) {
		var p peer.Pending
		w, _ := p.Open()
		ctx, cancel := context.WithCancelCause(t.Context())
		gaveUp := errors.New("gave up")
		done := make(chan error, 1)
		go func() {
			_, err := w.Next(ctx)
			w.Close()
			done <- err
		}()
		synctest.Wait()
		cancel(gaveUp)
		if err := <-done; err != gaveUp {
			t.Errorf("got %v, want the cause %v", err, gaveUp)
		}
		if p.Len() != 0 {
			t.Error("the slot is still taken")
		}
	})
}

func TestFailureEndsEveryRequestOfNowAndLater(t *testing.T) {
	t.Parallel()
	var p peer.Pending
	w, _ := p.Open()
	gone := errors.New("gone")
	p.Fail(gone)
	p.Fail(errors.New("another"))
	if _, err := w.Next(t.Context()); err != gone {
		t.Errorf("waiting: got %v, want %v", err, gone)
	}
	if _, err := p.Open(); err != gone {
		t.Errorf("later: got %v, want %v", err, gone)
	}
}

func TestClosedTableRefusesNewRequestsAndLetsTheOthersEnd(t *testing.T) {
	t.Parallel()
	var p peer.Pending
	answered, left, failed := open(t, &p), open(t, &p), open(t, &p)
	gone := errors.New("gone")
	idle := p.Close(gone)
	if _, err := p.Open(); err != gone {
		t.Errorf("later: got %v, want %v", err, gone)
	}
	p.Resolve(jsonrpc.Message{Kind: jsonrpc.Response, ID: answered.ID})
	if m, err := answered.Next(t.Context()); err != nil || m.Kind != jsonrpc.Response {
		t.Errorf("got %v, %v, want the response", m, err)
	}
	left.Close()
	select {
	case <-idle:
		t.Error("idle while a request waits")
	default:
	}
	p.Fail(errors.New("another"))
	if _, err := failed.Next(t.Context()); err != gone {
		t.Errorf("waiting: got %v, want %v", err, gone)
	}
	<-idle
	<-p.Close(gone)
}

func open(t *testing.T, p *peer.Pending) *peer.Waiter {
	t.Helper()
	w, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestOnlyIsTheOnlyRequestWithoutAResponse(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-282a")
	var p peer.Pending
	open := func() *peer.Waiter {
		t.Helper()
		w, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	only := func(want jsonrpc.ID) {
		t.Helper()
		if got := p.Only(); got.Raw() != want.Raw() {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	none := jsonrpc.ID{}
	only(none)
	a := open()
	only(a.ID)
	b := open()
	only(none)
	p.Resolve(response(b.ID, "1"))
	b.Close()
	only(a.ID)
	c := open()
	c.Close() // without a response
	only(none)
	p.Resolve(response(c.ID, "late"))
	only(a.ID)
	d := open()
	d.Close()
	p.Refuse(d.ID, errors.New("malformed"))
	only(a.ID)
	p.RefuseAll(errors.New("somebody else is connected"))
	a.Close()
	e := open()
	only(none)
	p.ForgetAbandoned()
	only(e.ID)
	var late []jsonrpc.ID
	for range 100 {
		w := open()
		late = append(late, w.ID)
		w.Close()
	}
	for _, id := range late {
		p.Resolve(response(id, "late"))
	}
	only(none) // some were not kept
}

func TestReplacedRequestDoesNotEndTheOneInItsPlace(t *testing.T) {
	t.Parallel()
	var r peer.Running
	id, replaced := jsonrpc.NumberID(1), errors.New("replaced")
	formerCtx, former := r.Replace(t.Context(), id, replaced)
	ctx, work := r.Replace(t.Context(), id, replaced)
	if got := context.Cause(formerCtx); got != replaced {
		t.Errorf("the former request ended with %v, want %v", got, replaced)
	}
	former.End()
	if r.Len() != 1 || ctx.Err() != nil || !r.Cancel(id, replaced) {
		t.Error("the request in its place has ended, too")
	}
	work.End()
	r.Wait()
}
