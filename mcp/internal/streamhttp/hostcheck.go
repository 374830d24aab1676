package streamhttp

import (
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// HostCheck checks the host and the number of header fields of requests, for handlers beside an endpoint or in front of
// one. It does not check origins: these handlers serve pages of every origin, or leave
// the check to the endpoint.
type HostCheck struct{ gate *originCheck }

// NewHostCheck returns a HostCheck for a server with the names, besides those of the
// loopback interface. Requests that arrive on a loopback address have to use one
// of them. It panics for names that could never match.
func NewHostCheck(names ...string) *HostCheck {
	return &HostCheck{newOriginCheck(&Options{AllowedHosts: names})}
}

// Admit reports whether the request may pass, and answers it if not.
func (c *HostCheck) Admit(w http.ResponseWriter, r *http.Request) bool {
	refused := checkHeaderCount(r.Header)
	if refused == nil {
		_, refused = c.gate.hostOf(r, onLoopback(r))
	}
	return writeRefusal(w, r, refused)
}

// Admit checks header fields, host and origin as ServeHTTP does, for a handler in front that needs the
// outcome. It reports whether the request may pass, and answers it if not.
func (h *Handler) Admit(w http.ResponseWriter, r *http.Request) bool {
	return writeRefusal(w, r, h.gate.admit(w, r))
}

// AdmitConn is Admit for a handler that answers the request in place of ServeHTTP: it also admits the
// connection.
func (h *Handler) AdmitConn(w http.ResponseWriter, r *http.Request) bool {
	if !h.Admit(w, r) {
		return false
	}
	limit.AdmitConn(r.Context())
	return true
}

// OwnerOf returns the owner to which limits charge a request.
func (h *Handler) OwnerOf(r *http.Request, by *mcp.Identity) limit.Owner {
	return h.o.ownerOf(r, by, 0)
}

// Admit does what Handler.Admit does.
func (e *SSEHandler) Admit(w http.ResponseWriter, r *http.Request) bool {
	return writeRefusal(w, r, e.gate.admit(w, r))
}
