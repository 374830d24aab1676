package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/listen"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// ServeStream serves one byte stream with the framing of stdio, one message per line, until
// the stream ends or ctx is done. When the client has closed its direction of the stream,
// the running requests have 10 seconds to finish before they are cancelled, as in Run, and an error says
// that one was not answered.
// ServeStream closes the stream. A panic of a method of the stream is logged and ends the
// connection.
//
// Spec: 2026-07-28 basic/transports#custom-transports
func (s *Server) ServeStream(ctx context.Context, stream io.ReadWriteCloser) error {
	stream = usercode.Stream(stream, s.options.logger())
	conn := stdio.New(stream, stream, stream, &stdio.Options{MaxLine: s.options.maxFrame()})
	return s.serveConn(ctx, conn, ConnOptions{Identity: localIdentity}, eofGrace)
}

// ServeSocket accepts connections, such as those of a unix socket, and serves each of them
// like ServeStream, until ctx is done. The identity of every client is the local user, so
// the listener has to be one to which only that user can connect. A temporary error of
// Accept, such as too few file descriptors, is logged, and Accept is called again after
// 5 ms to 1 s, as net/http does. Up to HTTPOptions.MaxConns connections are open at once; a
// further one is closed at once. While the process uses 95 percent of its file
// descriptors, new connections wait. ServeSocket closes the listener, and returns after the
// last connection has ended. A panic of Accept is a temporary error, until there are ten in a
// row.
func (s *Server) ServeSocket(ctx context.Context, l net.Listener) error {
	bounded := listen.New(l, s.options.orZero().HTTP.maxConns(), func(reached mcp.Limit) {
		s.limits.Reached(mcp.LimitReached{Limit: reached})
	}, s.options.logger())
	err := listen.Serve(ctx, bounded, s.options.logger(), func(ctx context.Context, conn net.Conn) {
		if err := s.ServeStream(ctx, conn); err != nil && ctx.Err() == nil {
			s.options.logger().Info("connection ended", "error", err)
		}
	})
	if err != nil {
		return fmt.Errorf("serve %s: %w", bounded.Addr(), err)
	}
	return nil
}
