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

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// Run serves standard input and output until the client closes them or ctx is
// done. From then on os.Stdout is standard error, so that nothing that user code
// prints gets among the messages. Requests that run when the client closes its
// side are answered if they are done within a second, and cancelled then; when ctx
// ends they have 10 seconds, in which new ones are refused. Run waits for handlers
// that do not heed the end for 10 seconds more, then returns an error without them.
//
// Spec: 2026-07-28 basic/transports#stdio
func (s *Server) Run(ctx context.Context) error {
	conn, err := stdio.TakeOver(&stdio.Options{MaxLine: s.options.maxFrame()})
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	ended := &watchedConn{BatchConn: conn, closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() {
		served <- exchange.ServeConn(context.WithoutCancel(ctx), exchange.ServeParams{
			Conn: ended, Core: core{s}, Binding: dialect.Stream, Identity: localIdentity,
			Grace: closeGrace, Leaving: ctx.Done(),
		})
	}()
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

// lastWords is how long a client that has closed its side is still answered: it
// may have been a pipe that sent all its requests at once.
const closeGrace = time.Second

// watchedConn tells when it is closed.
type watchedConn struct {
	exchange.BatchConn
	once   sync.Once
	closed chan struct{}
}

func (c *watchedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.BatchConn.Close()
}

// Main is the main function of a server program. It serves standard input and
// output; with -http ADDR it serves HTTP there instead, and says on standard
// error where. An address that others than this machine reach is refused without
// -insecure-no-auth, because Main authenticates nobody. Arguments that are
// no flags are left to the program. Main shuts the server down on SIGINT and SIGTERM, of which
// the second ends the process at once, and exits with a status other than 0 after an error.
func Main(s *Server) {
	flags := flag.NewFlagSet(s.info.Name, flag.ExitOnError)
	addr := flags.String("http", "", "serve HTTP on this `address`, such as 127.0.0.1:8080, instead of stdio")
	open := flags.Bool("insecure-no-auth", false, "let -http listen beyond this machine, where everybody may call everything")
	_ = flags.Parse(os.Args[1:])
	if err := checkExposure(*addr, *open); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.info.Name, err)
		os.Exit(2)
	}
	ctx, stop := notifyContext()
	defer stop()
	if err := s.main(ctx, *addr); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.info.Name, err)
		os.Exit(1)
	}
}

// notifyContext returns a context that SIGINT and SIGTERM end. Unlike
// [signal.NotifyContext] it restores the default effect of both before the context ends:
// whoever sees the shutdown can end the process with the next signal.
func notifyContext() (ctx context.Context, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		defer signal.Stop(signals)
		select {
		case <-signals:
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-done
	}
}

// checkExposure refuses to listen for strangers unless that was asked for.
func checkExposure(addr string, open bool) error {
	if addr == "" || open {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("-http %q: want host:port, such as 127.0.0.1:8080", addr)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("-http %q: everybody who reaches it could call everything; want 127.0.0.1, or -insecure-no-auth as well", addr)
}

func (s *Server) main(ctx context.Context, addr string) error {
	if addr == "" {
		return s.Run(ctx)
	}
	return s.ListenAndServe(ctx, addr, func(at net.Addr) {
		fmt.Fprintf(os.Stderr, "LISTEN %s\nendpoint http://%s/mcp\n", at, at)
	})
}
