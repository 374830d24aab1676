package mcpserver

import (
	"net/http"
	"time"
)

// Drain begins the end of a server from which others are to take over: Ready is
// false from now on, and replies over HTTP close their connections, so that clients
// make their next ones elsewhere. All else goes on as before. Shutdown is to follow
// when load balancers have had the time to notice, because a request on a connection
// that is closed at the same moment is lost. ListenAndServe and ServeListener do
// this by themselves; Drain is for an http.Server of one's own.
func (s *Server) Drain() { s.leaving.Store(true) }

// Ready reports whether the server wants new clients. It does until Drain or
// Shutdown is called.
func (s *Server) Ready() bool { return !s.leaving.Load() }

// ReadyHandler returns the handler that tells load balancers whether the server is
// Ready: 200, or else 503. It tells everybody who comes by a name of the server or
// an address, and nothing more than that.
func (s *Server) ReadyHandler() http.Handler { return s.bindings().ready }

// lameDuck serves on for a time, in which clients leave and load balancers notice.
func (s *Server) lameDuck(most time.Duration, l *boundedListener) {
	s.Drain()
	if most < 0 {
		return
	}
	enough := time.NewTimer(most)
	defer enough.Stop()
	if s.bindings().ready.Asked() {
		<-enough.C
		return
	}
	select {
	case <-l.empty():
	case <-enough.C:
	}
}
