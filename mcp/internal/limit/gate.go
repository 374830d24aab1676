package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Reasons for which a gate lets a call in no more.
var (
	// ErrShare says that the caller holds as much as it may.
	ErrShare = errors.New("the caller has too much running")
	// ErrWhole says that all callers together do.
	ErrWhole = errors.New("too much is running")
)

// Gate lets calls in as long as they fit into the whole and into the share of their
// owner. Others wait in a bounded line, for a bounded time. The line is fair between
// owners: a place that comes free goes to the next of them in turn, and when the line
// is full, the newest call of the owner who has most in it makes room.
//
// While nobody waits, a call costs one atomic operation for each of the two on its way
// in, and on its way out. It is safe for concurrent use.
type Gate[Owner comparable] struct {
	// Crowded is told when the call of an owner, with that many bytes, has waited for
	// half of the longest time because all callers together have too much running. It
	// may end calls of others. Nil: calls just wait.
	Crowded func(owner Owner, bytes int)
	// Turn returns with whom an owner takes turns in the line. Nil: each by itself.
	Turn func(Owner) Owner

	whole *Share
	line  Bounds
	wait  time.Duration

	waiting atomic.Int64 // how many do; changed under mu

	mu     sync.Mutex
	owners []*queue[Owner]         // guarded by mu: those who wait, the next in turn first
	queues map[Owner]*queue[Owner] // guarded by mu

	returning []*waiter // guarded by mu: calls that were in before, the oldest first
	weight    int64     // guarded by mu: of all that wait
}

// queue are the waiting calls of one owner, the oldest first.
type queue[Owner comparable] struct {
	owner Owner
	calls []*waiter
}

// waiter is one waiting call.
type waiter struct {
	share  *Share
	weight int64
	told   chan error // one value: nil when it is let in
}

// NewGate returns a gate for the whole. As much as line may wait, no longer than wait,
// which is at least 0.
func NewGate[Owner comparable](whole, line Bounds, wait time.Duration) *Gate[Owner] {
	return &Gate[Owner]{whole: NewShare(whole), line: line, wait: wait, queues: make(map[Owner]*queue[Owner])}
}

// Enter lets a call of that many bytes in, which needs one Leave of the same share and
// bytes. It fails with ErrShare, ErrWhole or the cause of ctx. A nil share has no
// bounds of its own. Who is asked for the owner when the call has to wait.
func (g *Gate[Owner]) Enter(ctx context.Context, share *Share, bytes int, who func() Owner) error {
	w := weigh(bytes)
	if g.waiting.Load() == 0 && g.take(share, w) == nil {
		return nil
	}
	return g.queue(ctx, who(), &waiter{share: share, weight: w, told: make(chan error, 1)})
}

// Leave ends a call that Enter has let in.
func (g *Gate[Owner]) Leave(share *Share, bytes int) {
	w := weigh(bytes)
	share.release(w)
	g.whole.release(w)
	if g.waiting.Load() > 0 {
		g.mu.Lock()
		g.admit()
		g.mu.Unlock()
	}
}

// take takes a place, or says which bounds there are none in.
func (g *Gate[Owner]) take(share *Share, weight int64) error {
	if !share.take(weight) {
		return ErrShare
	}
	if !g.whole.take(weight) {
		share.release(weight)
		return ErrWhole
	}
	return nil
}

// queue lets a call wait for its turn.
func (g *Gate[Owner]) queue(ctx context.Context, owner Owner, w *waiter) error {
	turn := owner
	if g.Turn != nil {
		turn = g.Turn(owner)
	}
	g.mu.Lock()
	g.join(turn, w)
	g.admit()
	g.shorten()
	g.mu.Unlock()
	crowded := time.NewTimer(g.wait / 2)
	defer crowded.Stop()
	late := time.NewTimer(g.wait)
	defer late.Stop()
	for {
		select {
		case err := <-w.told:
			return err
		case <-crowded.C:
			if g.Crowded != nil && why(w) == ErrWhole {
				g.Crowded(owner, int(w.weight&(1<<byteBits-1)))
			}
			continue
		case <-late.C:
		case <-ctx.Done():
		}
		return g.giveUp(ctx, turn, w)
	}
}

// giveUp takes a call out of the line. It may have been let in meanwhile.
func (g *Gate[Owner]) giveUp(ctx context.Context, owner Owner, w *waiter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-w.told:
		return err
	default:
	}
	g.part(g.queues[owner], w)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return why(w)
}

// why says what a waiting call waits for.
func why(w *waiter) error {
	if !w.share.take(w.weight) {
		return ErrShare
	}
	w.share.release(w.weight)
	return ErrWhole
}

// The methods below need mu.

// join puts a call at the end of the queue of its owner.
func (g *Gate[Owner]) join(owner Owner, w *waiter) {
	q := g.queues[owner]
	if q == nil {
		q = &queue[Owner]{owner: owner}
		g.queues[owner] = q
		g.owners = append(g.owners, q)
	}
	q.calls = append(q.calls, w)
	g.weight += w.weight
	g.waiting.Add(1)
}

// part takes a call out of the queue of its owner.
func (g *Gate[Owner]) part(q *queue[Owner], w *waiter) {
	i := slices.Index(q.calls, w)
	q.calls = slices.Delete(q.calls, i, i+1)
	g.weight -= w.weight
	g.waiting.Add(-1)
	if len(q.calls) == 0 {
		delete(g.queues, q.owner)
		g.owners = slices.DeleteFunc(g.owners, func(other *queue[Owner]) bool { return other == q })
	}
}

// admit lets in what there is room for, one call of each owner in turn. Owners whose
// share is full are passed over; when the whole is, nobody else has to be asked.
func (g *Gate[Owner]) admit() {
	if !g.admitReturning() {
		return
	}
	for passed := 0; passed < len(g.owners); {
		q := g.owners[0]
		w := q.calls[0]
		err := g.take(w.share, w.weight)
		if err == ErrWhole {
			return
		}
		g.owners = append(g.owners[1:], q)
		if err != nil {
			passed++
			continue
		}
		passed = 0
		g.part(q, w)
		w.told <- nil
	}
}

// shorten lets the line fit into its bounds again.
func (g *Gate[Owner]) shorten() {
	for len(g.owners) > 0 && !g.line.allow(g.weight-1<<byteBits, 1<<byteBits) {
		q := slices.MaxFunc(g.owners, func(a, b *queue[Owner]) int { return len(a.calls) - len(b.calls) })
		w := q.calls[len(q.calls)-1]
		g.part(q, w)
		w.told <- why(w)
	}
}
