package streamhttp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// appendTimeout bounds how long an event waits for the event store. The client gets the event
	// afterwards even if the store has not taken it.
	appendTimeout = 2 * time.Second
	// appendRetry is for how long no event is given to a store that has not answered, so that the
	// events of a call do not wait one after the other.
	appendRetry = 5 * time.Second
)

// boundedEvents is an event store that does not hold up calls while it does not answer.
type boundedEvents struct {
	mcp.EventStore

	mu     sync.Mutex
	retry  time.Time // guarded by mu: when the store is called again; zero if it answers
	stored time.Time // guarded by mu: when it has taken an event last
}

var errEventsSilent = errors.New("the event store has not answered")

// Append implements mcp.EventStore.
func (b *boundedEvents) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	began := time.Now()
	b.mu.Lock()
	silent := began.Before(b.retry)
	b.mu.Unlock()
	if silent {
		return errEventsSilent
	}
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	err := b.EventStore.Append(ctx, stream, n, msg)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.stored = time.Now()
	case ctx.Err() != nil && b.stored.Before(began): // it has not taken other events either
		b.retry = time.Now().Add(appendRetry)
	}
	return err
}
