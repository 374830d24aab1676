package link

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// placed returns a connection of a place that ends, after it was closed, when end is called.
func placed(t *testing.T, p *Place) (c *Conn, end func()) {
	t.Helper()
	ending := make(chan struct{})
	end = sync.OnceFunc(func() { close(ending) })
	c = New(t.Context(), Params{Kind: Own, Connect: func(ctx context.Context, _ *Conn) (*mcpclient.Client, error) {
		<-ending
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	t.Cleanup(func() {
		c.Close()
		end()
	})
	for range 2 { // each lease adds it
		if !p.add(c) {
			t.Fatal("the place does not take a connection")
		}
	}
	go c.Run()
	synctest.Wait()
	return c, end
}

func TestPlaceEndsWhenItsConnectionsHaveEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, other := new(Place), new(Place)
		one, endOne := placed(t, p)
		two, endTwo := placed(t, p)
		stays, _ := placed(t, other)
		two.Close()
		endTwo()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- p.End(t.Context()) }()
		synctest.Wait()
		if !one.IsClosed() || stays.IsClosed() || len(ended) > 0 {
			t.Errorf("got closed %v and %v, ended %v; want the connection of the place closed, and that End waits", one.IsClosed(), stays.IsClosed(), len(ended) > 0)
		}
		endOne()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if p.add(New(t.Context(), Params{Kind: Own})) {
			t.Error("a place that has ended takes a connection")
		}
	})
}

func TestPlaceDoesNotWaitForeverForAConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := new(Place)
		placed(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.End(ctx); err == nil {
			t.Error("got no error of a connection that does not end")
		}
	})
}
