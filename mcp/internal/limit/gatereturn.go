package limit

import (
	"context"
	"slices"
)

// Return lets a call in again that Enter has let in and that has left while it waited
// for its client. It goes before calls that are new, also before those that wait, and
// is never refused: it waits until there is room. It fails only with the cause of ctx.
// A call that has returned needs one Leave.
func (g *Gate[Owner]) Return(ctx context.Context, share *Share, bytes int) error {
	w := &waiter{share: share, weight: weigh(bytes), told: make(chan error, 1)}
	g.mu.Lock()
	g.returning = append(g.returning, w)
	g.waiting.Add(1) // from here on new calls go through the line
	g.admit()
	g.mu.Unlock()
	select {
	case err := <-w.told:
		return err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-w.told:
		return err
	default:
	}
	g.returning = slices.DeleteFunc(g.returning, func(other *waiter) bool { return other == w })
	g.waiting.Add(-1)
	g.admit()
	return context.Cause(ctx)
}

// admitReturning lets in the calls that return, the oldest first, and reports whether
// the whole has room for more. A call whose owner has its share running waits on without
// delaying others. The caller holds mu.
func (g *Gate[Owner]) admitReturning() (room bool) {
	for i := 0; i < len(g.returning); {
		w := g.returning[i]
		switch g.take(w.share, w.weight) {
		case ErrWhole:
			return false
		case nil:
			g.returning = slices.Delete(g.returning, i, i+1)
			g.waiting.Add(-1)
			w.told <- nil
		default:
			i++
		}
	}
	return true
}
