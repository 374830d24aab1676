package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// lineWriter writes complete lines, one Write at a time.
type lineWriter struct {
	w       io.Writer
	timeout time.Duration
	done    <-chan struct{}
	abort   func() error // closes the Conn, for want of a deadline

	setDeadline func(time.Time) error // nil: w has no deadlines

	turn chan struct{} // holds a token while a Write has its turn; guards the rest
	buf  []byte        // the rest of a message that a Write left unfinished, or empty
	err  error         // why nothing can be written any more

	// armed means that a deadline is set. It may be that of an earlier message or have passed; a
	// Write that runs into it sets its own.
	armed bool
}

func newLineWriter(w io.Writer, timeout time.Duration, done <-chan struct{}, abort func() error) lineWriter {
	l := lineWriter{w: w, timeout: timeout, done: done, abort: abort, turn: make(chan struct{}, 1)}
	d, ok := w.(interface{ SetWriteDeadline(time.Time) error })
	if ok && d.SetWriteDeadline(time.Time{}) == nil {
		l.setDeadline = d.SetWriteDeadline
	}
	return l
}

func (l *lineWriter) write(ctx context.Context, msgs ...[]byte) error {
	for _, msg := range msgs {
		if i := bytes.IndexByte(msg, '\n'); i >= 0 {
			return fmt.Errorf("newline at byte %d: a message is one line", i)
		}
	}
	if err := l.take(ctx); err != nil {
		return err
	}
	defer func() { <-l.turn }()
	if l.err != nil {
		return l.err
	}
	for len(msgs) > 0 {
		n := oneChunk(msgs)
		if err := l.send(ctx, msgs[:n]); err != nil {
			if err != ctx.Err() {
				l.err = err
			}
			return err
		}
		msgs = msgs[n:]
	}
	return nil
}

// oneChunk returns how many of the messages, at least one, are written in one
// call.
func oneChunk(msgs [][]byte) (n int) {
	for size := 0; n < len(msgs); n++ {
		if size += len(msgs[n]) + len("\n"); size > chunkSize && n > 0 {
			break
		}
	}
	return n
}

// take waits for the turn.
func (l *lineWriter) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.done:
		return io.ErrClosedPipe
	}
	return nil
}

// send writes the remainder of an earlier message and then these, in one call.
func (l *lineWriter) send(ctx context.Context, msgs [][]byte) error {
	rest := len(l.buf)
	for _, msg := range msgs {
		l.buf = append(append(l.buf, msg...), '\n')
	}
	n, err := l.put(ctx, l.buf)
	if n <= rest && err != nil {
		l.buf = l.buf[:rest] // none of their bytes were written
	}
	l.buf = l.buf[:copy(l.buf, l.buf[n:])]
	if len(l.buf) == 0 && cap(l.buf) > chunkSize {
		l.buf = nil
	}
	return err
}

// put writes b within the timeout and returns the number of bytes written.
func (l *lineWriter) put(ctx context.Context, b []byte) (int, error) {
	if l.setDeadline == nil {
		return l.putWatched(b)
	}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, l.wake)()
	}
	deadline := time.Now().Add(l.timeout)
	if !l.armed {
		_ = l.setDeadline(deadline)
		l.armed = true
	}
	for n := 0; ; {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		if closed(l.done) {
			return n, io.ErrClosedPipe
		}
		m, err := l.w.Write(b[n:])
		n += m
		switch {
		case err == nil || !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case ctx.Err() == nil && !time.Now().Before(deadline):
			return n, l.tooSlow()
		}
		// As in deadlineSource.readUnless: set the deadline before the checks.
		_ = l.setDeadline(deadline)
	}
}

// putWatched writes b to a writer that only closing can interrupt.
func (l *lineWriter) putWatched(b []byte) (int, error) {
	watchdog := time.AfterFunc(l.timeout, func() { _ = l.abort() })
	n, err := l.w.Write(b)
	if !watchdog.Stop() {
		return n, l.tooSlow()
	}
	return n, err
}

// errNotReading distinguishes a write that took too long from one that Close
// ended.
var errNotReading = errors.New("the peer has not read")

func (l *lineWriter) tooSlow() error {
	return fmt.Errorf("%w for %v", errNotReading, l.timeout)
}

// wake makes a pending write check the context and the Conn again.
func (l *lineWriter) wake() {
	if l.setDeadline != nil {
		_ = l.setDeadline(longAgo)
	}
}
