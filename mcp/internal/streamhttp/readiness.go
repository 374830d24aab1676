package streamhttp

import (
	"io"
	"net/http"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// Readiness is the endpoint that tells load balancers whether a server wants new
// clients.
type Readiness struct {
	ready func() bool
	o     *Options
	gate  *gate
	asked atomic.Bool
}

var _ http.Handler = (*Readiness)(nil)

// NewReadiness returns the endpoint of a server that is ready when ready says so.
func NewReadiness(ready func() bool, o *Options) *Readiness {
	return &Readiness{ready: ready, o: o, gate: newGate(o)}
}

// Asked reports whether anybody has asked yet.
func (s *Readiness) Asked() bool { return s.asked.Load() }

// ServeHTTP answers GET and HEAD. Load balancers come by address, which unlike a
// name cannot have been made to point here.
func (s *Readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if host, ok := parseAuthority(r.Host); !ok || !host.isAddress() && !s.gate.knows(host) {
		refuse(http.StatusForbidden, "host %q: not a name of this server", clip(r.Host)).write(w)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		notAllowed(r, "GET, HEAD").write(w)
		return
	}
	s.asked.Store(true)
	h := w.Header()
	h.Set(httpheader.ContentType, "text/plain; charset=utf-8")
	h.Set(httpheader.ContentTypeOptions, "nosniff")
	h.Set(httpheader.CacheControl, "no-store")
	s.o.setConnectionClose(h)
	if !s.ready() {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "leaving\n")
		return
	}
	_, _ = io.WriteString(w, "ready\n")
}
