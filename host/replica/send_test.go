package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// waitingBody is a body whose client sends nothing. A read ends shortly after its deadline.
type waitingBody struct {
	*httptest.ResponseRecorder
	begun       chan struct{} // closed by the first read
	deadline    chan struct{} // closed by a deadline in the past
	reads, sets atomic.Int32
	returned    atomic.Bool
}

func (b *waitingBody) Read([]byte) (int, error) {
	if b.reads.Add(1) == 1 {
		close(b.begun)
	}
	<-b.deadline
	time.Sleep(10 * time.Millisecond)
	b.returned.Store(true)
	return 0, os.ErrDeadlineExceeded
}

func (b *waitingBody) SetReadDeadline(at time.Time) error {
	if b.sets.Add(1); at.Before(time.Now()) {
		close(b.deadline)
	}
	return nil
}

// A Transport may read the body of a request after the other host has answered. net/http ends the
// process if a request of HTTP/2 is used after its handler.
func TestBodyIsNotReadAfterItsHandler(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	w := &waitingBody{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), deadline: make(chan struct{})}
	body := newPacedBody(w, httptest.NewRequest("POST", "/", io.NopCloser(w)))
	attempt := body.attempt()
	attempt.wanted = true
	go attempt.Read(make([]byte, 1)) // ends with stop
	<-w.begun
	body.stop()
	if !w.returned.Load() {
		t.Error("the read goes on after stop")
	}
	if _, err := attempt.Read(make([]byte, 1)); !errors.Is(err, errNotWanted) || w.reads.Load() != 1 || w.sets.Load() != 2 {
		t.Errorf("after stop: got %v, %d reads and %d deadlines, want one and two", err, w.reads.Load(), w.sets.Load())
	}
}

func TestForwardedGetIsNotSentTwiceWithOneTicket(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-294")
	p := newPair(t, nil)
	var requests atomic.Int64
	p.server.Config.Handler = newTestForwarder(t, p.owner).Accept(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if requests.Add(1) == 2 {
			panic(http.ErrAbortHandler) // on a connection that was used before
		}
	}))
	for i := range 2 {
		if w := p.do(t, withSession("GET")); w.Code != http.StatusOK {
			t.Errorf("request %d: got status %d, %s, want 200", i, w.Code, w.Body)
		}
	}
	if n := requests.Load(); n != 3 {
		t.Errorf("got %d requests, want three", n)
	}
}

func withSession(method string) *http.Request {
	r := httptest.NewRequest(method, "http://h/mcp", nil)
	r.Header.Set(sessionHeader, "s")
	return r
}

// silent is a host that does not answer.
var silent = roundTripper(func(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
})

func TestHostThatDoesNotAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	for method, status := range map[string]int{"GET": http.StatusServiceUnavailable, "DELETE": http.StatusBadGateway} {
		synctest.Test(t, func(t *testing.T) {
			values := new(mcpserver.MemoryStore)
			owner, front := startHost(t, values, "owner"), newTestForwarder(t, startHost(t, values, "front"))
			front.transport = silent
			r := withSession(method)
			want(t, "owner", owner.at(t, callerOf(r)), "here")
			w, began := httptest.NewRecorder(), time.Now()
			front.Place(http.NotFoundHandler()).ServeHTTP(w, r)
			if took := time.Since(began); w.Code != status || took > headerTime+time.Second {
				t.Errorf("%s: got status %d after %v, want %d after %v", method, w.Code, took, status, headerTime)
			}
		})
	}
}

func TestPreflightRequestTakesNoPlace(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	for _, method := range []string{"OPTIONS", "HEAD", "PUT"} {
		want(t, method, callerOf(withSession(method)), "")
	}
}

func TestClientThatForwardsMostGivesAConnectionToAnother(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	values := new(mcpserver.MemoryStore)
	owner, front := startHost(t, values, "owner"), newTestForwarder(t, startHost(t, values, "front"))
	want(t, "owner", owner.at(t, callerOf(withSession("GET"))), "here")
	front.transport = silent
	front.pool = mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: 2, KeepBusy: true})
	server := mcpserver.New("s", "1", nil)
	front.opts.Admit = server.AdmitHTTP
	handler := front.Place(http.NotFoundHandler())
	statuses := make(chan int, 3)
	send := func(ctx context.Context, address string) {
		r := withSession("GET").WithContext(ctx)
		r.Host, r.RemoteAddr = "localhost", netip.MustParseAddr(address).String()+":1"
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		statuses <- w.Code
	}
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		go send(ctx, "192.0.2.1") // ends below
	}
	for front.pool.Held() < 2 {
		time.Sleep(time.Millisecond)
	}
	send(ctx, "192.0.2.1")
	if status := <-statuses; status != http.StatusServiceUnavailable {
		t.Errorf("third request: got status %d, want 503", status)
	}
	go send(ctx, "192.0.2.2") // ends below
	if status := <-statuses; status != http.StatusServiceUnavailable {
		t.Errorf("got status %d, want that a request of the first client ends with 503", status)
	}
	if held := front.pool.Held(); held != 2 {
		t.Errorf("got %d requests, want one of each client", held)
	}
	cancel()
	<-statuses
	<-statuses
}

func TestIdentityThatCannotBeForwardedIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]string{"long": `{"a":"` + strings.Repeat("x", maxTicket) + `"}`, "twice": `{"a":1,"a":2}`} {
		p := newPair(t, nil)
		r := newRequest()
		identity := &mcp.Identity{Principal: mcp.Principal{Issuer: "i", Subject: "s"}, Claims: []byte(claims)}
		w := p.do(t, r.WithContext(mcp.WithIdentity(r.Context(), identity)))
		if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), errIdentity.Error()) {
			t.Errorf("%s: got status %d, %s", name, w.Code, w.Body)
		}
	}
	if _, err := newTickets([][]byte{bytes.Repeat([]byte("k"), 32)}).seal(Ticket{Caller: strings.Repeat("x", maxTicket)}); !errors.Is(err, errIdentity) {
		t.Errorf("got %v", err)
	}
}
