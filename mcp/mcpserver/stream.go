package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

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
// each like ServeStream, until ctx is done. Whoever can connect is the local
// user, so the listener has to be one that only that user reaches. It closes the
// listener, and returns after the last connection has ended.
func (s *Server) ServeSocket(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
		conns.Go(func() {
			if err := s.ServeStream(ctx, conn); err != nil && ctx.Err() == nil {
				s.options.logger().Info("connection ended", "error", err)
			}
		})
	}
}
