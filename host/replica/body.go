package replica

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync"
	"time"
)

// A client has to send the next bodyProgress bytes of a body within bodyTime, as those of requests that
// are not forwarded.
const (
	bodyTime     = 10 * time.Second
	bodyProgress = 64 << 10
)

// pacedBody is the body of a request while it is forwarded. It is not kept: what a client sends goes
// on to the other host. The goroutine of a Transport reads it, also after the other host has answered.
type pacedBody struct {
	body    io.Reader
	control *http.ResponseController

	reading sync.Mutex // held during a read, so that stop can wait for it
	left    int        // guarded by reading: bytes until the deadline is set again

	mu      sync.Mutex
	stopped bool  // guarded by mu: the handler ends, and net/http uses the request for another one
	ended   bool  // guarded by mu: there is nothing to read, or another handler reads it
	err     error // guarded by mu: why it could not be read
}

func newPacedBody(w http.ResponseWriter, r *http.Request) *pacedBody {
	return &pacedBody{body: r.Body, control: http.NewResponseController(w), ended: r.ContentLength == 0}
}

func (b *pacedBody) read(p []byte) (n int, err error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	if !b.setDeadline() {
		return 0, errNotWanted
	}
	n, err = b.body.Read(p)
	b.left -= n
	switch {
	case err == io.EOF:
		b.leave()
		_ = b.control.SetReadDeadline(time.Time{})
	case err != nil:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.err = err
	}
	return n, err
}

// setDeadline sets the deadline of the next bytes, and reports whether they may be read. The caller
// holds reading.
func (b *pacedBody) setDeadline() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left <= 0 && !b.stopped {
		_ = b.control.SetReadDeadline(time.Now().Add(bodyTime))
		b.left = bodyProgress
	}
	return !b.stopped
}

// leave leaves the body to another handler.
func (b *pacedBody) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// stop ends the reading of the body, waits for a read that has begun, and keeps net/http from reading
// the rest of a body that another host did not want.
func (b *pacedBody) stop() {
	b.mu.Lock()
	b.stopped = true
	if !b.ended {
		_ = b.control.SetReadDeadline(time.Unix(1, 0)) // ends a read that waits
	}
	b.mu.Unlock()
	b.reading.Lock()
	defer b.reading.Unlock()
}

// refuse answers a request whose client did not send its body, and reports whether it has.
func (b *pacedBody) refuse(w http.ResponseWriter) bool {
	b.mu.Lock()
	err := b.err
	b.mu.Unlock()
	switch {
	case err == nil:
		return false
	case errors.Is(err, os.ErrDeadlineExceeded):
		http.Error(w, "body: came too slowly", http.StatusRequestTimeout)
	default:
		http.Error(w, "body: broke off", http.StatusBadRequest)
	}
	return true
}

// bodyAttempt is the body for one attempt to send it. It is read only after the other host has asked
// for it (100 Continue). Until then that host has served nothing, and another attempt can be made.
type bodyAttempt struct {
	*pacedBody
	cancel context.CancelCauseFunc // ends the attempt; its context also ends with the request

	mu                  sync.Mutex
	wanted, begun, over bool // guarded by mu
}

func (b *pacedBody) attempt() *bodyAttempt { return &bodyAttempt{pacedBody: b} }

var errNotWanted = errors.New("the host that has the caller does not accept the request")

func (a *bodyAttempt) Read(p []byte) (int, error) {
	a.mu.Lock()
	allowed := a.wanted && !a.over
	a.begun = a.begun || allowed
	a.mu.Unlock()
	if !allowed {
		return 0, errNotWanted
	}
	return a.read(p)
}

// Close does nothing: the body is that of the next attempt, and net/http closes it.
func (*bodyAttempt) Close() error { return nil }

// trace returns a context for the attempt, which learns from it that the body is wanted.
func (a *bodyAttempt) trace(ctx context.Context) context.Context {
	ctx, a.cancel = context.WithCancelCause(ctx)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.wanted = true
	}})
}

// end ends the attempt, and reports whether the other host may have got a part of the body.
func (a *bodyAttempt) end() (begun bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	return a.begun
}
