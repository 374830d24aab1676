package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// ServeStream serves one byte stream with the framing of stdio, one message a
// line, until it ends or ctx is done. It closes the stream.
//
// Spec: 2026-07-28 basic/transports#custom-transports
func (s *Server) ServeStream(ctx context.Context, stream io.ReadWriteCloser) error {
	return s.Serve(ctx, stdio.New(stream, stream, stream, &stdio.Options{MaxLine: s.options.maxFrame()}))
}

// ServeSocket accepts connections, such as those of a unix socket, and serves
// each like ServeStream, until ctx is done. A temporary error of Accept, such as too
// few file descriptors, is logged, and Accept is called again after 5 ms to 1 s, as
// net/http does. Whoever can connect is the local
// user, so the listener has to be one that only that user reaches. It closes the
// listener, and returns after the last connection has ended.
func (s *Server) ServeSocket(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	for failures := 0; ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		case isTemporary(err):
			wait := acceptBackoff(failures)
			failures++
			s.options.logger().Warn("accept a connection", "listener", l.Addr(), "error", err, "retry in", wait)
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			continue
		default:
			return fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
		conns.Go(func() {
			if err := s.ServeStream(ctx, conn); err != nil && ctx.Err() == nil {
				s.options.logger().Info("connection ended", "error", err)
			}
		})
	}
}

// isTemporary reports whether Accept may succeed when it is called again. The
// interface is deprecated, but nothing else says so, and net/http uses it, too.
func isTemporary(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && e.Temporary()
}

// acceptBackoff is how long to wait before Accept is called again after so many
// failures in a row before this one.
func acceptBackoff(failures int) time.Duration {
	return min(5*time.Millisecond<<min(failures, 8), time.Second)
}
