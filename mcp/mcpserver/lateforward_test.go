package mcpserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// lateBus is a Bus whose messages are late from some time on.
type lateBus struct {
	mcp.Bus
	late atomic.Bool
}

func (b *lateBus) Publish(ctx context.Context, topic string, msg []byte) error {
	if b.late.Load() {
		time.Sleep(2500 * time.Millisecond) // longer than a POST waits
	}
	return b.Bus.Publish(ctx, topic, msg)
}

// A failure means that a client sends a call again that another replica has begun.
func TestPostOfHTTPAndSSEThatAnotherReplicaTookIsNotRepeated(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	store, bus := new(mcpserver.MemoryStore), new(mcpserver.MemoryBus)
	answers := &lateBus{Bus: bus}
	var replicas []http.Handler
	for _, b := range []mcp.Bus{answers, bus} {
		srv := newServer(&mcpserver.Options{Keys: sharedKeys, Store: store, Bus: b})
		srv.Tool("pay", "Pays", func(context.Context, struct{}) (string, error) {
			ran.Add(1)
			return "paid", nil
		})
		replicas = append(replicas, srv.EventStreamHandler())
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = srv.Shutdown(ctx)
		})
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			replicas[0].ServeHTTP(w, r)
			return
		}
		replicas[1].ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	c, err := mcpclient.Connect(t.Context(), mcpclient.EventStream(web.URL), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	answers.late.Store(true)
	_, err = c.CallTool(t.Context(), "pay", nil)
	if n := ran.Load(); n != 1 {
		t.Errorf("the tool ran %d times, want once; the call got %v", n, err)
	}
}
