package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// placed returns a connection of a place, which ends when end is called.
func placed(t *testing.T, p *Place) (c *connection, end func()) {
	t.Helper()
	c = newConnection(connectionParams{})
	var cancelled context.Context
	cancelled, c.cancel = context.WithCancel(t.Context())
	c.ended, end = context.WithCancel(t.Context())
	t.Cleanup(func() {
		c.cancel()
		end()
		<-cancelled.Done()
	})
	for range 2 { // each lease adds it
		if !p.add(c) {
			t.Fatal("the place does not take a connection")
		}
	}
	return c, end
}

func TestPlaceEndsWhenItsConnectionsHaveEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, other := new(Place), new(Place)
		one, endOne := placed(t, p)
		_, endTwo := placed(t, p)
		stays, _ := placed(t, other)
		endTwo()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- p.End(t.Context()) }()
		synctest.Wait()
		if !one.isClosed() || stays.isClosed() || len(ended) > 0 {
			t.Errorf("got closed %v and %v, ended %v; want the connection of the place closed, and that End waits", one.isClosed(), stays.isClosed(), len(ended) > 0)
		}
		endOne()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if p.add(newConnection(connectionParams{})) {
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
