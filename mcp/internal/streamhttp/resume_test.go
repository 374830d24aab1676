package streamhttp

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// idOf returns the id of an event, as it stands on the wire.
func idOf(block string) string {
	for line := range strings.Lines(block) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
}

// back opens a connection that goes on behind an event.
func (s *testServer) back(session, id string, headers ...string) *openAnswer {
	s.t.Helper()
	a := s.start("GET", "", append([]string{httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.LastEventID, id}, headers...)...)
	if a.resp.StatusCode != 200 {
		s.t.Fatalf("resume behind %s: got status %d, want 200", id, a.resp.StatusCode)
	}
	return a
}

// feed is a tool that sends what the test tells it to, and ends with the channel.
func feed(notes chan string) tool {
	return func(ctx context.Context, in *exchange.Inbound) (any, error) {
		for note := range notes {
			if err := in.BackChannel.Send(ctx, []byte(note)); err != nil {
				return nil, err
			}
		}
		return text("done"), nil
	}
}

func note(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, n)
}

func expectNotes(t *testing.T, a *openAnswer, from, to int) (last string) {
	t.Helper()
	for n := from; n <= to; n++ {
		block := a.block()
		if idOf(block) != "" && plain(block) == "" { // the priming event
			n--
			continue
		}
		if got, want := plain(block), event(note(n)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		last = idOf(block)
	}
	return last
}

func TestStreamBeginsWithAnEventThatHasAnIDAndNoData(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-104", "R-113a", "R-113b")
	seen := map[string]bool{}
	s := serveTest(t, newTestCore(plainTools), nil)
	session := s.open(initialize)
	unique := func(block, want string) {
		t.Helper()
		if !regexp.MustCompile(want).MatchString(block) || seen[idOf(block)] {
			t.Errorf("got %q, want %s and an id that was not used before", block, want)
		}
		seen[idOf(block)] = true
	}
	for _, open := range []func() *openAnswer{
		func() *openAnswer { return s.start("POST", callTool(1, "talk"), httpheader.SessionID, session) },
		func() *openAnswer {
			a := s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session)
			for _, n := range []string{noteA, noteB, noteA} {
				if err := s.core.session().Push(t.Context(), []byte(n)); err != nil {
					t.Fatal(err)
				}
			}
			return a
		},
	} {
		a := open()
		unique(a.block(), `^id: [A-Z2-7]{16}-0\ndata: \n$`)
		for n := 1; n <= 3; n++ {
			unique(a.block(), fmt.Sprintf(`^event: message\nid: [A-Z2-7]{16}-%d\ndata: {`, n))
		}
	}
}

// Clients of older revisions would take empty data for a broken message.
func TestOlderRevisionsGetNoPrimingEvent(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Revision{mcp.V20241105, mcp.V20250326, mcp.V20250618} {
		s := serveTest(t, newTestCore(plainTools), nil)
		session := s.open(strings.Replace(initialize, "2025-11-25", v.String(), 1))
		a := s.start("POST", callTool(1, "talk"), httpheader.SessionID, session)
		if got := a.block(); !strings.HasSuffix(idOf(got), "-1") || plain(got) != event(noteA) {
			t.Errorf("%v: got %q, want the first message with an id", v, got)
		}
	}
}

func TestStatelessAnswersHaveNoEventIDs(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-138", "R-156b", "D-08")
	s := serveTest(t, newTestCore(plainTools), nil)
	a := s.post(modernCall("talk"), append(modernHeaders("tools/call", "talk"), httpheader.LastEventID, "x-1", httpheader.SessionID, "x")...)
	if a.status != 200 || a.header.Get(httpheader.SessionID) != "" || strings.Contains(a.body, "id: ") || strings.Contains(a.body, "retry: ") || !strings.Contains(a.body, event(noteA)) {
		t.Errorf("got status %d, body %q, want a stream without ids", a.status, a.body)
	}
}

// A client whose connection breaks at any event gets the others, and its reply.
func TestResumedPOSTBringsExactlyWhatWasMissed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-107a", "R-114", "R-115a", "R-115b")
	notes := make(chan string)
	s := serveTest(t, newTestCore(map[string]tool{"feed": feed(notes), "talk": plainTools["talk"]}), nil)
	session := s.open(initialize)
	go func() { notes <- note(1); notes <- note(2); notes <- note(3) }()
	first := s.start("POST", callTool(1, "feed"), httpheader.SessionID, session)
	primed := idOf(first.block())
	expectNotes(t, first, 1, 3)
	first.close()
	eventually(t, "the connection has let go", func() bool { return s.handler.atWork() == 1 })
	notes <- note(4) // nobody listens
	s.post(callTool(2, "talk"), httpheader.SessionID, session)

	for n, id := range []string{primed, strings.TrimSuffix(primed, "0") + "1", strings.TrimSuffix(primed, "0") + "2"} {
		a := s.back(session, id)
		if got := a.block(); idOf(got) != id || plain(got) != "" {
			t.Errorf("got %q, want the event %s without data first", got, id)
		}
		expectNotes(t, a, n+1, 4)
		a.close()
		eventually(t, "the connection has let go", func() bool { return s.handler.atWork() == 1 })
	}
	close(notes) // the call ends while nobody listens
	eventually(t, "the call has ended", func() bool { return s.handler.atWork() == 0 })
	for range 2 {
		a := s.back(session, strings.TrimSuffix(primed, "0")+"3")
		last := expectNotes(t, a, 4, 4)
		if got := a.event(); !strings.Contains(got, `"id":1,"result"`) || !strings.Contains(got, "done") {
			t.Errorf("got %q, want the reply", got)
		}
		if got := a.block(); got != "" {
			t.Errorf("got %q, want the end", got)
		}
		if want := strings.TrimSuffix(primed, "0") + "4"; last != want {
			t.Errorf("got id %s, want %s", last, want)
		}
	}
}

func TestResumedGETReplaysItsMessagesAndContinues(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-112a", "R-114", "R-115a", "R-115b")
	s := serveTest(t, newTestCore(plainTools), nil)
	session := s.open(initialize)
	get := func() *openAnswer {
		return s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session)
	}
	push := func(n int) {
		t.Helper()
		if err := s.core.session().Push(t.Context(), []byte(note(n))); err != nil {
			t.Fatal(err)
		}
	}
	first := get()
	push(1)
	push(2)
	behind := strings.TrimSuffix(expectNotes(t, first, 1, 2), "2") + "1"
	second := get()
	push(3) // the newest
	last := expectNotes(t, second, 3, 3)
	first.close()
	eventually(t, "the first has let go", func() bool { return s.handler.atWork() == 1 })
	again := s.back(session, behind)
	expectNotes(t, again, 2, 2) // and not 3, which was the other's
	push(4)
	expectNotes(t, again, 4, 4)
	again.close()
	second.close()
	eventually(t, "both have let go", func() bool { return s.handler.atWork() == 0 })
	push(5) // belongs to no stream yet
	again = s.back(session, last)
	expectNotes(t, again, 5, 5)
}

// S-044: event ids of others, of other sessions, and none at all.
func TestForeignAndForgedEventIDsAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-115a")
	s := serveTest(t, newTestCore(plainTools), nil)
	open := func(who string) (session, id string) {
		session = s.post(initialize, httpheader.Authorization, who).header.Get(httpheader.SessionID)
		a := s.start("POST", callTool(1, "talk"), httpheader.SessionID, session, httpheader.Authorization, who)
		for a.block() != "" {
		}
		b := s.start("POST", callTool(1, "talk"), httpheader.SessionID, session, httpheader.Authorization, who)
		return session, idOf(b.block())
	}
	session, id := open("A")
	_, other := open("A")
	_, foreign := open("B")
	name := strings.TrimSuffix(id, "-0")
	for _, forged := range []string{
		other, foreign, "", "-", "1", "-1", name, name + "-", name + "-00", name + "-+1", name + "--1", name + "-4", name + "-1-1",
		name + "-9223372036854775807", name + "-9223372036854775808", strings.ToLower(name) + "-1", strings.Repeat("x", 10_000) + "-1", name + "-1, " + name + "-2",
	} {
		a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.Authorization, "A", http.CanonicalHeaderKey(httpheader.LastEventID), cmp.Or(forged, " "))
		if a.status != 400 || !strings.Contains(a.body, "cannot be resumed") {
			t.Errorf("%.40q: got status %d, body %.100s, want 400 and nothing else", forged, a.status, a.body)
		}
	}
	if a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.Authorization, "A", httpheader.LastEventID, id, httpheader.LastEventID, id); a.status != 400 {
		t.Errorf("two headers: got status %d, want 400", a.status)
	}
	if a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.Authorization, "B", httpheader.LastEventID, id); a.status != 404 {
		t.Errorf("another principal: got status %d, want 404", a.status)
	}
	if a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.LastEventID, id, httpheader.Authorization, "A"); a.status != 400 {
		t.Errorf("no session: got status %d, want 400", a.status)
	}
	if a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.LastEventID, id, httpheader.Authorization, "A"); a.status != 200 || !strings.Contains(a.body, "said") {
		t.Errorf("the right one: got status %d, body %s", a.status, a.body)
	}
}

func TestSecondConnectionReplacesTheFirst(t *testing.T) {
	t.Parallel()
	notes := make(chan string)
	s := serveTest(t, newTestCore(map[string]tool{"feed": feed(notes)}), nil)
	session := s.open(initialize)
	go func() { notes <- note(1) }()
	first := s.start("POST", callTool(1, "feed"), httpheader.SessionID, session)
	id := expectNotes(t, first, 1, 1)
	second := s.back(session, id)
	if got := first.block(); got != "" {
		t.Errorf("the first: got %q, want its end", got)
	}
	notes <- note(2)
	expectNotes(t, second, 2, 2)

	var tries sync.WaitGroup // at the same time: one of them goes on, and all get what is theirs
	answers := make(chan string, 20)
	for range cap(answers) {
		tries.Go(func() {
			resp, err := s.Client().Do(request(t.Context(), t, "GET", s.url, "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.LastEventID, id))
			if err != nil {
				answers <- err.Error()
				return
			}
			a := &openAnswer{t: t, resp: resp, lines: bufio.NewReader(resp.Body)}
			defer resp.Body.Close()
			var all strings.Builder
			for block := a.block(); block != ""; block = a.block() {
				all.WriteString(plain(block))
			}
			answers <- all.String()
		})
	}
	eventually(t, "all but one were taken over", func() bool { return len(answers) == cap(answers)-1 && s.handler.atWork() == 2 })
	notes <- note(3)
	close(notes)
	tries.Wait()
	close(answers)
	whole := 0
	for got := range answers {
		rest, ok := strings.CutPrefix(got, event(note(2)))
		if !ok && got != "" {
			t.Errorf("got %q, want the missed message first", got)
		}
		if tail, ok := strings.CutPrefix(rest, event(note(3))); ok && strings.Contains(tail, "done") {
			whole++
		} else if ok && rest != "" {
			t.Errorf("got %q after the missed message", rest)
		}
	}
	if whole != 1 {
		t.Errorf("%d connections got the rest, want one", whole)
	}
}

func TestDeletedSessionCannotBeResumed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-119")
	s := serveTest(t, newTestCore(plainTools), nil)
	session := s.open(initialize)
	a := s.start("POST", callTool(1, "talk"), httpheader.SessionID, session)
	id := idOf(a.block())
	for a.block() != "" {
	}
	store := s.handler.events.(*eventMemory)
	if store.held() == 0 {
		t.Error("nothing is kept for the client")
	}
	s.do("DELETE", "", httpheader.SessionID, session)
	if a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.LastEventID, id); a.status != 404 {
		t.Errorf("got status %d, want 404", a.status)
	}
	eventually(t, "nothing is kept any more", func() bool { return store.held() == 0 })
}

// held returns what the events in memory count for.
func (m *eventMemory) held() int { return m.pool.Held() }

func TestStreamsOfASessionThatCanBeResumedAreBounded(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(plainTools), nil)
	session := s.open(initialize)
	var ids []string
	for range maxDetached + 2 {
		a := s.start("POST", callTool(1, "talk"), httpheader.SessionID, session)
		ids = append(ids, idOf(a.block()))
		for a.block() != "" {
		}
		eventually(t, "the call has ended", func() bool { return s.handler.atWork() == 0 })
	}
	for i, id := range ids {
		want := 200
		if i < 2 {
			want = 400
		}
		if a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.LastEventID, id); a.status != want {
			t.Errorf("stream %d of %d: got status %d, want %d", i+1, len(ids), a.status, want)
		}
	}
}

func TestCancelledCallCannotBeResumed(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(map[string]tool{"x": func(ctx context.Context, in *exchange.Inbound) (any, error) {
		err := in.BackChannel.Send(ctx, []byte(noteA))
		<-ctx.Done()
		return nil, err
	}}), nil)
	session := s.open(initialize)
	a := s.start("POST", callTool(5, "x"), httpheader.SessionID, session)
	id := idOf(a.block())
	a.block()
	s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, httpheader.SessionID, session)
	if got := a.block(); got != "" {
		t.Errorf("got %q, want the end", got)
	}
	eventually(t, "the call has ended", func() bool { return s.handler.atWork() == 0 })
	if a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.LastEventID, id); a.status != 400 {
		t.Errorf("got status %d, want 400", a.status)
	}
}

// forgetful is an event store that fails, or has lost what it kept.
type forgetful struct{ err error }

func (f forgetful) Append(context.Context, string, int64, []byte) error { return f.err }

func (f forgetful) After(context.Context, string, int64) ([][]byte, error) { return nil, f.err }

func (f forgetful) Trim(context.Context, string, int64) error { return f.err }

func TestStreamIsRefusedIfItsEventsAreGoneAndContinuesOtherwise(t *testing.T) {
	t.Parallel()
	for _, store := range []forgetful{{}, {errors.New("down")}} {
		s := serveTest(t, newTestCore(plainTools), &Options{Events: store, Logger: slog.New(slog.DiscardHandler)})
		session := s.open(initialize)
		a := s.start("POST", callTool(1, "talk"), httpheader.SessionID, session)
		id := idOf(a.block())
		for _, want := range []string{noteA, noteB} {
			if got := a.event(); got != event(want) {
				t.Errorf("%v: got %q, want %q", store.err, got, want)
			}
		}
		if got := a.event(); !strings.Contains(got, "said") {
			t.Errorf("%v: got %q, want the reply", store.err, got)
		}
		if a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.LastEventID, id); a.status != 400 {
			t.Errorf("%v: got status %d, want 400", store.err, a.status)
		}
	}
}

func TestFloodOfGETsIsBounded(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(plainTools), &Options{MaxStreams: 12})
	session := s.open(initialize)
	statuses := map[int]int{}
	for range 40 {
		a := s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session)
		statuses[a.resp.StatusCode]++
		if a.resp.StatusCode == 200 {
			again := s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.LastEventID, idOf(a.block()))
			statuses[again.resp.StatusCode]++
		}
	}
	eventually(t, "the oldest have ended", func() bool { return s.handler.atWork() <= maxGetStreams })
	live, _ := s.handler.sessions.find(keyOf(session), nil)
	defer s.handler.sessions.release(live)
	live.mu.Lock()
	defer live.mu.Unlock()
	if len(live.getStreams) > maxGetStreams || len(live.detached) > maxDetached || len(live.streams) > maxGetStreams+maxDetached {
		t.Errorf("got %d attached, %d parked, %d known, want at most %d, %d", len(live.getStreams), len(live.detached), len(live.streams), maxGetStreams, maxDetached)
	}
	delete(statuses, 503)
	if statuses[200] == 0 || len(statuses) != 1 {
		t.Errorf("got statuses %v besides 503, want 200 alone", statuses)
	}
}

func TestHandlerClosesItsStreamAndTheClientResumes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-105a", "R-105b", "R-107b")
	proceed := make(chan struct{})
	s := serveTest(t, newTestCore(map[string]tool{"poll": func(ctx context.Context, in *exchange.Inbound) (any, error) {
		if !in.BackChannel.(exchange.StreamCloser).CloseStream(1500 * time.Millisecond) {
			return nil, errors.New("the client does not poll")
		}
		<-proceed
		if err := in.BackChannel.Send(ctx, []byte(noteA)); err != nil {
			return nil, err
		}
		return text("done"), nil
	}}), nil)
	session := s.open(initialize)
	a := s.post(callTool(1, "poll"), httpheader.SessionID, session)
	if !regexp.MustCompile(`^id: (\w+)-0\ndata: \n\nid: \w+-0\nretry: 1500\ndata: \n\n$`).MatchString(a.body) {
		t.Errorf("got %q, want the priming event and the time to come back", a.body)
	}
	id := idOf(a.body)
	polled := s.back(session, id)
	close(proceed)
	if got := polled.event(); got != event(noteA) {
		t.Errorf("got %q, want the notification", got)
	}
	if got := polled.event(); !strings.Contains(got, "done") {
		t.Errorf("got %q, want the reply", got)
	}
	older := s.open(strings.Replace(initialize, "2025-11-25", mcp.V20250618.String(), 1))
	if a := s.post(callTool(1, "poll"), httpheader.SessionID, older); !strings.Contains(a.body, "internal error") {
		t.Errorf("a client of 2025-06-18: got %q, want its connection to be kept", a.body)
	}
}

func TestResumedCallEndsBeforeAGracefulShutdown(t *testing.T) {
	t.Parallel()
	notes := make(chan string)
	s := serveTest(t, newTestCore(map[string]tool{"feed": feed(notes)}), nil)
	session := s.open(initialize)
	go func() { notes <- note(1) }()
	first := s.start("POST", callTool(1, "feed"), httpheader.SessionID, session)
	id := expectNotes(t, first, 1, 1)
	done := make(chan error)
	go func() { done <- s.handler.Shutdown(context.Background()) }()
	eventually(t, "the shutdown has begun", func() bool { return s.handler.life.refuses() != nil })
	again := s.back(session, id)
	close(notes)
	if got := again.event(); !strings.Contains(got, "done") {
		t.Errorf("got %q, want the reply", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestBlockedConnectionIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		notes := make(chan string)
		h := NewHandler(newTestCore(map[string]tool{"feed": feed(notes)}), &Options{WriteTimeout: time.Second})
		session := openRecorded(t, h)
		lost := &stuck{ResponseRecorder: httptest.NewRecorder(), room: 200}
		go h.ServeHTTP(lost, request(t.Context(), t, "POST", "http://localhost/", callTool(1, "feed"), httpheader.SessionID, session))
		for n := range 5 {
			notes <- note(n + 1)
		}
		synctest.Wait()
		began := time.Now()
		close(notes)
		id := idOf(lost.Body.String())
		w := serveRecorded(h, request(t.Context(), t, "GET", "http://localhost/", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, session, httpheader.LastEventID, id))
		var want strings.Builder
		for n := range 5 {
			want.WriteString(event(note(n+1)) + "\n")
		}
		if got := plain(w.Body.String()); !strings.HasPrefix(got, want.String()) || !strings.Contains(got, "done") || time.Since(began) != 0 {
			t.Errorf("got %q after %v, want all five and the reply at once", got, time.Since(began))
		}
		h.Close()
	})
}

// hangingStore is an event store that never answers.
type hangingStore struct{}

func (hangingStore) Append(ctx context.Context, _ string, _ int64, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

func (hangingStore) After(ctx context.Context, _ string, _ int64) ([][]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hangingStore) Trim(ctx context.Context, _ string, _ int64) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestMessageIsSentAlthoughTheEventStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), &Options{Events: hangingStore{}, Logger: slog.New(slog.DiscardHandler)})
		id := openRecorded(t, h)
		if err := h.sessions.byKey[keyOf(id)].push([]byte("one")); err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithTimeout(t.Context(), 20*time.Second)
		defer hangUp()
		w := serveRecorded(h, request(ctx, t, "GET", "http://localhost/", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, id))
		if !strings.Contains(w.Body.String(), "data: one") {
			t.Errorf("got %q, want the event although it could not be stored", w.Body)
		}
		h.Close()
	})
}
