package mcpserver

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/listen"
)

// Drain announces that the server is about to shut down, so that clients connect to
// another replica: from now on Ready returns false, and each response over HTTP closes its
// connection. Everything else continues as before. Call Shutdown when load balancers have
// had the time to notice, because a request that is sent over a connection while the
// server closes it is lost. ListenAndServe and ServeListener call Drain themselves; call
// it with an http.Server of your own.
func (s *Server) Drain() { s.draining.Store(true) }

// Ready reports whether the server accepts new clients. It returns true until Drain or
// Shutdown is called.
func (s *Server) Ready() bool { return !s.draining.Load() }

// ReadyHandler returns a handler for load balancers. Its status is 200 while the server is
// Ready, and 503 otherwise. It needs no authentication, and its responses contain nothing
// else. The Host of a request must be an IP address or a name of the server.
func (s *Server) ReadyHandler() http.Handler { return s.bindings().ready }

// Shutdown shuts the server down in order. It refuses new requests, waits for the running
// ones and for detached work (see Detach), such as tasks, ends subscriptions with their
// result, and closes every connection and session. Questions of detached work end with
// ErrShutdown at once, because no answers are accepted any more.
//
// If ctx ends first, Shutdown cancels what still runs, waits up to one second more for
// detached work, and returns the cause of ctx. A server that has been shut down cannot be
// used again; further calls of Shutdown are allowed.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	s.bindings().streamable.Refuse()
	s.endOpen(ErrShutdown)
	s.hub.StopWatchFuncs()
	s.hub.CloseBus()
	s.sessions.refuse()
	err := s.requests.Drain(ctx)
	err = cmp.Or(err, s.detached.Drain(ctx))
	s.endLife(ErrShutdown)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
	defer cancel()
	_ = s.detached.Drain(grace)
	closing := ctx
	if ctx.Err() != nil {
		closing = grace
	}
	err = cmp.Or(err, s.parked.Shutdown(closing))
	for _, session := range s.sessions.all() {
		err = cmp.Or(err, session.WaitIdle(ctx))
	}
	err = cmp.Or(err, s.bindings().streamable.Shutdown(ctx), s.bindings().eventStream.Shutdown(ctx))
	for _, session := range s.sessions.all() {
		session.End()
	}
	err = cmp.Or(err, s.hub.FlushBus(ctx), s.sharedRates.Close(ctx))
	if s.replicas != nil {
		s.replicas.Leave()
	}
	return err
}

// cancelGrace is how long Shutdown waits for detached work that it has cancelled.
const cancelGrace = time.Second

// lameDuck calls Drain and keeps serving for up to the given time, in which clients
// connect elsewhere and load balancers notice. It returns earlier when no connection is
// open, unless a load balancer has asked whether the server is ready: it may send clients
// until it asks again.
func (s *Server) lameDuck(period time.Duration, l *listen.Listener) {
	s.Drain()
	if period < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), period)
	defer cancel()
	if s.bindings().ready.Asked() {
		<-ctx.Done()
		return
	}
	_ = l.WaitUntilUnused(ctx)
}

// acceptedTime is how long requests of connections that were accepted last may take, before new
// requests are refused.
const acceptedTime = 250 * time.Millisecond

// finishAccepted accepts no further connection, which clients and load balancers notice before they
// send a request, and serves for a moment those that have just been accepted. http.Server.Shutdown
// would close such a connection without a response when its request arrives. ended receives when
// no more connections are accepted.
func finishAccepted(l *listen.Listener, ended <-chan error) {
	_ = l.Close()
	<-ended
	ctx, cancel := context.WithTimeout(context.Background(), acceptedTime)
	defer cancel()
	_ = l.WaitForConns(ctx)
}
