package streamhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func TestSessionLivesFromInitializeToDelete(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-097", "R-102a", "R-103a", "R-116a", "R-116b", "R-116c", "R-119")
	s := serveTest(t, newTestCore(plainTools), nil)
	a := s.post(initialize)
	id := a.header.Get(httpheader.SessionID)
	if a.status != 200 || a.header.Get(httpheader.ContentType) != httpheader.TypeJSON || !strings.Contains(a.body, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("initialize: got status %d, body %s", a.status, a.body)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(id) || len(id) > maxSessionID {
		t.Errorf("got id %q, want at most 1 KiB of visible ASCII", id)
	}
	if a := s.post(initialized, httpheader.SessionID, id); a.status != 202 || a.body != "" {
		t.Errorf("notification: got status %d, body %q, want 202 and none", a.status, a.body)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":9,"result":{}}`, httpheader.SessionID, id); a.status != 202 || a.body != "" {
		t.Errorf("response: got status %d, body %q, want 202 and none", a.status, a.body)
	}
	if a := s.post(callTool(1, "hello"), httpheader.SessionID, id, httpheader.ProtocolVersion, "2025-11-25"); a.status != 200 || a.header.Get(httpheader.ContentType) != httpheader.TypeJSON || !strings.Contains(a.body, "hello") {
		t.Errorf("call: got status %d, body %s, want 200 and JSON", a.status, a.body)
	}
	if a := s.post(callTool(2, "fail"), httpheader.SessionID, id); a.status != 200 || !strings.Contains(a.body, "-32602") {
		t.Errorf("failing call: got status %d, body %s, want 200 and -32602", a.status, a.body)
	}
	if a := s.do("DELETE", "", httpheader.SessionID, id); a.status != 204 {
		t.Errorf("DELETE: got status %d, want 204", a.status)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if a := s.do(method, ping, httpheader.SessionID, id); a.status != 404 {
			t.Errorf("%s after DELETE: got status %d, want 404", method, a.status)
		}
	}
	eventually(t, "the core was told of one session and its end", s.core.sawOneEnd)
}

// R-124, for every message of a session.
func TestVersionHeaderThatIsNotServedIs400(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-124")
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.open(initialize)
	for _, bad := range [][]string{{"1999-01-01"}, {"2026-07"}, {"2025-11-25", "2025-06-18"}} {
		headers := []string{httpheader.SessionID, id}
		for _, v := range bad {
			headers = append(headers, httpheader.ProtocolVersion, v)
		}
		for _, m := range []struct{ method, body string }{
			{"POST", ping}, {"POST", initialized}, {"POST", `{"jsonrpc":"2.0","id":9,"result":{}}`}, {"GET", ""}, {"DELETE", ""},
		} {
			if a := s.do(m.method, m.body, headers...); a.status != 400 {
				t.Errorf("%s %s with version %q: got status %d, want 400", m.method, m.body, bad, a.status)
			}
		}
	}
	if a := s.post(ping, httpheader.SessionID, id, httpheader.ProtocolVersion, "2025-06-18"); a.status != 200 {
		t.Errorf("another version that is served: got status %d, want 200", a.status)
	}
}

// S-041.
func TestServerMakesTheIDsOfSessions(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-116b", "R-119")
	s := serveTest(t, newTestCore(plainTools), nil)
	first := s.open(initialize)
	for _, chosen := range []string{"chosen", first} {
		if id := s.post(initialize, httpheader.SessionID, chosen).header.Get(httpheader.SessionID); id == "" || id == chosen || id == first {
			t.Errorf("initialize with %q: got session %q, want a new one", chosen, id)
		}
	}
	if a := s.post(ping, httpheader.SessionID, "chosen"); a.status != 404 {
		t.Errorf("the chosen id: got status %d, want 404", a.status)
	}
	if a := s.post(ping, httpheader.SessionID, first); a.status != 200 {
		t.Errorf("the first session: got status %d, want 200", a.status)
	}
}

// A14.
func TestRefusedInitializeKeepsNothing(t *testing.T) {
	t.Parallel()
	core := newTestCore(nil)
	core.refuses = true
	h := NewHandler(core, nil)
	defer h.Close()
	bad := strings.Replace(initialize, `"protocolVersion":"2025-11-25"`, `"protocolVersion":""`, 1)
	for _, body := range []string{initialize, bad} {
		for range 500 {
			w := serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", body))
			if w.Header().Get(httpheader.SessionID) != "" || !strings.Contains(w.Body.String(), `"error"`) {
				t.Fatalf("got session %q, body %s, want an error alone", w.Header().Get(httpheader.SessionID), w.Body)
			}
		}
	}
	opened, closed, _ := core.counts()
	if n := h.sessions.size(); n != 0 || h.sessions.quota.pool.Held() != 0 || h.sessions.idle.Len() != 0 || opened != 1000 || closed != 1000 {
		t.Errorf("got %d sessions kept, %d counted, %d idle, %d opened, %d closed, want 0, 0, 0, 1000, 1000", n, h.sessions.quota.pool.Held(), h.sessions.idle.Len(), opened, closed)
	}
}

// A15.
func TestSessionOfAnotherPrincipalIsNotFound(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-125a", "R-125c")
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.post(initialize, httpheader.Authorization, "A").header.Get(httpheader.SessionID)
	stream := s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, id, httpheader.Authorization, "A")
	for _, method := range []string{"POST", "GET", "DELETE"} {
		for _, body := range []string{ping, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
			foreign := s.do(method, body, httpheader.SessionID, id, httpheader.Authorization, "B", httpheader.LastEventID, "1")
			unknown := s.do(method, body, httpheader.SessionID, "unknown", httpheader.Authorization, "B")
			if foreign.status != 404 || foreign.body != unknown.body {
				t.Errorf("%s: got status %d, body %s, want 404 and %s", method, foreign.status, foreign.body, unknown.body)
			}
		}
	}
	if err := s.core.session().Push(t.Context(), []byte(noteA)); err != nil {
		t.Fatal(err)
	}
	if got := stream.event(); got != event(noteA) {
		t.Errorf("the owner's stream: got %q, want %q", got, event(noteA))
	}
	if a := s.post(ping, httpheader.SessionID, id, httpheader.Authorization, "A"); a.status != 200 {
		t.Errorf("the owner: got status %d, want 200", a.status)
	}
}

// S-043, S-045.
func TestShareOfAPrincipalIsBounded(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(plainTools), &Options{PrincipalSessions: 2, PrincipalStreams: 2})
	initializeAs := func(who string) answer { return s.post(initialize, httpheader.Authorization, who) }
	first := initializeAs("A").header.Get(httpheader.SessionID)
	get := []string{httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, first, httpheader.Authorization, "A"}
	stream := s.start("GET", "", get...)
	initializeAs("A")
	third := initializeAs("A").header.Get(httpheader.SessionID)
	if _, closed, _ := s.core.counts(); third == "" || closed != 1 {
		t.Errorf("the third session: got id %q, and %d closed, want it to have the place of the idle one", third, closed)
	}
	busy := s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, third, httpheader.Authorization, "A")
	if a := initializeAs("A"); a.status != 429 || a.header.Get(httpheader.RetryAfter) == "" || a.header.Get(httpheader.SessionID) != "" {
		t.Errorf("a session while all are in use: got status %d, session %q, want 429 and none", a.status, a.header.Get(httpheader.SessionID))
	}
	if a := initializeAs("B"); a.status != 200 {
		t.Errorf("another principal: got status %d, want 200", a.status)
	}
	for range 5 {
		if a := initializeAs(""); a.status != 200 {
			t.Errorf("anonymous: got status %d, want 200", a.status)
		}
	}
	if a := s.do("GET", "", get...); a.status != 429 || a.header.Get(httpheader.RetryAfter) == "" {
		t.Errorf("one more stream: got status %d, want 429", a.status)
	}
	stream.close()
	eventually(t, "the stream is free again", func() bool {
		again := s.start("GET", "", get...)
		defer again.close()
		return again.resp.StatusCode == 200
	})
	s.do("DELETE", "", httpheader.SessionID, first, httpheader.Authorization, "A")
	if a := initializeAs("A"); a.status != 200 {
		t.Errorf("after DELETE: got status %d, want 200", a.status)
	}
	eventually(t, "the core was told of the end of the idle, the refused and the deleted", func() bool {
		_, closed, _ := s.core.counts()
		return closed == 3
	})
	busy.close()
}

func TestSessionCallBecomesAStreamWithTheFirstMessage(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-103a", "R-107a", "R-108a")
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.open(initialize)
	a := s.post(callTool(1, "talk"), httpheader.SessionID, id)
	reply, ok := strings.CutPrefix(plain(a.body), event(noteA)+"\n"+event(noteB)+"\nevent: message\ndata: ")
	if a.status != 200 || a.header.Get(httpheader.ContentType) != httpheader.TypeEventStream || !ok || !strings.Contains(reply, "said") {
		t.Errorf("got status %d, body %q, want two notifications and the reply", a.status, a.body)
	}
	json := serveTest(t, newTestCore(plainTools), &Options{Answer: AnswerJSON})
	a = json.post(callTool(1, "talk"), httpheader.SessionID, json.open(initialize))
	if a.header.Get(httpheader.ContentType) != httpheader.TypeJSON || !strings.Contains(a.body, "said") {
		t.Errorf("JSON: got type %q, body %s", a.header.Get(httpheader.ContentType), a.body)
	}
	stream := serveTest(t, newTestCore(plainTools), &Options{Answer: AnswerStream})
	a = stream.post(initialize)
	if a.header.Get(httpheader.ContentType) != httpheader.TypeEventStream || a.header.Get(httpheader.SessionID) == "" {
		t.Errorf("stream: initialize: got type %q, session %q", a.header.Get(httpheader.ContentType), a.header.Get(httpheader.SessionID))
	}
	a = stream.post(callTool(1, "hello"), httpheader.SessionID, a.header.Get(httpheader.SessionID))
	if a.header.Get(httpheader.ContentType) != httpheader.TypeEventStream || !strings.Contains(a.body, "hello") {
		t.Errorf("stream: got type %q, body %s", a.header.Get(httpheader.ContentType), a.body)
	}
}

func TestSlowSessionCallBecomesAStream(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-107b")
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(map[string]tool{"slow": func(context.Context, *exchange.Inbound) (any, error) {
			time.Sleep(21 * time.Second)
			return text("done"), nil
		}}), nil)
		id := openRecorded(t, h)
		w := serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", callTool(1, "slow"), httpheader.SessionID, id))
		if got := plain(w.Body.String()); w.Header().Get(httpheader.ContentType) != httpheader.TypeEventStream || !strings.HasPrefix(got, ": \n\nevent: message\n") || !strings.Contains(got, "done") {
			t.Errorf("got type %q, body %q, want a comment and the reply", w.Header().Get(httpheader.ContentType), got)
		}
		h.Close()
	})
}

//
func TestDisconnectDoesNotCancelASessionCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-109a", "D-16", "B-07")
	entered, proceed, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s := serveTest(t, newTestCore(map[string]tool{"x": func(ctx context.Context, in *exchange.Inbound) (any, error) {
		close(entered)
		<-proceed
		err := in.BackChannel.Send(ctx, []byte(noteA))
		ended <- errors.Join(ctx.Err(), err)
		return text("done"), nil
	}}), nil)
	id := s.open(initialize)
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		<-entered
		hangUp()
	}()
	if _, err := s.Client().Do(request(ctx, t, "POST", s.URL, callTool(1, "x"), httpheader.SessionID, id)); err == nil {
		t.Fatal("got an answer, want none")
	}
	eventually(t, "the connection has let go", func() bool { return s.handler.atWork() == 1 })
	if a := s.post(callTool(1, "hello"), httpheader.SessionID, id); a.status != 400 || !strings.Contains(a.body, "is running") {
		t.Errorf("the same id: got status %d, body %s, want -32600", a.status, a.body)
	}
	close(proceed)
	if err := <-ended; err != nil {
		t.Errorf("the call: %v, want it to go on", err)
	}
	eventually(t, "the call has ended", func() bool { return s.handler.atWork() == 0 })
	if a := s.post(callTool(1, "hello"), httpheader.SessionID, id); a.status != 200 {
		t.Errorf("the id after the call: got status %d, want 200", a.status)
	}
}

// atWork returns how many requests, streams and calls a handler has.
func (h *Handler) atWork() int { return h.life.running.Running() }

// Decision 8.
func TestCancelledSessionCallEndsWithoutAReply(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-278", "R-281a")
	for _, tt := range []struct {
		o      *Options
		status int
		kind   string
	}{
		{nil, 200, httpheader.TypeEventStream},
		{&Options{Answer: AnswerStream}, 200, httpheader.TypeEventStream},
		{&Options{Answer: AnswerJSON}, 202, ""},
	} {
		s := serveTest(t, newTestCore(plainTools), tt.o)
		id := s.post(initialize).header.Get(httpheader.SessionID)
		got := make(chan answer)
		go func() { got <- s.post(callTool(5, "wait"), httpheader.SessionID, id) }()
		session := s.core.session()
		eventually(t, "the call runs", func() bool { return session.Running.Len() == 1 })
		s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, httpheader.SessionID, id)
		if a := <-got; a.status != tt.status || a.header.Get(httpheader.ContentType) != tt.kind || a.body != "" {
			t.Errorf("%+v: got status %d, type %q, body %q, want %d, %q and none", tt.o, a.status, a.header.Get(httpheader.ContentType), a.body, tt.status, tt.kind)
		}
	}
}

func TestDeleteCancelsTheCallsOfTheSession(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(plainTools), nil)
	id, other := s.open(initialize), s.open(initialize)
	got := make(chan answer)
	go func() { got <- s.post(callTool(2, "wait"), httpheader.SessionID, id) }()
	stream := s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, id)
	eventually(t, "call and stream are at work", func() bool { return s.handler.atWork() == 3 })
	if a := s.do("DELETE", "", httpheader.SessionID, id); a.status != 204 {
		t.Fatalf("DELETE: got status %d, want 204", a.status)
	}
	if a := <-got; !strings.Contains(a.body, `"error"`) {
		t.Errorf("the call: got body %q, want an error", a.body)
	}
	if got := stream.event(); got != "" {
		t.Errorf("the stream: got %q, want its end", got)
	}
	eventually(t, "the core knows", func() bool {
		_, closed, _ := s.core.counts()
		return closed == 1
	})
	if a := s.post(ping, httpheader.SessionID, other); a.status != 200 {
		t.Errorf("the other session: got status %d, want 200", a.status)
	}
}

// Decision 26: what a call asks of its client goes out on the call's own stream.
func TestQuestionIsSentOnTheStreamOfItsCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-108a", "R-108b", "R-111a", "R-111b", "D-07")
	question := func(id jsonrpc.ID) []byte {
		return jsonrpc.AppendRequest(nil, id, "roots/list", nil)
	}
	s := serveTest(t, newTestCore(map[string]tool{"ask": func(ctx context.Context, in *exchange.Inbound) (any, error) {
		m, err := in.SendRequest(ctx, question, question)
		if err != nil {
			return nil, err
		}
		return text(string(m.Result)), nil
	}}), nil)
	id := s.open(initialize)
	idle := s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, id)
	call := s.start("POST", callTool(1, "ask"), httpheader.SessionID, id)
	if got, want := call.event(), event(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	s.post(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`, httpheader.SessionID, id)
	if got := call.event(); !strings.Contains(got, `roots`) || !strings.Contains(got, `"id":1,"result"`) {
		t.Errorf("got %q, want the reply", got)
	}
	s.do("DELETE", "", httpheader.SessionID, id)
	if got := idle.event(); got != "" {
		t.Errorf("the GET stream: got %q, want nothing", got)
	}
}

func TestPushedMessageGoesToOneStreamTheNewest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-112a")
	core := newTestCore(plainTools)
	core.opaque = true
	s := serveTest(t, core, nil)
	id := s.open(initialize)
	push := func(n int) {
		t.Helper()
		if err := s.core.session().Push(t.Context(), fmt.Appendf(nil, "%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	get := func() *openAnswer {
		return s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, id)
	}
	expect := func(a *openAnswer, want ...int) {
		t.Helper()
		for _, n := range want {
			if got := a.event(); got != event(fmt.Sprint(n)) {
				t.Errorf("got %q, want %d", got, n)
			}
		}
	}
	for n := range maxUndelivered + 3 { // nobody is attached: the oldest three are lost
		push(n)
	}
	first := get()
	for n := range maxUndelivered {
		expect(first, n+3)
	}
	push(100)
	expect(first, 100)
	second := get()
	push(101)
	expect(second, 101)
	second.close()
	eventually(t, "the second stream is detached", func() bool { return s.handler.atWork() == 1 })
	push(102)
	expect(first, 102)

	for range maxGetStreams { // one too many: the first ends
		get()
	}
	if got := first.event(); got != "" {
		t.Errorf("the oldest stream: got %q, want its end", got)
	}
	s.do("DELETE", "", httpheader.SessionID, id)
	if err := s.core.session().Push(t.Context(), []byte(noteA)); !errors.Is(err, errSessionEnded) {
		t.Errorf("push after the end: got %v, want %v", err, errSessionEnded)
	}
}

func TestGETNeedsEventStreamAndSession(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-097", "R-110c", "R-119")
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.open(initialize)
	for _, tt := range []struct {
		header []string
		status int
	}{
		{[]string{httpheader.SessionID, id, httpheader.Accept, "application/json"}, 406},
		{[]string{httpheader.Accept, httpheader.TypeEventStream}, 400},
		{[]string{httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, "x"}, 404},
	} {
		if a := s.do("GET", "", tt.header...); a.status != tt.status {
			t.Errorf("%q: got status %d, want %d", tt.header, a.status, tt.status)
		}
	}
	stream := s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, id)
	if got := stream.resp.Header.Get(httpheader.ContentType); stream.resp.StatusCode != 200 || got != httpheader.TypeEventStream {
		t.Errorf("got status %d, type %q, want 200 and an event stream", stream.resp.StatusCode, got)
	}
}

func TestMessagesOfALostStreamAreSentOnAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), nil)
		id := openRecorded(t, h)
		session := h.sessions.byKey[keyOf(id)]
		lost := &stuck{ResponseRecorder: httptest.NewRecorder(), room: len("id: 0123456789ABCDEF-0\ndata: \n\n")}
		get := func(ctx context.Context) *http.Request {
			return request(ctx, t, "GET", "http://localhost/", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, id)
		}
		go h.ServeHTTP(lost, get(t.Context()))
		synctest.Wait()
		for _, msg := range []string{"in the pipe", "held 1", "held 2"} {
			if err := session.push([]byte(msg)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		time.Sleep(11 * time.Second) // the stuck stream is given up
		ctx, hangUp := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, hangUp)
		if got, want := plain(serveRecorded(h, get(ctx)).Body.String()), event("held 1")+"\n"+event("held 2")+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		h.Close()
	})
}

// S-046.
func TestSlowReaderOfAStreamIsBoundedAndAffectsNoOtherStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), &Options{KeepAlive: time.Hour})
		id := openRecorded(t, h)
		session := h.sessions.byKey[keyOf(id)]
		ended := make(chan time.Time, 1)
		began := time.Now()
		go func() {
			h.ServeHTTP(&stuck{ResponseRecorder: httptest.NewRecorder(), room: 1000},
				request(t.Context(), t, "GET", "http://localhost/", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, id))
			ended <- time.Now()
		}()
		synctest.Wait()
		maxCount := 0
		for range 100_000 {
			if err := session.push([]byte(noteA)); err != nil {
				t.Fatal(err)
			}
			maxCount = max(maxCount, session.held())
		}
		if time.Since(began) != 0 {
			t.Errorf("pushing took %v, want no waiting", time.Since(began))
		}
		if maxCount > maxStreamQueue+maxUndelivered {
			t.Errorf("got %d messages held, want at most %d", maxCount, maxStreamQueue+maxUndelivered)
		}
		if after := (<-ended).Sub(began); after != 10*time.Second {
			t.Errorf("the stream ended after %v, want the write timeout", after)
		}
		if w := serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", callTool(1, "hello"), httpheader.SessionID, id)); w.Code != 200 {
			t.Errorf("a call beside: got status %d, want 200", w.Code)
		}
		h.Close()
	})
}

// held returns how many pushed messages the session holds.
func (s *session) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := len(s.undelivered.msgs)
	for _, st := range s.getStreams {
		st.mu.Lock()
		held += len(st.queue.msgs)
		st.mu.Unlock()
	}
	return held
}

// byToken takes the Authorization header for the subject.
func byToken(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := r.Header.Get(httpheader.Authorization); who != "" {
			r = r.WithContext(mcp.WithIdentity(r.Context(), identityOf(who)))
		}
		h.ServeHTTP(w, r)
	})
}

// identityOf is that of the principal of a token: a subject and, behind slashes,
// its issuer and its client. A token that ends with "!" is valid for a minute.
func identityOf(token string) *mcp.Identity {
	i := new(mcp.Identity)
	if name, ends := strings.CutSuffix(token, "!"); ends {
		token, i.Expires = name, time.Now().Add(time.Minute)
	}
	parts := append(strings.Split(token, "/"), "", "")
	i.Principal = mcp.Principal{Subject: parts[0], Issuer: cmp.Or(parts[1], "test"), Client: parts[2]}
	return i
}

// openRecorded opens a session without a network.
func openRecorded(t *testing.T, h *Handler) string {
	t.Helper()
	w := serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", initialize))
	id := w.Header().Get(httpheader.SessionID)
	if id == "" {
		t.Fatalf("initialize: got status %d, body %s", w.Code, w.Body)
	}
	return id
}

func TestContextOfASessionDoesNotEndWithARequest(t *testing.T) {
	t.Parallel()
	type key struct{}
	s := newSession(mcp.PrincipalAnonymous, limit.Owner{}, nil)
	request, leave := context.WithCancelCause(context.WithValue(context.Background(), key{}, 1))
	leave(errShutdown)
	ctx := s.context(request)
	if err, cause := ctx.Err(), context.Cause(ctx); err != nil || cause != nil || ctx.Value(key{}) != 1 {
		t.Errorf("got %v, %v and the value %v, want a live context with the value of the request", err, cause, ctx.Value(key{}))
	}
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ctx.Cancel(errSessionDeleted)
	if err := context.Cause(child); err != errSessionDeleted {
		t.Errorf("got %v, want %v", err, errSessionDeleted)
	}
}

func TestClientThatAcceptsJSONAloneGetsJSON(t *testing.T) {
	t.Parallel()
	for _, form := range []Answer{AnswerAuto, AnswerJSON} {
		s := serveTest(t, newTestCore(plainTools), &Options{Answer: form})
		id := s.open(initialize)
		a := s.post(callTool(1, "talk"), httpheader.SessionID, id, httpheader.Accept, "", httpheader.Accept, httpheader.TypeJSON)
		if a.status != http.StatusOK || a.header.Get(httpheader.ContentType) != httpheader.TypeJSON || !strings.Contains(a.body, "said") || strings.Contains(a.body, "notifications") {
			t.Errorf("form %v: got status %d, %s, want the answer alone, in JSON", form, a.status, a.body)
		}
		if a := s.do(http.MethodGet, "", httpheader.SessionID, id, httpheader.Accept, "", httpheader.Accept, httpheader.TypeJSON); a.status != http.StatusNotAcceptable {
			t.Errorf("form %v: GET: got status %d, want 406", form, a.status)
		}
		if a := s.post(callTool(2, "talk"), httpheader.SessionID, id, httpheader.Accept, "", httpheader.Accept, "text/html"); a.status != http.StatusNotAcceptable {
			t.Errorf("form %v: Accept of another type: got status %d, want 406", form, a.status)
		}
	}
	stream := serveTest(t, newTestCore(plainTools), &Options{Answer: AnswerStream})
	if a := stream.post(initialize, httpheader.Accept, "", httpheader.Accept, httpheader.TypeJSON); a.status != http.StatusNotAcceptable {
		t.Errorf("answers are event streams: got status %d, want 406", a.status)
	}
}
