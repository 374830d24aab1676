package streamhttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

// replicas returns the handlers of processes that share their keys.
func replicas(t *testing.T, n int, o Options) (all []*Handler) {
	t.Helper()
	o.Keys, o.SharedKeys = seal.Random(), true
	for range n {
		h := NewHandler(newTestCore(plainTools), new(o))
		t.Cleanup(func() { h.Close() })
		all = append(all, h)
	}
	return all
}

// sendIn sends one message of a session and returns the status and the body.
func sendIn(t *testing.T, h *Handler, method, id, body string, header ...string) (int, string) {
	t.Helper()
	r := request(t.Context(), t, method, "http://localhost/", body, append(header, httpheader.SessionID, id)...)
	w := serveRecorded(h, r)
	return w.Code, w.Body.String()
}

func TestEveryProcessWithTheKeysServesASession(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2, Options{})
	id := openRecorded(t, all[0])
	for i, h := range all {
		if status, _ := sendIn(t, h, "POST", id, initialized); status != http.StatusAccepted {
			t.Errorf("replica %d, initialized: got status %d, want 202", i, status)
		}
		status, body := sendIn(t, h, "POST", id, callTool(1, "hello"), httpheader.ProtocolVersion, "2025-11-25")
		if status != http.StatusOK || !strings.Contains(body, "hello") {
			t.Errorf("replica %d, call: got status %d, body %s, want the result", i, status, body)
		}
	}
	if n := all[1].sessions.size(); n != 1 {
		t.Errorf("got %d sessions in the other process, want one for all requests", n)
	}
}

func TestSessionOfAnotherProcessSaysWhatWorksElsewhere(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2, Options{})
	id := openRecorded(t, all[0])
	status, body := sendIn(t, all[1], "GET", id, "", httpheader.Accept, httpheader.TypeEventStream)
	if status != http.StatusMethodNotAllowed || !strings.Contains(body, "load balancer") {
		t.Errorf("GET: got status %d, body %s, want 405 and what it needs", status, body)
	}
	// Some clients end their connection when a response or a notification is refused.
	for _, late := range []string{`{"jsonrpc":"2.0","id":9,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`} {
		for i, h := range all {
			if status, body := sendIn(t, h, "POST", id, late); status != http.StatusAccepted {
				t.Errorf("%s for nothing that runs, replica %d: got status %d, body %s, want 202", late, i, status, body)
			}
		}
	}
}

func TestIDOfAnotherServerOrPrincipalOpensNoSession(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-119")
	all := replicas(t, 2, Options{})
	id := openRecorded(t, all[0])
	raw, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	for name, forged := range map[string]string{
		"changed": base64.RawURLEncoding.EncodeToString(raw), "cut": id[:len(id)-8], "extended": id + "AAAA", "long": id + strings.Repeat("A", 4000),
	} {
		for i, h := range all {
			if status, body := sendIn(t, h, "POST", forged, ping); status != http.StatusNotFound || !strings.Contains(body, "initialize") {
				t.Errorf("%s id, replica %d: got status %d, body %s, want 404", name, i, status, body)
			}
		}
	}
	for i, h := range all {
		r := request(t.Context(), t, "POST", "http://localhost/", ping, httpheader.SessionID, id)
		r = r.WithContext(mcp.WithIdentity(r.Context(), &mcp.Identity{Principal: mcp.Principal{Issuer: "https://as.example.com", Subject: "eve"}}))
		if w := serveRecorded(h, r); w.Code != http.StatusNotFound {
			t.Errorf("another principal, replica %d: got status %d, want 404", i, w.Code)
		}
	}
	other := NewHandler(newTestCore(plainTools), nil)
	defer other.Close()
	if status, body := sendIn(t, other, "POST", id, ping); status != http.StatusNotFound || !strings.Contains(body, "set Keys on all replicas") {
		t.Errorf("without the keys: got status %d, body %s, want 404 and what is missing", status, body)
	}
}

func TestDeletedIDOpensNoSession(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-119")
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), nil)
		defer h.Close()
		id := openRecorded(t, h)
		if status, _ := sendIn(t, h, "DELETE", id, ""); status != http.StatusNoContent {
			t.Fatalf("DELETE: got status %d", status)
		}
		for _, wait := range []time.Duration{0, time.Hour, 22 * time.Hour, 2 * time.Hour} {
			time.Sleep(wait)
			if status, _ := sendIn(t, h, "POST", id, ping); status != http.StatusNotFound {
				t.Errorf("got status %d, want 404 for ever", status)
			}
		}
	})
}

func TestEndedSessionsOfSharedKeysAreLoggedOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-119")
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	shared := replicas(t, 2, Options{Logger: logger})
	var ids []string
	for range 2 {
		id := openRecorded(t, shared[0])
		if status, _ := sendIn(t, shared[0], "DELETE", id, ""); status != http.StatusNoContent {
			t.Fatalf("DELETE: got status %d", status)
		}
		ids = append(ids, id)
	}
	if n := strings.Count(log.String(), "other replicas with the same Keys serve them until they expire"); n != 1 {
		t.Errorf("got %d lines, want 1: %s", n, &log)
	}
	if status, body := sendIn(t, shared[1], "POST", ids[0], ping); status != http.StatusOK {
		t.Errorf("the other replica: got status %d, body %s, want what the log says", status, body)
	}
	log.Reset()
	alone := NewHandler(newTestCore(plainTools), &Options{Logger: logger})
	defer alone.Close()
	sendIn(t, alone, "DELETE", openRecorded(t, alone), "")
	if log.Len() != 0 {
		t.Errorf("without shared keys: got %s, want no line", &log)
	}
}

func TestIDExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), &Options{SessionLife: time.Hour})
		defer h.Close()
		id := openRecorded(t, h)
		ended := make(chan time.Duration, 1)
		began := time.Now()
		go func() {
			sendIn(t, h, "GET", id, "", httpheader.Accept, httpheader.TypeEventStream)
			ended <- time.Since(began)
		}()
		time.Sleep(59 * time.Minute)
		if status, _ := sendIn(t, h, "POST", id, ping); status != http.StatusOK {
			t.Errorf("after 59 minutes: got status %d, want 200", status)
		}
		time.Sleep(2 * time.Minute)
		if status, _ := sendIn(t, h, "POST", id, ping); status != http.StatusNotFound {
			t.Errorf("after 61 minutes: got status %d, want 404", status)
		}
		if got := <-ended; got != time.Hour {
			t.Errorf("the event stream ended after %v, want an hour", got)
		}
	})
}

// A session that would lack something is opened by initialize only.
func TestIdleSessionIsOpenedFromItsIDUnlessItHadState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), nil)
		defer h.Close()
		plain, stateful := openRecorded(t, h), openRecorded(t, h)
		s, _ := h.sessions.find(keyOf(stateful), nil)
		s.HasState.Store(true)
		h.sessions.leave(s)
		time.Sleep(time.Hour)
		if n := h.sessions.size(); n != 0 {
			t.Fatalf("got %d sessions after an hour, want none", n)
		}
		if status, _ := sendIn(t, h, "POST", plain, ping); status != http.StatusOK {
			t.Errorf("without state: got status %d, want 200", status)
		}
		if status, _ := sendIn(t, h, "POST", stateful, ping); status != http.StatusNotFound {
			t.Errorf("with state: got status %d, want 404", status)
		}
	})
}

func TestLargeCapabilitiesAreServedByTheProcessThatKnowsThem(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2, Options{})
	large := strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"experimental":{"x":{"y":"`+strings.Repeat("z", 2000)+`"}}}`, 1)
	if large == initialize {
		t.Fatal("initialize has no capabilities to replace")
	}
	w := serveRecorded(all[0], request(t.Context(), t, "POST", "http://localhost/", large))
	id := w.Header().Get(httpheader.SessionID)
	if len(id) == 0 || len(id) > maxSessionID {
		t.Fatalf("got an id of %d bytes, want at most %d", len(id), maxSessionID)
	}
	if status, _ := sendIn(t, all[0], "POST", id, ping); status != http.StatusOK {
		t.Errorf("where it was opened: got status %d, want 200", status)
	}
	if status, body := sendIn(t, all[1], "POST", id, ping); status != http.StatusNotFound || !strings.Contains(body, "capabilities") {
		t.Errorf("elsewhere: got status %d, body %s, want 404 and the reason", status, body)
	}
}

func TestRequestsWithoutASessionAreServed(t *testing.T) {
	t.Parallel()
	h := NewHandler(newTestCore(plainTools), nil)
	defer h.Close()
	for _, header := range [][]string{nil, {httpheader.ProtocolVersion, "2025-06-18"}} {
		w := serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", callTool(1, "hello"), header...))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "hello") || w.Header().Get(httpheader.SessionID) != "" {
			t.Errorf("%q: got status %d, body %s, session %q, want the result", header, w.Code, w.Body, w.Header().Get(httpheader.SessionID))
		}
	}
	if opened, _, _ := h.core.(*testCore).counts(); opened != 0 {
		t.Errorf("got %d sessions, want none", opened)
	}
}

// A call whose connection breaks runs where it was sent, so its stream can be resumed there.
func TestStreamOfACallIsResumedAtTheReplicaThatRunsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		core := newTestCore(map[string]tool{"long": func(ctx context.Context, in *exchange.Inbound) (any, error) {
			if err := in.BackChannel.Send(ctx, []byte(noteA)); err != nil {
				return nil, err
			}
			<-release
			return text("done"), nil
		}})
		o := Options{Keys: seal.Random(), SharedKeys: true}
		home, other := NewHandler(newTestCore(plainTools), new(o)), NewHandler(core, new(o))
		defer home.Close()
		defer other.Close()
		id := openRecorded(t, home)
		ctx, breakOff := context.WithCancel(t.Context())
		first := make(chan string, 1)
		go func() {
			first <- serveRecorded(other, request(ctx, t, "POST", "http://localhost/", callTool(1, "long"), httpheader.SessionID, id)).Body.String()
		}()
		synctest.Wait()
		breakOff()
		_, event, _ := strings.Cut(<-first, "id: ")
		event, _, _ = strings.Cut(event, "\n")
		close(release)
		status, body := sendIn(t, other, "GET", id, "", httpheader.Accept, httpheader.TypeEventStream, httpheader.LastEventID, event)
		if status != http.StatusOK || !strings.Contains(body, "done") {
			t.Errorf("after event %q: got status %d, body %s, want the result", event, status, body)
		}
		if status, _ := sendIn(t, home, "GET", id, "", httpheader.Accept, httpheader.TypeEventStream, httpheader.LastEventID, event); status == http.StatusOK {
			t.Error("another replica resumed the stream of a call that it does not run")
		}
	})
}

// An answer to a question of the session before must not answer another one.
func TestReopenedSessionAsksWithOtherIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), nil)
		defer h.Close()
		id := openRecorded(t, h)
		before := nextQuestion(t, h, id)
		time.Sleep(time.Hour) // the session is idle
		if after := nextQuestion(t, h, id); after == before {
			t.Errorf("got the id %s twice", after)
		}
	})
}

// nextQuestion returns the id of the next question in a session.
func nextQuestion(t *testing.T, h *Handler, id string) string {
	t.Helper()
	if status, _ := sendIn(t, h, "POST", id, ping); status != http.StatusOK {
		t.Fatalf("ping: got status %d", status)
	}
	s, _ := h.sessions.find(keyOf(id), nil)
	defer h.sessions.leave(s)
	w, err := s.Pending.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.ID.Key()
}

// The client is told that what it wants to resume is lost: it opens another session.
func TestLostStreamEndsAReopenedSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), nil)
		defer h.Close()
		id := openRecorded(t, h)
		time.Sleep(time.Hour)
		for range 2 {
			if status, _ := sendIn(t, h, "GET", id, "", httpheader.Accept, httpheader.TypeEventStream, httpheader.LastEventID, "LOST-3"); status != http.StatusNotFound {
				t.Errorf("got status %d, want 404", status)
			}
		}
		if status, _ := sendIn(t, h, "POST", id, ping); status != http.StatusNotFound {
			t.Errorf("a request afterwards: got status %d, want 404", status)
		}
	})
}

func TestSessionThatWasEvictedBeforeItIsDeletedStaysDeleted(t *testing.T) {
	t.Parallel()
	h := NewHandler(newTestCore(plainTools), nil)
	defer h.Close()
	id := openRecorded(t, h)
	s, _ := h.sessions.find(keyOf(id), nil)
	h.sessions.end(s, errEvicted)
	if status, _ := sendIn(t, h, "POST", id, ping); status != http.StatusOK {
		t.Fatalf("after an eviction: got status %d, want the session opened again", status)
	}
	h.sessions.end(s, errSessionDeleted)
	h.sessions.leave(s)
	if status, _ := sendIn(t, h, "POST", id, ping); status != http.StatusNotFound {
		t.Errorf("after the deletion: got status %d, want 404", status)
	}
	if n := h.sessions.size(); n != 0 {
		t.Errorf("got %d sessions, want none", n)
	}
}

func TestEndedSessionsAreBounded(t *testing.T) {
	t.Parallel()
	ended := newSessionKeys(maxEndedSessions)
	owner := new(Options).ownerOf(request(t.Context(), t, "POST", "http://localhost/", ""), nil, 0)
	expires := time.Now().Add(time.Hour)
	for i := range maxEndedSessions + 1000 {
		ended.add(sessionKey{byte(i), byte(i >> 8), byte(i >> 16)}, owner, expires, 1)
	}
	if !ended.mayLack(expires) || ended.mayLack(expires.Add(time.Second)) {
		t.Error("want ids that expire as late as one that was dropped to be refused, and no others")
	}
	if n := len(ended.byKey); n > maxEndedSessions || n != ended.order.Len() || n != ended.pool.Held() {
		t.Errorf("got %d entries, %d in order, %d counted, want at most %d", n, ended.order.Len(), ended.pool.Held(), maxEndedSessions)
	}
}
