package catalog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxListReads limits the reads of one upstream's lists for certain callers that run at the
	// same time: for callers with certain capabilities, and over the connections of single callers.
	// Others wait. Each takes several times the memory of the longest page.
	maxListReads = 2
	// maxOwnerListReads limits those of one owner.
	maxOwnerListReads = 1
)

// listReads are the reads of an upstream's lists for certain callers that run.
type listReads struct {
	pool *mcpserver.OwnerPool

	mu    sync.Mutex
	ended chan struct{} // guarded by mu: closed when a read has ended
}

func newListReads() listReads {
	return listReads{
		pool:  mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxListReads, Each: maxOwnerListReads, KeepBusy: true}),
		ended: make(chan struct{}),
	}
}

// errManyReads says why a read did not begin.
var errManyReads = errors.New("too many reads of lists for other callers run")

// errMakesRoom is the cause with which a read is cancelled to make room.
var errMakesRoom = errors.New("the read makes room for that of another caller")

// run runs a read for an owner as soon as there is room, and returns its error. timeout limits the
// wait; nil stands for no limit. A read that has to make room for that of an owner whose address has
// fewer is cancelled, and runs again later.
func (l *listReads) run(ctx context.Context, owner mcpserver.Owner, timeout <-chan time.Time, read func(context.Context) error) error {
	for {
		l.mu.Lock()
		ended := l.ended
		l.mu.Unlock()
		if done, err := l.try(ctx, owner, read); done {
			return err
		}
		select {
		case <-ended:
		case <-timeout:
			return errManyReads
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try runs a read. It reports false if there is no room, or if the read was cancelled to make room.
func (l *listReads) try(ctx context.Context, owner mcpserver.Owner, read func(context.Context) error) (done bool, err error) {
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	place, err := l.pool.Take(owner, 1, func() { cancel(errMakesRoom) })
	if err != nil {
		return false, nil
	}
	defer l.notifyEnded()
	defer place.Release()
	err = read(reading)
	return err == nil || context.Cause(reading) != errMakesRoom, err
}

// notifyEnded wakes all who wait for the end of a read.
func (l *listReads) notifyEnded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.ended)
	l.ended = make(chan struct{})
}
