package mcpclient_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// flooding is a connection to a server that always has a notification to send, and answers between them.
type flooding struct {
	answers chan []byte
	floods  atomic.Bool
	sent    atomic.Int64
	end     context.Context
}

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

func (f *flooding) Read(ctx context.Context) ([]byte, error) {
	if f.floods.Load() {
		select {
		case answer := <-f.answers:
			return answer, nil
		default:
			f.sent.Add(1)
			return []byte(listChanged), nil
		}
	}
	select {
	case answer := <-f.answers:
		return answer, nil
	case <-f.end.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *flooding) Write(_ context.Context, msg []byte) error {
	switch m := parse(msg); m.Method {
	case mcp.MethodInitialize:
		f.answers <- []byte(m.result(initializeResult("2025-11-25")))
	case mcp.MethodPing:
		f.answers <- []byte(m.result(`{}`))
	case mcp.NotificationInitialized:
		f.floods.Store(true)
		f.answers <- []byte(listChanged)
	}
	return nil
}

func (f *flooding) Close() error { return nil }

// The client reads no faster than it wants to, so that the server has to wait, and its calls are answered.
func TestFloodOfNotificationsIsSlowedDownAtItsSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end, stop := context.WithCancel(t.Context())
		f := &flooding{answers: make(chan []byte, 10), end: end}
		var reached atomic.Int64
		c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(f), &mcpclient.Options{
			Logger: quiet(), Revisions: []mcp.Revision{mcp.V20251125},
			OnLimit: func(l mcp.LimitReached) {
				if l.Limit == mcp.LimitNotifications {
					reached.Add(1)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if got := f.sent.Load(); got < 19_000 || got > 21_000 {
			t.Errorf("got %d notifications read in 10 s, want 10,000 and then 1,000 a second", got)
		}
		if reached.Load() == 0 {
			t.Error("want the limit reported")
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("got %v, want the server answered in the meantime", err)
		}
		f.floods.Store(false)
		stop()
		begun := time.Now()
		_ = c.Close()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("closing took %v, want it not to wait", took)
		}
	})
}
