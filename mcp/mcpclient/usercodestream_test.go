package mcpclient_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// faultyStream is a stream whose method panics while armed.
type faultyStream struct {
	net.Conn
	method string
	armed  atomic.Bool
}

func (f *faultyStream) called(method string) {
	if method == f.method && f.armed.Load() {
		panic("lost marbles")
	}
}

func (f *faultyStream) Read(p []byte) (int, error) {
	f.called("Read")
	return f.Conn.Read(p)
}

func (f *faultyStream) Write(p []byte) (int, error) {
	f.called("Write")
	return f.Conn.Write(p)
}

func (f *faultyStream) Close() error {
	defer f.called("Close")
	return f.Conn.Close()
}

func (f *faultyStream) SetReadDeadline(t time.Time) error {
	f.called("SetReadDeadline")
	return f.Conn.SetReadDeadline(t)
}

func (f *faultyStream) SetWriteDeadline(t time.Time) error {
	f.called("SetWriteDeadline")
	return f.Conn.SetWriteDeadline(t)
}

// inEachStream runs a test with a server at the other end of a stream whose method panics while it
// is armed, with deadlines and, unless the method is one of theirs, without. Then it looks for the
// panic in the log.
func inEachStream(t *testing.T, methods []string, test func(t *testing.T, f *faultyStream, connect func() (*mcpclient.Client, error))) {
	t.Parallel()
	for _, method := range methods {
		for _, deadlines := range []bool{true, false} {
			if !deadlines && strings.HasPrefix(method, "Set") {
				continue
			}
			t.Run(fmt.Sprintf("%s, deadlines %t", method, deadlines), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log lockedLog
					ours, theirs := net.Pipe()
					f := &faultyStream{Conn: ours, method: method}
					var stream io.ReadWriteCloser = f
					if !deadlines {
						stream = struct{ io.ReadWriteCloser }{f}
					}
					srv := mcpserver.New("s", "1", &mcpserver.Options{Logger: quiet()})
					srv.Tool("quick", "", func(context.Context, struct{}) (string, error) { return "done", nil })
					served := make(chan struct{})
					go func() {
						defer close(served)
						_ = srv.ServeStream(context.WithoutCancel(t.Context()), theirs)
					}()
					test(t, f, func() (*mcpclient.Client, error) {
						return mcpclient.Connect(t.Context(), mcpclient.Stream(stream), &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
					})
					<-served
					synctest.Wait()
					if got := log.String(); !strings.Contains(got, "connection panicked") || !strings.Contains(got, "goroutine ") || !strings.Contains(got, "method="+method) {
						t.Errorf("got the log %s, want the panic of %s and its stack", got, method)
					}
				})
			})
		}
	}
}

func TestPanicOfAStreamIsTheErrorOfConnect(t *testing.T) {
	inEachStream(t, []string{"Read", "Write", "SetReadDeadline", "SetWriteDeadline"}, func(t *testing.T, f *faultyStream, connect func() (*mcpclient.Client, error)) {
		f.armed.Store(true)
		if _, err := connect(); err == nil || !strings.Contains(err.Error(), "panic: lost marbles") {
			t.Errorf("got %v, want the panic", err)
		}
	})
}

// A Read is pending when the others begin to panic.
func TestPanicOfAStreamEndsItsConnection(t *testing.T) {
	inEachStream(t, []string{"Read", "Write", "SetReadDeadline", "SetWriteDeadline", "Close"}, func(t *testing.T, f *faultyStream, connect func() (*mcpclient.Client, error)) {
		c, err := connect()
		if err != nil {
			t.Fatal(err)
		}
		f.armed.Store(true)
		var failed error
		for range 2 {
			_, err := c.CallTool(t.Context(), "quick", nil)
			failed = cmp.Or(failed, err)
		}
		closed := c.Close()
		if _, lost := errors.AsType[*mcpclient.LostError](failed); lost != (f.method == "Read" || f.method == "Write") {
			t.Errorf("got %v from the calls, want a LostError if Read or Write panics", failed)
		}
		if panicked := closed != nil && strings.Contains(closed.Error(), "panic: lost marbles"); panicked != (f.method == "Close") {
			t.Errorf("got %v from Close, want its own panic alone", closed)
		}
	})
}
