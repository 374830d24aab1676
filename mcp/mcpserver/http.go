package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/listen"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// HTTPHandler returns the handler of Streamable HTTP for all revisions of the protocol.
// Requests of the stateless era stand alone; requests of the session era belong to
// sessions, which the handler keeps. Mount it at a path of any router. Every call returns
// the same handler.
//
// By default, a request that arrives at a loopback address must name a loopback host in its
// Host header, requests of web pages of other origins are refused, and so are requests with
// more than 100 header fields (431); request bodies are limited to Options.MaxBody. Other
// limits of headers, and those of connections, belong to the http.Server: ListenAndServe and
// ServeListener set them, and an http.Server of your own needs ReadHeaderTimeout and
// MaxHeaderBytes.
//
// A request is anonymous unless a handler in front authenticates it and adds an
// mcp.Identity to its context with mcp.WithIdentity; package mcpauth has such handlers,
// Protect for access tokens and Authenticate for what an application has already.
// Sessions, tasks and other objects of a principal do not exist for other principals.
//
// Spec: 2026-07-28 basic/transports#streamable-http
func (s *Server) HTTPHandler() http.Handler {
	s.serve()
	return s.bindings().streamable
}

// EventStreamHandler returns the handler of HTTP+SSE, the HTTP transport of revision
// 2024-11-05. GET opens the event stream, whose first event has the URL to which the client
// sends its messages with POST. Every call returns the same handler.
//
// Deprecated: HTTP+SSE is for clients that do not support Streamable HTTP. It may be
// removed three months after SEP-2596 is final.
func (s *Server) EventStreamHandler() http.Handler {
	s.serve()
	return s.bindings().eventStream
}

// httpBindings are the HTTP handlers of a server, created at first use.
type httpBindings struct {
	streamable  *streamhttp.Handler
	eventStream *streamhttp.SSEHandler
	ready       *streamhttp.Readiness
}

func (s *Server) bindings() *httpBindings {
	s.httpOnce.Do(func() {
		o := s.options.orZero().HTTP.params(s)
		s.http = &httpBindings{
			streamable:  streamhttp.NewHandler(core{s}, o),
			eventStream: streamhttp.NewSSEHandler(core{s}, o),
			ready:       streamhttp.NewReadiness(s.Ready, o),
		}
	})
	return s.http
}

// params returns the options for package streamhttp.
func (o *HTTPOptions) params(s *Server) *streamhttp.Options {
	if o == nil {
		o = new(HTTPOptions)
	}
	return &streamhttp.Options{
		MaxBody:        s.options.orZero().MaxBody,
		AllowedHosts:   o.AllowedHosts,
		AllowedOrigins: o.AllowedOrigins,
		HostAdvice:     o.HostAdvice,
		OriginAdvice:   o.OriginAdvice,
		TrustedProxies: o.TrustedProxies,
		Answer:         streamhttp.Answer(o.ResponseMode),
		Draining:       func() bool { return !s.Ready() },
		Logger:         s.options.logger(),
		Events:         o.Events,
		Reached:        s.limits.Reached,
		OnMessage:      s.onMessage,
		Keys:           s.keys,
		SharedKeys:     s.sharesKeys,
		Replicas:       s.replicas,
		SharedEvents:   o.Events != nil,

		MaxSessions:       o.MaxSessions,
		MaxStreams:        o.MaxStreams,
		Unsent:            s.unsent,
		Kept:              s.kept,
		PrincipalSessions: o.PrincipalSessions,
		PrincipalStreams:  o.PrincipalStreams,
		SessionIdle:       o.SessionIdle,
		SessionLife:       o.SessionLife,
		KeepAlive:         o.KeepAlive,
		WriteTimeout:      o.WriteTimeout,
	}
}

// Limits of the http.Server that ServeListener runs. Clients close idle connections after
// some time, http.Client after 90 seconds. idleTimeout is longer, so that the server does
// not close a connection while a client sends a request over it.
const (
	readHeaderTimeout = 5 * time.Second
	maxHeaderBytes    = 64 << 10
	idleTimeout       = 3 * time.Minute
	shutdownTimeout   = 10 * time.Second
)

// http2Limits are the limits of HTTP/2 connections. net/http closes a connection whose client
// cancels streams faster than their handlers end, once four times as many wait.
func http2Limits() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: 250,
		WriteByteTimeout:     10 * time.Second,
	}
}

// ListenAndServe serves HTTP on addr, such as "127.0.0.1:8080", until ctx is done:
// Streamable HTTP at /mcp, HTTP+SSE at /sse, and ReadyHandler at /readyz. Then it shuts
// down like ServeListener. If ready is not nil, it is called with the address once the
// server listens.
//
// ListenAndServe does not authenticate requests. For addresses beyond the loopback interface use
// ServeListener with a handler that authenticates requests.
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

// ServeListener serves HTTP on l with h until ctx is done; h calls the handlers of the
// server. The http.Server has timeouts and limits, also for requests that h handles by other
// means, and HTTPOptions.MaxConns bounds its connections. If the connections of l are of
// TLS (tls.NewListener), it serves HTTP/2, too. When ctx is done, ServeListener calls Drain, continues to serve for up to
// HTTPOptions.LameDuck, so that no client loses a request, and then calls Shutdown, with a
// timeout of 10 seconds. It closes l, and returns nil if the shutdown was complete. Panics of l
// and of its connections are contained as by ServeSocket, but not those of a connection below TLS.
func (s *Server) ServeListener(ctx context.Context, l net.Listener, h http.Handler) error {
	o := s.options.orZero().HTTP
	bounded := listen.New(l, o.maxConns(), func(reached mcp.Limit) {
		s.limits.Reached(mcp.LimitReached{Limit: reached})
	}, s.options.logger())
	bounded.TrustedProxies = o.trustedProxies()
	server := &http.Server{
		Handler:           streamhttp.LimitHeaders(streamhttp.LimitUnread(h)),
		ReadHeaderTimeout: readHeaderTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		IdleTimeout:       idleTimeout,
		HTTP2:             http2Limits(),
		ConnState:         bounded.ConnState,
		ConnContext:       bounded.ConnContext,
		ErrorLog:          log.New(httpErrors{s.options.logger()}, "", 0),
	}
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		ended <- server.Serve(bounded)
	}()
	var failed error
	select {
	case err := <-ended:
		failed = fmt.Errorf("serve %s: %w", bounded.Addr(), err)
	case <-ctx.Done():
		s.lameDuck(o.lameDuck(), bounded)
		finishAccepted(bounded, ended)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := cmp.Or(failed, s.Shutdown(ctx), server.Shutdown(ctx))
	if err != nil {
		_ = server.Close()
	}
	<-ended
	return err
}

// httpErrors logs what an http.Server reports. What any peer can cause with a connection is
// of the lowest level, so that peers cannot fill the log.
type httpErrors struct{ logger *slog.Logger }

func (e httpErrors) Write(line []byte) (int, error) {
	text, level := strings.TrimSuffix(string(line), "\n"), slog.LevelWarn
	switch {
	case strings.HasPrefix(text, "http: panic serving"):
		level = slog.LevelError
	case strings.HasPrefix(text, "http: TLS handshake error"), strings.HasPrefix(text, "http2: "):
		level = slog.LevelDebug
	}
	e.logger.Log(context.Background(), level, text)
	return len(line), nil
}
