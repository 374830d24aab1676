package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestReadOfListsWaitsForRoomAndNoLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, release := newListReads(), make(chan struct{})
		var owner mcpserver.Owner
		hold := func(context.Context) error {
			<-release
			return nil
		}
		go func() { _ = reads.run(t.Context(), owner, nil, hold) }()
		synctest.Wait()
		began := time.Now()
		err := reads.run(t.Context(), owner, time.After(listTimeout), hold)
		if !errors.Is(err, errManyReads) || time.Since(began) != listTimeout {
			t.Errorf("got %v after %v, want to give up after %v", err, time.Since(began), listTimeout)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := reads.run(ctx, owner, nil, hold); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		time.AfterFunc(time.Second, func() { close(release) })
		failed := errors.New("failed")
		if err := reads.run(t.Context(), owner, nil, func(context.Context) error { return failed }); err != failed {
			t.Errorf("got %v, want the error of the read", err)
		}
		if n := reads.pool.Held(); n != 0 {
			t.Errorf("got %d places taken after all reads", n)
		}
	})
}
