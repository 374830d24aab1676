package streamhttp

import "net/http"

// HostCheck checks the host of requests, for handlers beside an endpoint or in front of
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
	_, refused := c.gate.hostOf(r, onLoopback(r))
	return writeRefusal(w, refused)
}

// Admit checks host and origin as ServeHTTP does, for a handler in front that needs the
// outcome. It reports whether the request may pass, and answers it if not.
func (h *Handler) Admit(w http.ResponseWriter, r *http.Request) bool {
	return writeRefusal(w, h.gate.admit(w, r))
}

// Admit does what Handler.Admit does.
func (e *SSEHandler) Admit(w http.ResponseWriter, r *http.Request) bool {
	return writeRefusal(w, e.gate.admit(w, r))
}

// writeRefusal answers a refused request. It reports whether it was not refused.
func writeRefusal(w http.ResponseWriter, refused *refusal) bool {
	if refused != nil {
		refused.write(w)
	}
	return refused == nil
}
