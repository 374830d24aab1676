package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/host/terminal"
)

// RunProcess runs the program with the arguments, streams and environment of this
// process, until it is done or the process gets SIGINT or SIGTERM, and returns the exit
// code. The second of these signals ends the process at once; the programs that it leaves are named
// on standard error.
func RunProcess() int {
	m := &Main{
		IO: terminal.IO{
			Stdin:       os.Stdin,
			Stdout:      os.Stdout,
			Stderr:      os.Stderr,
			Env:         os.Environ(),
			Terminal:    terminal.IsTerminal(os.Stdout),
			Drawing:     terminal.IsTerminal(os.Stderr),
			Interactive: terminal.IsTerminal(os.Stdin) && terminal.IsTerminal(os.Stderr),
		},
		Args: os.Args,
	}
	ctx, stop := notifyContext(func() { nameLeftPrograms(m) })
	defer stop()
	return m.Main(ctx)
}

// notifyContext returns a context that SIGINT and SIGTERM end. The next of them ends the process as
// if it were not caught, after atEnd has returned or a second has passed. No signal is lost in between.
func notifyContext(atEnd func()) (ctx context.Context, stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		for range 2 {
			select {
			case s := <-signals:
				if ctx.Err() != nil {
					endBy(s, atEnd)
				}
				cancel()
			case <-stopped:
				return
			}
		}
	}()
	return ctx, func() {
		cancel()
		close(stopped)
		<-done
	}
}

// endBy ends the process by a signal.
func endBy(s os.Signal, atEnd func()) {
	called := make(chan struct{})
	go func() {
		defer close(called)
		atEnd()
	}()
	select {
	case <-called:
	case <-time.After(time.Second): // nobody reads standard error
	}
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(time.Second) // until it arrives
	}
	os.Exit(exitInterrupted)
}

// nameLeftPrograms says which programs a host leaves that ends now.
func nameLeftPrograms(m *Main) {
	running := m.running.Load()
	if running == nil {
		return
	}
	if names := (*running)(); len(names) > 0 {
		fmt.Fprintf(os.Stderr, "fondaco: ended before the programs of these servers, which may still run: %s\n", strings.Join(names, ", "))
	}
}
