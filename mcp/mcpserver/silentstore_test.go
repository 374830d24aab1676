package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// silentStore does not answer while it is silent.
type silentStore struct {
	mcp.Store
	silent atomic.Bool
}

func (s *silentStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if s.silent.Load() {
		<-ctx.Done()
		return nil, false, ctx.Err()
	}
	return s.Store.Get(ctx, key)
}

func TestSilentStoreDelaysOneRequestInASecond(t *testing.T) {
	claim.Shows(t, "B-15")
	synctest.Test(t, func(t *testing.T) {
		store := &silentStore{Store: new(mcpserver.MemoryStore)}
		bus := new(mcpserver.MemoryBus)
		var at [2]*counted // whose replica 0 is used alone
		for i := range at {
			srv := newServer(&mcpserver.Options{Keys: sharedKeys, Store: store, Bus: bus})
			srv.Tool("plain", "Returns a word", func(context.Context, struct{}) (string, error) { return "word", nil })
			t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
			at[i] = &counted{T: t, replicas: []*mcpserver.Server{srv}}
		}
		const clients, seconds = 20, 30
		var sessions [clients][]string
		for i := range sessions {
			sessions[i] = at[0].open()
		}
		time.Sleep(10 * time.Second)
		store.silent.Store(true)
		var delayed atomic.Int32
		var all sync.WaitGroup
		for _, session := range sessions {
			all.Go(func() {
				for end := time.Now().Add(seconds * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
					start := time.Now()
					at[0].post(0, fmt.Sprintf(sessionCall, 1, "plain"), session...)
					if took := time.Since(start); took > 2*time.Second {
						t.Errorf("a call took %v, want at most 2s", took)
					} else if took > 0 {
						delayed.Add(1)
					}
				}
			})
		}
		all.Wait()
		if got := int(delayed.Load()); got < 1 || got > clients+seconds {
			t.Errorf("%d requests were delayed, want the first of each of %d clients and one in each of %d seconds at most", got, clients, seconds)
		}
		start := time.Now()
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/mcp", nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Mcp-Session-Id", sessions[0][1])
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		w := httptest.NewRecorder()
		at[1].replicas[0].HTTPHandler().ServeHTTP(w, r)
		if took := time.Since(start); w.Code != http.StatusServiceUnavailable || took > 2*time.Second {
			t.Errorf("GET at another replica: got status %d after %v, want 503 within 2s", w.Code, took)
		}
	})
}
