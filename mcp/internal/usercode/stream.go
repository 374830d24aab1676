package usercode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Stream returns a stream that wraps s, which the user of the library implements: a panic of a
// method becomes the error of that method and of all later reads and writes, and is logged with
// its stack. Counts of Read and Write that are not possible are errors. The stream has deadlines
// if s has them; otherwise SetReadDeadline and SetWriteDeadline return os.ErrNoDeadline. A panic of
// one of these closes s, because nothing else would end a pending call.
func Stream(s io.ReadWriteCloser, logger *slog.Logger) io.ReadWriteCloser {
	switch s := s.(type) {
	case *net.TCPConn, *net.UnixConn, *os.File, *stream, *conn:
		return s
	}
	return &stream{s: s, logger: logger}
}

type stream struct {
	s      io.ReadWriteCloser
	logger *slog.Logger
	failed atomic.Pointer[Panic] // the first panic
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (n int, err error) {
	if failed := s.failed.Load(); failed != nil {
		return 0, failed
	}
	defer s.replaceError(&n, &err)
	defer s.contain("Read", &err)
	n, err = s.s.Read(p)
	if n < 0 || n > len(p) {
		return 0, fmt.Errorf("Read returned %d bytes for a buffer of %d", n, len(p))
	}
	return n, err
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (n int, err error) {
	if failed := s.failed.Load(); failed != nil {
		return 0, failed
	}
	defer s.replaceError(&n, &err)
	defer s.contain("Write", &err)
	n, err = s.s.Write(p)
	switch {
	case n < 0 || n > len(p):
		return 0, fmt.Errorf("Write returned %d bytes for %d", n, len(p))
	case n < len(p) && err == nil:
		return n, io.ErrShortWrite
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() (err error) {
	defer s.contain("Close", &err)
	return s.s.Close()
}

// SetReadDeadline is that of net.Conn.
func (s *stream) SetReadDeadline(t time.Time) error {
	d, ok := s.s.(interface{ SetReadDeadline(time.Time) error })
	if !ok {
		return os.ErrNoDeadline
	}
	return s.setDeadline("SetReadDeadline", d.SetReadDeadline, t)
}

// SetWriteDeadline is that of net.Conn.
func (s *stream) SetWriteDeadline(t time.Time) error {
	d, ok := s.s.(interface{ SetWriteDeadline(time.Time) error })
	if !ok {
		return os.ErrNoDeadline
	}
	return s.setDeadline("SetWriteDeadline", d.SetWriteDeadline, t)
}

// SyscallConn is that of a syscall.Conn. For other streams the error is errors.ErrUnsupported.
func (s *stream) SyscallConn() (raw syscall.RawConn, err error) {
	c, ok := s.s.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	defer s.contain("SyscallConn", &err)
	return c.SyscallConn()
}

func (s *stream) setDeadline(method string, set func(time.Time) error, t time.Time) (err error) {
	defer func() {
		if _, panicked := err.(*Panic); panicked {
			_ = s.Close()
		}
	}()
	defer s.contain(method, &err)
	return set(t)
}

// contain is deferred: it converts a panic of a method to its error.
func (s *stream) contain(method string, err *error) {
	if v := recover(); v != nil {
		p := NewPanic(v)
		*err = p
		s.failed.CompareAndSwap(nil, p)
		logPanic(s.logger, "connection", method, p)
	}
}

// replaceError is deferred: it makes a panic of another method the error of a call that was pending.
func (s *stream) replaceError(n *int, err *error) {
	if failed := s.failed.Load(); failed != nil && *err != nil {
		*n, *err = 0, failed
	}
}

// logPanic logs the panic of a method of a connection or a listener.
func logPanic(logger *slog.Logger, what, method string, p *Panic) {
	logger.LogAttrs(context.Background(), slog.LevelError, what+" panicked", append(Attrs(p), slog.String("method", method))...)
}
