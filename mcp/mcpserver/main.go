package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// Run serves standard input and output until the client closes them or ctx is done. It
// sets os.Stdout to standard error, so that output of other code does not mix with the
// messages.
//
// When the client closes standard input, the running requests have 10 seconds to finish
// before they are cancelled, and those that wait for an answer of the client end at once with an
// error. If one was not answered in this time, Run returns an error that says so. When ctx is done, new requests are refused, and the running
// ones have 10 seconds. Run waits 10 seconds more for handlers that do not return when
// they are cancelled, and returns an error if some still run.
//
// Spec: 2026-07-28 basic/transports#stdio
func (s *Server) Run(ctx context.Context) error {
	conn, err := stdio.TakeOver(&stdio.Options{MaxLine: s.options.maxFrame()})
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	watched := &watchedConn{Standard: conn, closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() {
		served <- exchange.ServeConn(context.WithoutCancel(ctx), exchange.ServeParams{
			Conn: watched, Core: core{s}, Binding: dialect.Stream, Identity: localIdentity,
			Grace: eofGrace, Draining: ctx.Done(), Wire: s.newWire(localIdentity, netip.Addr{}),
		})
	}()
	select {
	case err = <-served:
	case <-watched.closed:
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

// eofGrace is how long requests may run after the client has closed standard input. A
// shell pipeline closes it as soon as it has written its requests. Tests wait longer, because other tests
// have the processors, or shorter.
var eofGrace = 10 * time.Second

// watchedConn is a connection with a channel that is closed by Close.
type watchedConn struct {
	*stdio.Standard
	once   sync.Once
	closed chan struct{}
}

func (c *watchedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Standard.Close()
}

// Main is the main function of a server program. It serves standard input and output, or
// with the flag -http ADDR it serves HTTP on that address and prints the address to
// standard error. Main does not authenticate requests, so it refuses an address beyond the loopback
// interface unless there is the flag -insecure-no-auth, too.
//
// The program can have flags of its own:
//
//   - Flags of flag.CommandLine that are not parsed when Main is called: Main parses them,
//     together with its own.
//   - Flags that the program parses before, with flag.Parse or a FlagSet: call [AddFlags]
//     before, so that the program's parsing accepts -http. Main reads its own flags from
//     os.Args, up to an argument "--", and ignores all others.
//   - If flag.CommandLine has a flag named http or insecure-no-auth, it belongs to the program,
//     and Main has no flags.
//
// If Options.Keys has no keys, Main reads them from the environment variable FONDACO_KEYS, as
// ParseKeys does, so that all replicas of a deployment can serve the same sessions. A server
// with a shared Store or Bus needs them in Options.Keys, because New checks that.
//
// The environment variable FONDACO_WIRE logs the messages to standard error, see mcpwire.Variable.
//
// Arguments that are not flags are left to the program. Any other flag ends the program with
// status 2, so that a misspelt -http does not start a server on standard input: one that is not
// defined in flag.CommandLine, unless that was parsed before or AddFlags was called for another
// FlagSet.
//
// SIGINT and SIGTERM shut the server down; a second one ends the process at once. If the
// server fails, or has not answered all requests when standard input has ended, Main prints the error and
// exits with status 1, or with status 2 if its
// flags are wrong.
func Main(s *Server) {
	flags, err := readMainFlags(flag.CommandLine, os.Args[1:], hasFlagSet.Load())
	if errors.Is(err, flag.ErrHelp) {
		AddFlags(flag.CommandLine)
		flag.Usage()
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.info.Name, err)
		os.Exit(2)
	}
	if err := cmp.Or(checkExposure(flags.addr, flags.open), s.readKeys(), s.logWire()); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.info.Name, err)
		os.Exit(2)
	}
	ctx, stop := notifyContext()
	defer stop()
	if err := s.main(ctx, flags.addr); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.info.Name, err)
		os.Exit(1)
	}
}

// notifyContext returns a context that ends on SIGINT and SIGTERM. Unlike
// [signal.NotifyContext] it restores the default action of both signals before the context
// ends, so that the next signal ends the process even if it comes at once.
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

// checkExposure returns an error if the address is beyond the loopback interface and open
// is false.
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
	return fmt.Errorf("-http %q: without authentication, anyone who can connect can call every tool; want 127.0.0.1, or -insecure-no-auth as well", addr)
}

// readKeys uses the keys of the environment, unless Options.Keys has some.
func (s *Server) readKeys() error {
	text := os.Getenv(KeysVariable)
	if text == "" || s.sharesKeys {
		return nil
	}
	keys, err := ParseKeys(text)
	if err == nil {
		err = s.useKeys(keys)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", KeysVariable, err)
	}
	return nil
}

func (s *Server) main(ctx context.Context, addr string) error {
	if addr == "" {
		return s.Run(ctx)
	}
	return s.ListenAndServe(ctx, addr, func(at net.Addr) {
		fmt.Fprintf(os.Stderr, "LISTEN %s\nendpoint http://%s/mcp\n", at, at)
	})
}
