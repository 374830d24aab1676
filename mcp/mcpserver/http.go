package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// HTTPHandler returns the one handler of Streamable HTTP, for every revision at
// once: requests of the stateless era are answered by themselves, those of the
// session era belong to sessions that the handler keeps. Mount it at a path of
// any router. Calls of HTTPHandler share their sessions.
//
// With no options set it takes requests for the loopback interface alone when it
// is reached over it, refuses pages of other origins, and bounds what it reads.
// What only an http.Server can bound (headers, connections) is set by
// ListenAndServe; a server of one's own needs ReadHeaderTimeout and
// MaxHeaderBytes.
//
// Everybody is anonymous whom no handler in front has found out: one that
// authenticates puts an mcp.Identity into the context of the request, by
// mcp.WithIdentity. What belongs to its principal nobody else can tell from what
// does not exist.
//
// Spec: 2026-07-28 basic/transports#streamable-http
func (s *Server) HTTPHandler() http.Handler { return s.bindings().streamable }

// EventStreamHandler returns the handler of HTTP+SSE, the transport of
// 2024-11-05: GET opens the event stream, POST to the same path with the session
// that it names sends messages.
//
// Deprecated: HTTP+SSE is kept for clients that know nothing newer. It may be
// removed three months after SEP-2596 is final.
func (s *Server) EventStreamHandler() http.Handler { return s.bindings().eventStream }

// httpBindings are the HTTP handlers of a server, made at first use.
type httpBindings struct {
	streamable  *streamhttp.Handler
	eventStream *streamhttp.EventStream
	ready       *streamhttp.Readiness
}

func (s *Server) bindings() *httpBindings {
	s.httpOnce.Do(func() {
		o := s.options.orZero().HTTP.params(s)
		s.http = &httpBindings{
			streamable:  streamhttp.NewHandler(core{s}, o),
			eventStream: streamhttp.NewEventStream(core{s}, o),
			ready:       streamhttp.NewReadiness(s.Ready, o),
		}
	})
	return s.http
}

// params are the options in the words of the pipes.
func (o *HTTPOptions) params(s *Server) *streamhttp.Options {
	if o == nil {
		o = new(HTTPOptions)
	}
	return &streamhttp.Options{
		MaxBody:        s.options.orZero().MaxBody,
		AllowedHosts:   o.AllowedHosts,
		AllowedOrigins: o.AllowedOrigins,
		TrustedProxies: o.TrustedProxies,
		Answer:         streamhttp.Answer(o.ResponseMode),
		Leaving:        func() bool { return !s.Ready() },
		Logger:         s.options.logger(),
		Events:         o.Events,
		Reached:        s.limits.Reached,

		MaxSessions:       o.MaxSessions,
		MaxStreams:        o.MaxStreams,
		MaxUnsent:         o.MaxUnsent,
		PrincipalSessions: o.PrincipalSessions,
		PrincipalStreams:  o.PrincipalStreams,
		SessionIdle:       o.SessionIdle,
		KeepAlive:         o.KeepAlive,
		WriteTimeout:      o.WriteTimeout,
	}
}

// Limits of the http.Server that ListenAndServe runs. Clients drop connections that
// they have not used for a while, http.Client after 90 seconds; this side waits for
// longer, so that none sends a request on a connection that is just being closed.
const (
	readHeaderTimeout = 5 * time.Second
	maxHeaderBytes    = 64 << 10
	idleTimeout       = 3 * time.Minute
	shutdownTimeout   = 10 * time.Second
)

// ListenAndServe serves HTTP on addr, such as "127.0.0.1:8080", until ctx is
// done, then ends as ServeListener does: Streamable HTTP at /mcp, HTTP+SSE at /sse,
// and ReadyHandler at /readyz. Ready, if not nil, is called with the address once it
// listens. Nobody is authenticated: beyond the loopback interface, put a handler
// that does in front, with ServeListener.
func (s *Server) ListenAndServe(ctx context.Context, addr string, ready func(net.Addr)) error {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		return fmt.Errorf("serve %s: %s has no sockets: %w; use HTTPHandler, or ServeListener with a listener of your own", addr, runtime.GOOS, errors.ErrUnsupported)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("serve %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.HTTPHandler())
	mux.Handle("/sse", s.EventStreamHandler())
	mux.Handle("/readyz", s.ReadyHandler())
	if ready != nil {
		ready(listener.Addr())
	}
	return s.ServeListener(ctx, listener, mux)
}

// ServeListener serves h, in which the server's handlers are mounted, with the
// limits of ListenAndServe until ctx is done. Then it is a lame duck for
// HTTPOptions.LameDuck, so that nobody who is connected loses a request (see Drain),
// and shuts the server down within 10 seconds. It closes the listener.
func (s *Server) ServeListener(ctx context.Context, l net.Listener, h http.Handler) error {
	o := s.options.orZero().HTTP
	bounded := newBoundedListener(l, o.maxConns(), func(reached mcp.Limit) {
		s.limits.Reached(mcp.LimitReached{Limit: reached})
	})
	web := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		IdleTimeout:       idleTimeout,
		ConnState:         bounded.noteState,
	}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(bounded) }()
	var failed error
	select {
	case err := <-ended:
		failed = fmt.Errorf("serve %s: %w", l.Addr(), err)
		ended <- http.ErrServerClosed
	case <-ctx.Done():
		s.lameDuck(o.lameDuck(), bounded)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := cmp.Or(failed, s.Shutdown(ctx), web.Shutdown(ctx))
	if err != nil {
		_ = web.Close()
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = cmp.Or(err, e)
	}
	return err
}
