package replica

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	// movedHeader says that a host does not have the caller of a forwarded request, and that the
	// request was not served.
	movedHeader = "Fondaco-Moved"
	// findTime is how long a host looks for the one that has a caller, and findPause the time between
	// two attempts.
	findTime  = 5 * time.Second
	findPause = 200 * time.Millisecond
	// dialTime is how long a connection to another host may take, and acceptTime how long that host may
	// take until it reads the body of a request.
	dialTime   = 2 * time.Second
	acceptTime = time.Second
	// headerTime is how long another host may take to answer a request without a body, which it cannot
	// ask for.
	headerTime = 10 * time.Second
	// maxForwarded limits the requests that a host forwards at a time: each has a connection.
	maxForwarded = 4_096
	// idleTime is how long an unused connection to another host is kept.
	idleTime = 90 * time.Second
)

// Options of a Forwarder.
type Options struct {
	// Keys encrypt what hosts tell each other about requests. The first one encrypts. Required.
	Keys [][]byte
	// Needed reports whether callers have to be at one host. Default: they always have.
	Needed func() bool
	// Admit makes the checks of a request that come before the search for its caller, and returns its
	// owner. It answers a request that it refuses. Required.
	Admit func(http.ResponseWriter, *http.Request) (mcpserver.Owner, bool)
	// WithProcesses returns the context for requests of a caller with these processes. Required.
	WithProcesses func(context.Context, Processes) context.Context
	// TokenName returns the name by which the token of a request can be revoked. Default: none.
	TokenName func(context.Context) string
	// Draining ends when the host is shut down: streams of other hosts then end, and callers without
	// requests are handed over.
	Draining context.Context
}

// Forwarder sends requests to the host that has their caller. It is safe for concurrent use.
//
//	Accept ── ticket ─▶ routes ── credentials, or the identity of the ticket ─▶ Place ─┬─▶ the server
//	                                                                                  └─▶ another host
type Forwarder struct {
	places    *Places
	opts      *Options
	tickets   *tickets
	transport http.RoundTripper
	pool      *mcpserver.OwnerPool // of the requests that are being forwarded
}

// NewForwarder returns a forwarder to the hosts of the places.
func NewForwarder(p *Places, o *Options) *Forwarder {
	dialer := &net.Dialer{Timeout: dialTime, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: dialTime, Interval: time.Second, Count: 3}}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTime, ExpectContinueTimeout: acceptTime,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: idleTime, DisableCompression: true,
	}
	return &Forwarder{
		places: p, opts: o, tickets: newTickets(o.Keys), transport: transport,
		pool: mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxForwarded, KeepBusy: true}),
	}
}

type ticketKey struct{}

// TicketFrom returns the ticket of a request that another host has forwarded, or nil.
func TicketFrom(ctx context.Context) *Ticket {
	t, _ := ctx.Value(ticketKey{}).(*Ticket)
	return t
}

// Accept returns a handler that gives requests of other hosts their ticket and the address of their
// client. It refuses requests with a header that no other host has made, before anything else reads
// them.
func (f *Forwarder) Accept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header.Values(ticketHeader)) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		t, err := f.tickets.open(r)
		switch {
		case errors.Is(err, errRequest):
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		case err != nil:
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		case t.To != f.places.group.ID():
			moved(w)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), ticketKey{}, t))
		r.RemoteAddr = t.Address
		r.Header.Del(ticketHeader)
		next.ServeHTTP(w, r)
	})
}

// moved answers a request whose caller is not here. It was not served.
func moved(w http.ResponseWriter) {
	w.Header().Set(movedHeader, "1")
	unavailable(w, "another host has the caller")
}

func unavailable(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, text+"; the request was not served, send it again", http.StatusServiceUnavailable)
}

// Place returns a handler that serves the requests of callers of this host, and forwards the others.
// The principal is known from the context of a request. A forwarded request is never forwarded again.
func (f *Forwarder) Place(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, t := callerOf(r), TicketFrom(r.Context())
		if t != nil && t.Caller != caller {
			http.Error(w, errRequest.Error(), http.StatusBadRequest)
			return
		}
		if caller == "" || f.opts.Needed != nil && !f.opts.Needed() {
			next.ServeHTTP(w, r)
			return
		}
		owner, ok := f.opts.Admit(w, r)
		if !ok {
			return
		}
		if t != nil && f.draining() && f.places.handOver(caller) {
			moved(w)
			return
		}
		own, _, err := f.places.enter(r.Context(), caller, owner)
		switch {
		case own != nil:
			f.serve(w, r, own, next)
		case t != nil:
			moved(w)
		case err != nil && !errors.Is(err, errUnsettled):
			unavailable(w, "the host that has the caller is not known")
		default:
			f.forward(w, r, caller, owner, next)
		}
	})
}

func (f *Forwarder) draining() bool { return f.opts.Draining != nil && f.opts.Draining.Err() != nil }

// callerOf returns the key of the caller of a request, or empty if it needs no place: the session of
// a principal, or without one the principal. All clients without credentials are one principal. A
// request of the stateless era has no session, whatever its headers say. A preflight request has no
// credentials.
func callerOf(r *http.Request) string {
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
	default:
		return ""
	}
	p := mcp.PrincipalAnonymous
	if identity := mcp.IdentityFrom(r.Context()); identity != nil {
		p = identity.Principal
	}
	if ids := r.Header.Values(sessionHeader); len(ids) > 0 && !isStateless(r) {
		return digest(append([]string{"session", p.Issuer, p.Subject, p.Client}, ids...)...)
	}
	if r.Method != http.MethodPost {
		return ""
	}
	return digest("principal", p.Issuer, p.Subject, p.Client)
}

// isStateless reports whether a server takes a request to be of the stateless era. It refuses one
// whose header names another revision than its body.
func isStateless(r *http.Request) bool {
	versions := r.Header.Values(versionHeader)
	if len(versions) != 1 {
		return false
	}
	revision, _ := mcp.ParseRevision(versions[0])
	return revision.Stateless()
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// serve serves a request here. A caller is given back if none of its requests was served, also after
// a panic, or forged session ids would fill the table.
func (f *Forwarder) serve(w http.ResponseWriter, r *http.Request, own *place, next http.Handler) {
	s := &statusWriter{ResponseWriter: w}
	returned := false
	defer func() {
		served := returned && s.status < http.StatusBadRequest
		f.places.leave(own, served, served && r.Method == http.MethodDelete)
	}()
	next.ServeHTTP(s, r.WithContext(f.opts.WithProcesses(r.Context(), own.processes)))
	returned = true
}

// statusWriter notes the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status < http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// notForwarded are the headers of one connection, and those that would make a Transport send a
// request twice. Names that a client puts into Connection are not removed: they may be those that a
// server needs.
//
// RFC 9110 7.6.1
var notForwarded = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Authorization", "Dpop", "Idempotency-Key", "X-Idempotency-Key", movedHeader, ticketHeader,
}

// errShare is the cause of a request that ends because its client forwards most, and another one needs
// the connection.
var errShare = errors.New("this host forwards as many requests as it may")

// forward sends a request to the host that has its caller, and the response to the client.
func (f *Forwarder) forward(w http.ResponseWriter, r *http.Request, caller string, owner mcpserver.Owner, next http.Handler) {
	ctx, end := context.WithCancelCause(r.Context())
	cancel := func() { end(context.Canceled) }
	defer cancel()
	share, err := f.pool.Take(owner, 1, func() { end(errShare) })
	if err != nil {
		unavailable(w, errShare.Error())
		return
	}
	defer share.Release()
	lasting := r.Method == http.MethodGet || r.Header.Get(methodHeader) == mcp.MethodListen
	if lasting && f.opts.Draining != nil {
		defer context.AfterFunc(f.opts.Draining, cancel)()
	}
	body := newPacedBody(w, r)
	defer body.stop()
	bodiless := r.WithContext(ctx) // ReverseProxy would read and close the body
	bodiless.Body = http.NoBody
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.Header = p.In.Header.Clone()
			for _, name := range notForwarded {
				p.Out.Header.Del(name)
			}
			p.Out.Host = p.In.Host
			p.Out.URL.Scheme, p.Out.URL.Host = "http", "host" // replaced in sendTo
			p.Out.URL.RawQuery = p.In.URL.RawQuery
		},
		FlushInterval: -1,
		Transport: roundTripper(func(out *http.Request) (*http.Response, error) {
			return f.send(out.WithContext(ctx), r, caller, owner, body) // not the context of ReverseProxy, which passes 100 Continue on
		}),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			here, isHere := errors.AsType[*hereError](err)
			switch {
			case isHere:
				body.leave()
				f.serve(w, r, here.own, next)
			case body.refuse(w):
			case errors.Is(err, errLost):
				http.Error(w, errLost.Error(), http.StatusBadGateway)
			case errors.Is(err, errIdentity):
				http.Error(w, errIdentity.Error(), http.StatusInternalServerError)
			default:
				unavailable(w, "the host that has the caller does not answer")
			}
		},
	}
	proxy.ServeHTTP(w, bodiless)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
