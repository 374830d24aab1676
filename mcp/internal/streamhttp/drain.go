package streamhttp

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
)

// errShutdown is the cause of what ends because the handler does.
var errShutdown = errors.New("the server is shutting down")

// drain is the end of a handler. Once it began, new requests are refused and
// event streams that serve no request end; the other work may finish until the
// caller's patience is over, and is cancelled then.
type drain struct {
	streams, work             context.Context
	cancelStreams, cancelWork context.CancelCauseFunc

	mu       sync.Mutex
	refusing bool // new requests, though streams go on
	begun    bool
	running  int
	idle     chan struct{}                    // closed when nothing runs and drain has begun
	webs     map[*http.Server]context.Context // scopes of streams, by the server that they came through
}

func newDrain() *drain {
	d := &drain{idle: make(chan struct{})}
	d.streams, d.cancelStreams = context.WithCancelCause(context.Background())
	d.work, d.cancelWork = context.WithCancelCause(context.Background())
	return d
}

// enter counts one more at work, which needs one leave. It reports false when
// the drain has come to its end.
func (d *drain) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun && d.running == 0 {
		return false
	}
	d.running++
	return true
}

func (d *drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running--; d.running == 0 && d.begun {
		close(d.idle)
	}
}

// spawn runs f on a goroutine that counts as at work. The caller has entered.
func (d *drain) spawn(f func()) {
	d.mu.Lock()
	d.running++
	d.mu.Unlock()
	go func() {
		defer d.leave()
		growStack()
		f()
	}()
}

// growStack makes the stack of a new goroutine large enough for a call, while there is
// nothing on it. Growing by and by, each time with all that is there already, takes
// longer than many a call.
//
//go:noinline
func growStack() {
	var room [callStack]byte
	runtime.KeepAlive(&room)
}

// callStack is what a call needs of the stack as a rule, in bytes.
const callStack = 6 << 10

// refuses reports whether new requests are to be refused, as a refusal.
func (d *drain) refuses() *refusal {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun || d.refusing {
		return shuttingDown
	}
	return nil
}

// refuse has new requests refused from now on.
func (d *drain) refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusing = true
}

// streamsOf returns the scope of a stream that a request opens: it ends with
// those of the handler, and when the http.Server that the request came through
// shuts down. That waits for every request, and these would last.
func (d *drain) streamsOf(r *http.Request) context.Context {
	web, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return d.streams
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if scope, known := d.webs[web]; known {
		return scope
	}
	if d.webs == nil {
		d.webs = make(map[*http.Server]context.Context)
	}
	scope, cancel := context.WithCancelCause(d.streams)
	d.webs[web] = scope
	web.RegisterOnShutdown(func() { cancel(errShutdown) })
	return scope
}

var shuttingDown = refuse(http.StatusServiceUnavailable, "the server is shutting down")

// begin refuses what is new and ends the streams.
func (d *drain) begin() {
	d.mu.Lock()
	if !d.begun {
		d.begun = true
		if d.running == 0 {
			close(d.idle)
		}
	}
	d.mu.Unlock()
	d.cancelStreams(errShutdown)
}

// wait returns nil when nothing is at work any more, or the cause of ctx.
func (d *drain) wait(ctx context.Context) error {
	select {
	case <-d.idle:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-d.idle:
		return nil
	default:
		return context.Cause(ctx)
	}
}
