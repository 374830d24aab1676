package listen

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// flaky is a listener whose Accept fails some times.
type flaky struct {
	net.Listener
	err   error
	times int
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.times > 0 {
		f.times--
		return nil, f.err
	}
	return f.Listener.Accept()
}

var quiet = slog.New(slog.DiscardHandler)

func TestServeRetriesAfterTemporaryErrors(t *testing.T) {
	t.Parallel()
	scarce := &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	for times, took := range map[int]time.Duration{3: 35 * time.Millisecond, 10: 3275 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() {
				served <- Serve(ctx, &flaky{q, scarce, times}, quiet, func(_ context.Context, c net.Conn) { c.Close() })
			}()
			begin := time.Now()
			ours, theirs := net.Pipe()
			q.dialed <- theirs
			if got := time.Since(begin); got != took {
				t.Errorf("%d errors: accepted after %v, want %v", times, got, took)
			}
			if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("got %v, want the connection served", err)
			}
			cancel()
			if err := <-served; err != nil {
				t.Errorf("got %v, want nil", err)
			}
		})
	}
}

func TestServeReturnsAfterItsConnections(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		end  func(cancel func(), q *queue)
		err  error
		want error
	}{
		"context ended":    {func(cancel func(), _ *queue) { cancel() }, nil, nil},
		"listener closed":  {func(_ func(), q *queue) { q.Close() }, nil, nil},
		"listener is down": {func(_ func(), q *queue) { close(q.dialed) }, broken, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newQueue()
				l := &breaking{queue: q, err: test.err}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				served := make(chan error, 1)
				go func() {
					served <- Serve(ctx, l, quiet, func(ctx context.Context, c net.Conn) {
						<-ctx.Done()
						time.Sleep(time.Second)
						c.Close()
					})
				}()
				ours, theirs := net.Pipe()
				defer ours.Close()
				q.dialed <- theirs
				synctest.Wait()
				begin := time.Now()
				test.end(cancel, q)
				if err := <-served; !errors.Is(err, test.want) || time.Since(begin) != time.Second {
					t.Errorf("got %v after %v, want %v after 1s, when the connection has ended", err, time.Since(begin), test.want)
				}
				select {
				case <-q.closed:
				default:
					t.Error("got the listener left open, want it closed")
				}
			})
		})
	}
}

// breaking is a queue whose Accept fails with err once the channel is closed.
type breaking struct {
	*queue
	err error
}

func (b *breaking) Accept() (net.Conn, error) {
	c, err := b.queue.Accept()
	if c == nil && err == nil {
		return nil, b.err
	}
	return c, err
}
