package exchange_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/memory"
)

// stuck is a connection whose batches wait until it is free.
type stuck struct {
	mcp.Conn
	free chan struct{}

	mu    sync.Mutex
	sizes []int // of the batches
}

var _ exchange.BatchConn = (*stuck)(nil)

func (s *stuck) WriteAll(ctx context.Context, msgs [][]byte) error {
	s.mu.Lock()
	s.sizes = append(s.sizes, len(msgs))
	s.mu.Unlock()
	<-s.free
	for _, msg := range msgs {
		if err := s.Write(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

func TestRepliesThatAreReadyTogetherGoOutTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := memory.Pair()
		conn := &stuck{Conn: theirs, free: make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- newServer().Serve(context.Background(), conn) }()
		w := wire{t, ours}
		ping := func(id int) { w.send(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }
		w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		w.read()
		ping(1)
		synctest.Wait()
		for id := range 9 {
			ping(2 + id)
		}
		synctest.Wait()
		close(conn.free)
		answers := make(map[string]bool)
		for range 10 {
			answers[w.read()] = true
		}
		if want := []int{1, 9}; !slices.Equal(conn.sizes, want) || len(answers) != 10 {
			t.Errorf("got %d answers in batches of %v, want 10 in %v", len(answers), conn.sizes, want)
		}
		_ = ours.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
