package listen

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/backoff"
)

// The pauses after failures of Accept in a row.
const (
	minAcceptPause = 5 * time.Millisecond
	maxAcceptPause = time.Second
)

// Serve accepts connections of l until ctx is done, and calls serve for each on a goroutine
// of its own. The context of serve ends with ctx, and when Serve returns an error. A
// temporary error of Accept, such as too few file descriptors, is logged, and Accept is
// called again after 5 ms to 1 s, as net/http does.
//
// Serve closes l and returns after the last call of serve has returned: nil if ctx has
// ended or l was closed, otherwise the error of Accept.
func Serve(ctx context.Context, l net.Listener, log *slog.Logger, serve func(context.Context, net.Conn)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	defer func() { _ = l.Close() }()
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	for failures := 0; ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			failures = 0
			conns.Go(func() { serve(ctx, conn) })
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		case isTemporary(err):
			failures++
			wait := backoff.Pause(failures, minAcceptPause, maxAcceptPause)
			log.Warn("accept a connection", "listener", l.Addr(), "error", err, "retry in", wait)
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		default:
			return err
		}
	}
}

// isTemporary reports whether Accept may succeed when it is called again. The method is
// deprecated, but nothing else has this information, and net/http uses it, too.
func isTemporary(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && e.Temporary()
}
