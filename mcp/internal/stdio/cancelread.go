package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// source is a reader whose reads end when a context ends or the Conn is closed.
type source interface {
	// read reads like io.Reader. If the context has ended it returns the
	// context's error, and can be called again.
	read(ctx context.Context, p []byte) (int, error)

	// wake makes a pending read check the context and the Conn again.
	wake()

	// wait returns when all goroutines of the source have ended.
	wait()
}

// longAgo is a deadline in the past.
var longAgo = time.Unix(1, 0)

type deadlineReader interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

// newSource returns a source that interrupts reads of r by deadlines if r has
// them, or else by a goroutine.
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

// watch makes the end of this context, and of no earlier one, wake the reader.
// Callers usually pass the same context to each read.
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

// readUnless reads unless the context has ended or the Conn is closed.
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
		// Set the deadline before the checks: a wake after them is then not
		// lost. A wake for an earlier read only repeats the loop.
		_ = s.r.SetReadDeadline(time.Time{})
	}
}

func (s *deadlineSource) wake() { _ = s.r.SetReadDeadline(longAgo) }

func (s *deadlineSource) wait() {}

// pump reads in a goroutine, so that its caller can be cancelled. It reads only
// on request; bytes that arrive after a cancellation are returned by the next
// read.
type pump struct {
	r    io.Reader
	done <-chan struct{}

	// Both have capacity one, so that neither side blocks on a send.
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

// await requests a read from the goroutine, unless one is pending, and waits
// for its result.
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
