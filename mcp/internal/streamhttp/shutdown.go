package streamhttp

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/drain"
)

// errShutdown is the cause with which contexts end because the handler shuts down.
var errShutdown = errors.New("the server is shutting down")

// lifetime is what a handler needs to shut down in order. First it refuses new requests
// (refuse). Then it ends the event streams that serve no request (begin) and waits for the
// other work (wait). The caller cancels the work that is too late (cancelWork). HTTP
// requests are accepted until no work runs: the running work may wait for a message that
// they carry.
type lifetime struct {
	running                   drain.Group // HTTP requests, and goroutines of sessions
	streams, work             context.Context
	cancelStreams, cancelWork context.CancelCauseFunc

	mu       sync.Mutex
	refusing bool                             // guarded by mu: new requests are refused
	servers  map[*http.Server]context.Context // guarded by mu: scopes of the streams of each http.Server
}

func newLifetime() *lifetime {
	l := new(lifetime)
	l.streams, l.cancelStreams = context.WithCancelCause(context.Background())
	l.work, l.cancelWork = context.WithCancelCause(context.Background())
	return l
}

var shuttingDown = refuse(http.StatusServiceUnavailable, "the server is shutting down")

// refuses returns the refusal of a new request, or nil if new requests are accepted.
func (l *lifetime) refuses() *refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusing {
		return shuttingDown
	}
	return nil
}

// refuse has new requests refused from now on.
func (l *lifetime) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusing = true
}

// begin refuses new requests and ends the streams.
func (l *lifetime) begin() {
	l.refuse()
	l.running.Close()
	l.cancelStreams(errShutdown)
}

// wait returns nil when no work runs any more, or the cause of ctx.
func (l *lifetime) wait(ctx context.Context) error { return l.running.Drain(ctx) }

// streamsOf returns the scope of a stream that the request opens. It ends with the streams
// of the handler, and when the http.Server of the request shuts down: http.Server.Shutdown
// waits for every request, and a stream does not end by itself.
func (l *lifetime) streamsOf(r *http.Request) context.Context {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return l.streams
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if scope, known := l.servers[server]; known {
		return scope
	}
	if l.servers == nil {
		l.servers = make(map[*http.Server]context.Context)
	}
	scope, cancel := context.WithCancelCause(l.streams)
	l.servers[server] = scope
	server.RegisterOnShutdown(func() { cancel(errShutdown) })
	return scope
}
