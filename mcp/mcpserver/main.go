package mcpserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// Run serves standard input and output until the client closes them or ctx is
// done. From then on os.Stdout is standard error, so that nothing that user code
// prints gets among the messages. Handlers that run at the end are cancelled;
// Run waits for them for 10 seconds, then returns an error without them.
//
// Spec: 2026-07-28 basic/transports#stdio
func (s *Server) Run(ctx context.Context) error {
	conn, err := stdio.TakeOver(&stdio.Options{MaxLine: s.options.maxFrame()})
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	ended := &watchedConn{Conn: conn, closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ended) }()
	select {
	case err = <-served:
	case <-ended.closed:
		select {
		case err = <-served:
		case <-time.After(shutdownTimeout):
			err = fmt.Errorf("handlers still run %v after the end", shutdownTimeout)
		}
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// watchedConn tells when it is closed.
type watchedConn struct {
	mcp.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *watchedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Main is the main function of a server program. It serves standard input and
// output; with -http ADDR it serves HTTP there instead, and says on standard
// error where. It ends on SIGINT and SIGTERM, at once on the second of them, and
// the process with it when something goes wrong.
func Main(s *Server) {
	flags := flag.NewFlagSet(s.info.Name, flag.ExitOnError)
	addr := flags.String("http", "", "serve HTTP on this `address`, such as 127.0.0.1:8080, instead of stdio")
	_ = flags.Parse(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer context.AfterFunc(ctx, stop)() // from then on a signal ends the process
	if err := s.main(ctx, *addr); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.info.Name, err)
		os.Exit(1)
	}
}

func (s *Server) main(ctx context.Context, addr string) error {
	if addr == "" {
		return s.Run(ctx)
	}
	return s.ListenAndServe(ctx, addr, func(at net.Addr) {
		fmt.Fprintf(os.Stderr, "LISTEN %s\nendpoint http://%s/mcp\n", at, at)
	})
}
