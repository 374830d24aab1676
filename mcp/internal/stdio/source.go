package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// source is a reader whose reads end when a context does, or the Conn.
type source interface {
	// read reads like io.Reader. It returns the context's own error when the
	// context has ended, and can be called again then.
	read(ctx context.Context, p []byte) (int, error)

	// wake has a pending read look at the context and the Conn again.
	wake()

	// wait returns when no goroutine of the source is left.
	wait()
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

type deadlineReader interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

// newSource picks the way to interrupt reads of r.
func newSource(r io.Reader, done <-chan struct{}) source {
	if d, ok := r.(deadlineReader); ok && d.SetReadDeadline(time.Time{}) == nil {
		return &deadlineSource{r: d, done: done}
	}
	return newPump(r, done)
}

// deadlineSource interrupts a read by a deadline in the past.
type deadlineSource struct {
	r    deadlineReader
	done <-chan struct{}

	watched <-chan struct{} // of the context whose end wakes the reader
	unwatch func() bool     // nil when there is none
}

func (s *deadlineSource) read(ctx context.Context, p []byte) (int, error) {
	s.watch(ctx)
	n, err := s.readUnless(ctx, p)
	if err != nil {
		s.watch(context.Background())
	}
	return n, err
}

// watch has the end of the context wake the reader, and that of no other. A
// reader passes the same one again and again.
func (s *deadlineSource) watch(ctx context.Context) {
	if ctx.Done() == s.watched {
		return
	}
	if s.unwatch != nil {
		s.unwatch()
	}
	s.watched, s.unwatch = ctx.Done(), nil
	if s.watched != nil {
		s.unwatch = context.AfterFunc(ctx, s.wake)
	}
}

// readUnless reads unless the context has ended, or the Conn.
func (s *deadlineSource) readUnless(ctx context.Context, p []byte) (int, error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if closed(s.done) {
			return 0, io.ErrClosedPipe
		}
		n, err := s.r.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		// First the deadline, then the checks: a wake after them is not lost.
		// One that was meant for an earlier read costs a turn.
		_ = s.r.SetReadDeadline(time.Time{})
	}
}

func (s *deadlineSource) wake() { _ = s.r.SetReadDeadline(longAgo) }

func (s *deadlineSource) wait() {}

// pump reads in a goroutine, so that its user can leave. It reads only when
// asked; what arrives after the user has left is there for the next read.
type pump struct {
	r    io.Reader
	done <-chan struct{}

	// Both have room for one, so that neither side waits to be heard.
	asks    chan struct{}
	answers chan answer
	ended   chan struct{}

	// State of the reader.
	asked bool   // an answer is due
	rest  []byte // of the last answer
	err   error
}

type answer struct {
	data []byte
	err  error
}

func newPump(r io.Reader, done <-chan struct{}) *pump {
	s := &pump{
		r:       r,
		done:    done,
		asks:    make(chan struct{}, 1),
		answers: make(chan answer, 1),
		ended:   make(chan struct{}),
	}
	go s.run()
	return s
}

func (s *pump) read(ctx context.Context, p []byte) (int, error) {
	if len(s.rest) == 0 && s.err == nil {
		if err := s.await(ctx); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	if n > 0 {
		return n, nil
	}
	return 0, s.err
}

// await asks the goroutine to read, unless it is still at it, and takes what it
// has read.
func (s *pump) await(ctx context.Context) error {
	if !s.asked {
		s.asks <- struct{}{}
		s.asked = true
	}
	select {
	case a := <-s.answers:
		s.rest, s.err, s.asked = a.data, a.err, false
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return io.ErrClosedPipe
	}
}

func (s *pump) run() {
	defer close(s.ended)
	chunk := make([]byte, chunkSize)
	for {
		select {
		case <-s.asks:
			n, err := s.r.Read(chunk)
			s.answers <- answer{chunk[:n], err}
		case <-s.done:
			return
		}
	}
}

func (s *pump) wake() {}

func (s *pump) wait() { <-s.ended }
