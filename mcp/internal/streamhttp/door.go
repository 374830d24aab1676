package streamhttp

import "net/http"

// Door checks under which name a server was reached, for handlers that stand
// beside an endpoint or in front of one. They serve pages of every origin, or
// leave origins to the endpoint.
type Door struct{ gate *gate }

// NewDoor returns a Door for a server with the names, besides those of the
// loopback interface. Requests that arrive on a loopback address have to use one
// of them. It panics for names that could never match.
func NewDoor(names ...string) *Door {
	return &Door{newGate(&Options{AllowedHosts: names})}
}

// Admit reports whether the request may pass, and answers it if not.
func (d *Door) Admit(w http.ResponseWriter, r *http.Request) bool {
	_, refused := d.gate.hostOf(r, onLoopback(r))
	return passes(w, refused)
}

// Admit makes the checks of host and origin with which ServeHTTP begins, for a
// handler in front that has to know their outcome. It reports whether the request
// may pass, and answers it if not.
func (h *Handler) Admit(w http.ResponseWriter, r *http.Request) bool {
	return passes(w, h.gate.admit(w, r))
}

// Admit is like that of a Handler.
func (e *EventStream) Admit(w http.ResponseWriter, r *http.Request) bool {
	return passes(w, e.gate.admit(w, r))
}

func passes(w http.ResponseWriter, refused *refusal) bool {
	if refused != nil {
		refused.write(w)
	}
	return refused == nil
}
