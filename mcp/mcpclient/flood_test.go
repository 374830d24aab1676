package mcpclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const ping = `{"jsonrpc":"2.0","id":"p%d","method":"ping"}`

// Each answer is a connection, which the server need not take.
func TestUnsentAnswersAreBoundedOverHTTP(t *testing.T) {
	t.Parallel()
	var held atomic.Int32
	flooded := make(chan bool)
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		switch {
		case e.Request.Method == http.MethodGet:
			for i := range 1000 {
				e.event("data: " + fmt.Sprintf(ping, i))
			}
			close(flooded)
			e.hold()
		case e.Request.Method == http.MethodPost && e.message.Method == "":
			held.Add(1)
			e.hold()
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), nil)
	<-flooded
	for before := int32(-1); before < 64 || before != held.Load(); time.Sleep(100 * time.Millisecond) {
		before = held.Load()
	}
	if got := held.Load(); got > 128 {
		t.Errorf("got %d answers at once, want at most 128", got)
	}
	_ = c.Close()
}

// deaf is a connection to a server that pings and does not read the answers.
type deaf struct {
	in   chan []byte
	end  context.Context
	held atomic.Int32
}

func (d *deaf) Read(ctx context.Context) ([]byte, error) {
	select {
	case msg := <-d.in:
		return msg, nil
	case <-d.end.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d *deaf) Write(ctx context.Context, msg []byte) error {
	switch m := parse(msg); m.Method {
	case mcp.MethodInitialize:
		d.in <- []byte(m.result(initializeResult("2025-11-25")))
	case "":
		d.held.Add(1)
		<-d.end.Done()
		return io.ErrClosedPipe
	}
	return nil
}

func (d *deaf) Close() error { return nil }

func TestUnreadAnswersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end, cancel := context.WithCancel(context.Background())
		d := &deaf{in: make(chan []byte, 1), end: end}
		c := connect(t, mcpclient.Conn(d), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		for i := range 1000 {
			select {
			case d.in <- fmt.Appendf(nil, ping, i):
			default:
			}
			synctest.Wait()
		}
		if got := d.held.Load(); got < 64 || got > 65 {
			t.Errorf("got %d answers that wait, want 64 and one refusal", got)
		}
		cancel()
		_ = c.Close()
	})
}
