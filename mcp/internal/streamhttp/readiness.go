package streamhttp

import (
	"io"
	"net/http"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// Readiness is the endpoint at which load balancers ask whether a server accepts new
// clients. Make one with NewReadiness.
type Readiness struct {
	ready func() bool
	o     *Options
	gate  *originCheck
	asked atomic.Bool // whether a request was answered
}

var _ http.Handler = (*Readiness)(nil)

// NewReadiness returns an endpoint that answers 200 while ready returns true, and 503
// otherwise. A nil Options gives the defaults.
func NewReadiness(ready func() bool, o *Options) *Readiness {
	return &Readiness{ready: ready, o: o, gate: newOriginCheck(o)}
}

// Asked reports whether the endpoint has answered a request yet.
func (e *Readiness) Asked() bool { return e.asked.Load() }

// ServeHTTP answers GET and HEAD. It accepts every IP address as Host, because load
// balancers use addresses and because DNS rebinding needs a name. It refuses names of
// other servers.
func (e *Readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer e.o.abortOnPanic(r)
	if !writeRefusal(w, r, checkHeaderCount(r.Header)) {
		return
	}
	if host, ok := parseAuthority(r.Host); !ok || !host.isAddress() && !e.gate.isServerName(host) {
		writeRefusal(w, r, refuse(http.StatusForbidden, "host %q: not a name of this server", clip(r.Host)))
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		writeRefusal(w, r, notAllowed(r, "GET, HEAD"))
		return
	}
	e.asked.Store(true)
	h := w.Header()
	h.Set(httpheader.ContentType, "text/plain; charset=utf-8")
	h.Set(httpheader.ContentTypeOptions, "nosniff")
	h.Set(httpheader.CacheControl, "no-store")
	e.o.setConnectionClose(h)
	if !e.ready() {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "draining\n")
		return
	}
	_, _ = io.WriteString(w, "ready\n")
}
