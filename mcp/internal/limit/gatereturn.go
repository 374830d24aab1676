package limit

import (
	"context"
	"slices"
)

// Return admits a call again that has left while it waited for its client. It has
// precedence over new calls, including those that wait already, and is never refused: it
// waits until there is room. It fails only with the cause of ctx. The call then needs
// another Leave.
func (g *Gate[Owner]) Return(ctx context.Context, share *Share, bytes int) error {
	w := &waiter{share: share, weight: weigh(bytes), result: make(chan error, 1)}
	g.mu.Lock()
	g.returning = append(g.returning, w)
	g.waiting.Add(1) // from here on new calls enter the queue
	g.admit()
	g.mu.Unlock()
	select {
	case err := <-w.result:
		return err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-w.result:
		return err
	default:
	}
	g.returning = slices.DeleteFunc(g.returning, func(other *waiter) bool { return other == w })
	g.waiting.Add(-1)
	g.admit()
	return context.Cause(ctx)
}

// admitReturning admits the calls that return, the oldest first, and reports whether there
// is room for more calls. A call whose share is full continues to wait and does not delay
// others. The caller holds mu.
func (g *Gate[Owner]) admitReturning() (room bool) {
	for i := 0; i < len(g.returning); {
		w := g.returning[i]
		switch g.take(w.share, w.weight) {
		case ErrWhole:
			return false
		case nil:
			g.returning = slices.Delete(g.returning, i, i+1)
			g.waiting.Add(-1)
			w.result <- nil
		default:
			i++
		}
	}
	return true
}
