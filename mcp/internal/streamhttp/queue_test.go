package streamhttp

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/drain"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

const kib = 1 << 10

// keptSession returns a session on loopback whose messages count in kept.
func keptSession(kept *limit.KeptBytes) *session {
	owner := limit.OwnerOf(mcp.PrincipalAnonymous, netip.MustParseAddr("127.0.0.1"), limit.NewMember())
	s := newSession(mcp.PrincipalAnonymous, owner, &sessions{o: &Options{Kept: kept}, work: new(drain.Group)})
	s.uses = 1
	return s
}

func message(size int) []byte { return []byte(strings.Repeat("x", size)) }

func TestMessagesThatWaitForAGETStreamCountAsBytesOfTheirOwner(t *testing.T) {
	t.Parallel()
	kept := limit.NewKeptBytes(1024 * kib) // of which one session has a quarter
	s := keptSession(kept)
	for range 8 {
		if reached := s.pushLocked(message(100)); reached != "" || kept.Held() != 0 {
			t.Fatalf("got %d bytes and the limit %q, want nothing to count while little waits", kept.Held(), reached)
		}
	}
	for range 50 {
		s.pushLocked(message(20 * kib))
	}
	if held := kept.Held(); s.undelivered.size > held || held > 256*kib {
		t.Errorf("%d bytes wait and %d are counted, want all to be, and a quarter of all at most", s.undelivered.size, held)
	}
	if n := len(s.undelivered.msgs); n < 5 || len(s.undelivered.msgs[n-1]) != 20*kib {
		t.Errorf("%d messages wait, want the newest ones that fit", n)
	}
	if reached := s.pushLocked(message(20 * kib)); reached != mcp.LimitKept {
		t.Errorf("got the limit %q, want %q", reached, mcp.LimitKept)
	}
	if reached := s.pushLocked(message(300 * kib)); reached != mcp.LimitKept || len(s.undelivered.msgs) < 5 {
		t.Errorf("got the limit %q and %d messages, want only the one dropped that never has room", reached, len(s.undelivered.msgs))
	}
	s.addGetStreamLocked(newStream(s))
	if n := len(s.getStreams[0].queue.msgs); n < 5 || len(s.undelivered.msgs) > 0 {
		t.Errorf("%d messages wait in the stream and %d for one, want all in the stream", n, len(s.undelivered.msgs))
	}
	s.getStreams[0].takeQueued()
	if held := kept.Held(); held != 0 {
		t.Errorf("%d bytes are counted after the messages are gone", held)
	}
}

func TestMessagesOfAStreamCountUntilTheyAreWritten(t *testing.T) {
	t.Parallel()
	kept := limit.NewKeptBytes(1024 * kib)
	s := keptSession(kept)
	st := newStream(s)
	sw := st.attach(lazyctx.New(t.Context(), nil))
	n := 0
	for ; n < 100; n++ {
		if room, err := st.queueOrRoom(message(20 * kib)); room != nil || err != nil {
			break
		}
	}
	if held := kept.Held(); n*20*kib > held || held > 256*kib {
		t.Errorf("%d bytes wait and %d are counted, want all to be, and a quarter of all at most", n*20*kib, held)
	}
	before := kept.Held()
	popped, _ := sw.pop(false)
	if held := kept.Held(); len(popped) == 0 || held != before {
		t.Errorf("%d bytes are counted while %d messages are being written, want %d", held, len(popped), before)
	}
	for len(popped) > 0 {
		popped, _ = sw.pop(false)
	}
	if held := kept.Held(); held != 0 {
		t.Errorf("%d bytes are counted after all messages are written", held)
	}
	for range 20 {
		if err := st.Send(t.Context(), message(100)); err != nil {
			t.Fatal(err)
		}
		if sw.pop(false); kept.Held() != 0 {
			t.Fatalf("%d bytes are counted of a stream with small messages that is read in time", kept.Held())
		}
	}
	if err := st.Send(t.Context(), message(20*kib)); err != nil {
		t.Fatal(err)
	}
	sw.detach()
	if held := kept.Held(); held < 20*kib {
		t.Errorf("%d bytes are counted of a stream without a connection, want those of its message", held)
	}
	st.end(dialect.Reply{})
	st.moveToLog()
	if held := kept.Held(); held != 0 {
		t.Errorf("%d bytes are counted after the stream has ended", held)
	}
}

// A failure here means that a message waits forever for room that nobody makes.
func TestMessageWithoutRoomAmongTheBytesOfItsOwnerFails(t *testing.T) {
	t.Parallel()
	kept := limit.NewKeptBytes(1024 * kib)
	s := keptSession(kept)
	reached := make(chan mcp.Limit, 1)
	s.table.o.Reached = func(e mcp.LimitReached) { reached <- e.Limit }
	if _, err := kept.Take(s.Owner, 250*kib, nil); err != nil {
		t.Fatal(err)
	}
	st := newStream(s)
	st.attach(lazyctx.New(t.Context(), nil))
	if err := st.Send(t.Context(), message(20*kib)); err != errQueueKept {
		t.Errorf("got %v, want %v", err, errQueueKept)
	}
	if got := <-reached; got != mcp.LimitKept {
		t.Errorf("got the limit %q, want %q", got, mcp.LimitKept)
	}
}

func TestMessagesOfTheOwnerWithTheMostMakeRoomForAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := limit.NewKeptBytes(400 * kib)
		unread := keptSession(kept)
		unread.pushLocked(message(60 * kib))
		slow := keptSession(kept)
		st := newStream(slow)
		st.attach(lazyctx.New(t.Context(), nil))
		if err := st.Send(t.Context(), message(60*kib)); err != nil {
			t.Fatal(err)
		}
		take := func() {
			other := keptSession(kept)
			if _, err := kept.Take(other.Owner, 80*kib, func() {}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		take()
		take()
		take()
		if n := len(unread.undelivered.msgs); n != 0 {
			t.Errorf("%d messages that nobody reads are left, want them dropped first", n)
		}
		if err := slow.ctx.Err(); err != nil {
			t.Errorf("the session of the stream has ended with %v although that was not necessary", err)
		}
		take()
		if cause := context.Cause(&slow.ctx); cause != error(errEvicted) || len(st.queue.msgs) > 0 {
			t.Errorf("the session has ended with %v and %d messages are left, want %v and none", cause, len(st.queue.msgs), errEvicted)
		}
	})
}

// What ends needs locks that the caller may hold, and may wait for user code.
func TestShutdownWaitsForWhatAMessageMakesRoomOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept, ending := limit.NewKeptBytes(400*kib), make(chan struct{})
		for range 4 {
			if _, err := kept.Take(keptSession(kept).Owner, 100*kib, func() { <-ending }); err != nil {
				t.Fatal(err)
			}
		}
		s := keptSession(kept)
		if reached := s.pushLocked(message(20 * kib)); reached != "" {
			t.Fatalf("got the limit %q, want room made for the message", reached)
		}
		drained := false
		go func() {
			_ = s.table.work.Drain(t.Context())
			drained = true
		}()
		if synctest.Wait(); drained {
			t.Error("got a shutdown that does not wait for what the message has evicted")
		}
		close(ending)
		if synctest.Wait(); !drained {
			t.Error("got a shutdown that waits although nothing runs")
		}
	})
}

func TestMessagesOfACancelledCallGiveTheirRoomBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept, hungUp := limit.NewKeptBytes(1024*kib), make(chan struct{})
		h := NewHandler(newTestCore(map[string]tool{"talk": func(ctx context.Context, in *exchange.Inbound) (any, error) {
			<-hungUp
			if err := in.BackChannel.Send(ctx, message(20*kib)); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}), &Options{Kept: kept})
		id := openRecorded(t, h)
		ctx, hangUp := context.WithCancel(t.Context())
		go h.ServeHTTP(httptest.NewRecorder(), request(ctx, t, "POST", "http://localhost/", callTool(1, "talk"), httpheader.SessionID, id))
		synctest.Wait()
		hangUp()
		synctest.Wait()
		close(hungUp)
		synctest.Wait()
		if held := kept.Held(); held < 20*kib {
			t.Errorf("%d bytes are counted, want those of the message", held)
		}
		serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/",
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, httpheader.SessionID, id))
		synctest.Wait()
		if held := kept.Held(); held != 0 {
			t.Errorf("%d bytes are counted after the client has cancelled the call", held)
		}
		h.Close()
	})
}
