package replica

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// newTestForwarder returns the forwarder of a host that reaches others by HTTP.
func newTestForwarder(t *testing.T, h *testHost) *Forwarder {
	t.Helper()
	f := NewForwarder(h.Places, &Options{
		Keys:          [][]byte{bytes.Repeat([]byte("k"), 32)},
		Admit:         func(http.ResponseWriter, *http.Request) (mcpserver.Owner, bool) { return mcpserver.Owner{}, true },
		WithProcesses: func(ctx context.Context, _ Processes) context.Context { return ctx },
	})
	t.Cleanup(f.transport.(*http.Transport).CloseIdleConnections)
	return f
}

func sealedTicket(t *testing.T, f *Forwarder, one Ticket) string {
	t.Helper()
	text, err := f.tickets.seal(one)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newRequest() *http.Request {
	r := httptest.NewRequest("POST", "http://h/mcp", strings.NewReader("{}"))
	r.Header.Set(versionHeader, "2025-11-25")
	return r
}

func TestForgedTicketsAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-294")
	h := startHost(t, new(mcpserver.MemoryStore), "here")
	f, stranger := newTestForwarder(t, h), newTestForwarder(t, h)
	stranger.tickets.keys = [][]byte{bytes.Repeat([]byte("o"), 32)}
	served := false
	handler := f.Accept(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
	ticket := Ticket{To: h.group.ID(), Caller: "c", Request: requestOf(newRequest()), Address: "192.0.2.1:1"}
	valid := func() string { return sealedTicket(t, f, ticket) }
	elsewhere := ticket
	elsewhere.To = "x"
	changed := []byte(valid())
	changed[len(changed)/2] ^= 1
	for name, test := range map[string]struct {
		text   string
		change func(*http.Request)
		status int
	}{
		"good":             {valid(), nil, 200},
		"empty":            {"", nil, 403},
		"changed":          {string(changed), nil, 403},
		"short":            {valid()[:20], nil, 403},
		"another key":      {sealedTicket(t, stranger, ticket), nil, 403},
		"another host":     {sealedTicket(t, f, elsewhere), nil, 503},
		"another method":   {valid(), func(r *http.Request) { r.Method = "DELETE" }, 400},
		"another path":     {valid(), func(r *http.Request) { r.URL.Path = "/sse" }, 400},
		"another session":  {valid(), func(r *http.Request) { r.Header.Set(sessionHeader, "s") }, 400},
		"another revision": {valid(), func(r *http.Request) { r.Header.Set(versionHeader, "2026-07-28") }, 400},
		"a second one":     {valid(), func(r *http.Request) { r.Header.Add(ticketHeader, valid()) }, 403},
		"much":             {strings.Repeat("x", 1<<20), nil, 403},
	} {
		r := newRequest()
		r.Header.Set(ticketHeader, test.text)
		if test.change != nil {
			test.change(r)
		}
		w := httptest.NewRecorder()
		served = false
		if handler.ServeHTTP(w, r); w.Code != test.status || served != (test.status == 200) {
			t.Errorf("%s: got status %d, served %v, want %d", name, w.Code, served, test.status)
		}
	}
}

func TestTicketIsUsedOnceAndExpires(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-294")
	s := newTickets([][]byte{bytes.Repeat([]byte("k"), 32)})
	text, err := s.seal(Ticket{Request: requestOf(newRequest())})
	if err != nil {
		t.Fatal(err)
	}
	r := newRequest()
	r.Header.Set(ticketHeader, text)
	_, first := s.open(r)
	if _, second := s.open(r); first != nil || second == nil {
		t.Errorf("got %v and %v, want that it is accepted once", first, second)
	}
	for name, expires := range map[string]time.Duration{"expired": -maxClockSkew - time.Second, "too far ahead": time.Hour} {
		late := Ticket{From: "a", Number: 1, Expires: time.Now().Add(expires), Request: requestOf(r)}
		raw, err := json.Marshal(late)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(ticketHeader, s.encrypt(raw))
		if _, err := s.open(r); err == nil {
			t.Errorf("%s: got that it is accepted", name)
		}
	}
}

// pair is a host and the one that has its callers, over HTTP.
type pair struct {
	front  *Forwarder
	server *httptest.Server // of the owner
	owner  *testHost
}

// newPair returns two hosts. The first one finds all callers at the other one, which serves them.
func newPair(t *testing.T, serve http.HandlerFunc) *pair {
	t.Helper()
	values := new(mcpserver.MemoryStore)
	var handler atomic.Pointer[http.Handler]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	p := &pair{server: server, owner: startHost(t, values, strings.TrimPrefix(server.URL, "http://"))}
	back := newTestForwarder(t, p.owner)
	accepted := back.Accept(back.Place(serve))
	handler.Store(&accepted)
	p.front = newTestForwarder(t, startHost(t, values, "front"))
	return p
}

// do sends a request to the first host, after the other one has taken its caller.
func (p *pair) do(t *testing.T, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	want(t, "owner", p.owner.at(t, callerOf(r)), "here")
	w := httptest.NewRecorder()
	p.front.Place(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served by the wrong host") })).ServeHTTP(w, r)
	return w
}

func TestForwardedRequestHasTheVerifiedIdentityAndNoCredentials(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-192")
	var got *Ticket
	var header http.Header
	var remote, body string
	p := newPair(t, nil)
	back := newTestForwarder(t, p.owner)
	handler := back.Accept(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, header, remote = TicketFrom(r.Context()), r.Header, r.RemoteAddr
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
	}))
	p.server.Config.Handler = handler
	p.front.opts.TokenName = func(context.Context) string { return "token" }
	r := newRequest()
	r.Header.Set("Authorization", "Bearer secret")
	r.Header.Set("DPoP", "proof")
	r.Header.Set("Idempotency-Key", "k")
	r.RemoteAddr = "192.0.2.7:7"
	identity := &mcp.Identity{Principal: mcp.Principal{Issuer: "i", Subject: "s", Client: "c"}, Scopes: []string{"read"}, Expires: time.Now().Add(time.Hour).UTC().Round(0)}
	r = r.WithContext(mcp.WithIdentity(r.Context(), identity))
	if w := p.do(t, r); w.Code != http.StatusOK || got == nil || got.Identity == nil {
		t.Fatalf("got status %d, ticket %+v", w.Code, got)
	}
	if i := got.Identity.MCP(); i.Principal != identity.Principal || len(i.Scopes) != 1 || !i.Expires.Equal(identity.Expires) || got.Identity.Token != "token" {
		t.Errorf("got identity %+v, want %+v", got.Identity, identity)
	}
	if header.Get("Authorization")+header.Get("DPoP")+header.Get("Idempotency-Key")+header.Get(ticketHeader) != "" || remote != "192.0.2.7:7" || body != "{}" {
		t.Errorf("got header %v, address %s, body %s", header, remote, body)
	}
}

func TestHeaderThatAClientNamesInConnectionIsForwarded(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	p := newPair(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if got := r.Header.Get(sessionHeader); got != "s" {
			t.Errorf("got session %q, want s", got)
		}
	})
	r := newRequest()
	r.Header.Set(sessionHeader, "s")
	r.Header.Set("Connection", sessionHeader)
	if w := p.do(t, r); w.Code != http.StatusOK || requests.Load() != 1 {
		t.Errorf("got status %d after %d requests, want one that is served", w.Code, requests.Load())
	}
}

func TestForwardedRequestIsNotForwardedAgain(t *testing.T) {
	t.Parallel()
	p := newPair(t, func(http.ResponseWriter, *http.Request) { t.Error("a third host was asked") })
	r := newRequest()
	want(t, "owner", p.owner.at(t, callerOf(r)), "here")
	for caller, status := range map[string]int{callerOf(r): http.StatusServiceUnavailable, "another": http.StatusBadRequest} {
		r := newRequest()
		r.Header.Set(ticketHeader, sealedTicket(t, p.front, Ticket{To: p.front.places.group.ID(), Caller: caller, Request: requestOf(r)}))
		w := httptest.NewRecorder()
		p.front.Accept(p.front.Place(http.NotFoundHandler())).ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("caller %s: got status %d, want %d", caller, w.Code, status)
		}
	}
}

func TestStatelessClientDoesNotChooseItsPlace(t *testing.T) {
	t.Parallel()
	plain, withSession := newRequest(), newRequest()
	for _, r := range []*http.Request{plain, withSession} {
		r.Header.Set(versionHeader, mcp.V20260728.String())
	}
	withSession.Header.Set(sessionHeader, "s")
	if callerOf(plain) != callerOf(withSession) {
		t.Error("the session header of a request of the stateless era has an effect")
	}
	withSession.Header.Set(versionHeader, "2025-11-25")
	if callerOf(plain) == callerOf(withSession) {
		t.Error("the session header of a session has no effect")
	}
}

func TestRefusedRequestTakesNoPlace(t *testing.T) {
	t.Parallel()
	h := startHost(t, new(mcpserver.MemoryStore), "here")
	f := newTestForwarder(t, h)
	f.opts.Admit = func(w http.ResponseWriter, _ *http.Request) (mcpserver.Owner, bool) {
		w.WriteHeader(http.StatusForbidden)
		return mcpserver.Owner{}, false
	}
	w := httptest.NewRecorder()
	f.Place(http.NotFoundHandler()).ServeHTTP(w, newRequest())
	if w.Code != http.StatusForbidden || h.pool.Held() != 0 {
		t.Errorf("got status %d, %d places, want 403 and none", w.Code, h.pool.Held())
	}
}

func TestPanicGivesThePlaceBack(t *testing.T) {
	t.Parallel()
	h := startHost(t, new(mcpserver.MemoryStore), "here")
	f := newTestForwarder(t, h)
	func() {
		defer func() { _ = recover() }()
		f.Place(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })).ServeHTTP(httptest.NewRecorder(), newRequest())
	}()
	for h.pool.Held() != 0 {
		time.Sleep(time.Millisecond)
	}
}

// A body goes to another host once: the first one has asked for it and ended the connection.
func TestRequestWhoseBodyWasSentIsNotSentAgain(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	p := newPair(t, func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.ReadAll(r.Body)
		panic(http.ErrAbortHandler)
	})
	if w := p.do(t, newRequest()); w.Code != http.StatusBadGateway || requests.Load() != 1 {
		t.Errorf("got status %d after %d requests, want 502 after one", w.Code, requests.Load())
	}
}

func TestRequestThatNoHostHasAskedForIsSentAgain(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	p := newPair(t, nil)
	p.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) < 3 {
			panic(http.ErrAbortHandler) // before it has read the body
		}
		_, _ = io.Copy(w, r.Body)
	})
	if w := p.do(t, newRequest()); w.Code != http.StatusOK || w.Body.String() != "{}" || requests.Load() != 3 {
		t.Errorf("got status %d, body %s after %d requests, want the third one served", w.Code, w.Body, requests.Load())
	}
}

// deadlines notes the deadlines of a body.
type deadlines struct {
	*httptest.ResponseRecorder
	read []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = append(d.read, t)
	return nil
}

func TestForwardedBodyHasReadDeadlines(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, 3*bodyProgress)))
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	body := newPacedBody(w, r)
	attempt := body.attempt()
	if _, err := attempt.Read(make([]byte, 1)); !errors.Is(err, errNotWanted) {
		t.Errorf("before the other host asks: got %v", err)
	}
	attempt.wanted = true
	if n, err := io.Copy(io.Discard, attempt); n != 3*bodyProgress || err != nil {
		t.Fatalf("got %d bytes, %v", n, err)
	}
	if n := len(w.read); n < 4 || !w.read[n-1].IsZero() {
		t.Errorf("got deadlines %v, want one for every 64 KiB and none at the end", w.read)
	}
	if !attempt.end() {
		t.Error("the attempt does not know that its body was read")
	}
}

func TestSlowForwardedBodyIsRefused(t *testing.T) {
	t.Parallel()
	p := newPair(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) })
	r := newRequest()
	r.Body = io.NopCloser(timeoutReader{})
	if w := p.do(t, r); w.Code != http.StatusRequestTimeout {
		t.Errorf("got status %d, want 408", w.Code)
	}
}

// timeoutReader is a body whose deadline is over.
type timeoutReader struct{}

func (timeoutReader) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
}
