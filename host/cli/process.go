package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// RunProcess runs the program with the arguments, streams and environment of this
// process, until it is done or the process gets SIGINT or SIGTERM, and returns the exit
// code. The second of these signals ends the process at once.
func RunProcess() int {
	ctx, stop := notifyContext()
	defer stop()
	m := &Main{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Args: os.Args, Env: os.Environ(), Terminal: IsTerminal(os.Stdout),
		Drawing:     IsTerminal(os.Stderr),
		Interactive: IsTerminal(os.Stdin) && IsTerminal(os.Stderr),
	}
	return m.Main(ctx)
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
