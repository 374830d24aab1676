package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Reasons for which a Gate refuses a call.
var (
	// ErrShare reports that the share of the caller is full.
	ErrShare = errors.New("the caller has too much running")
	// ErrWhole reports that all callers together have reached the limit.
	ErrWhole = errors.New("too much is running")
)

// Gate admits calls as long as they fit into the limit of all calls and into the share of
// their owner. Other calls wait in a bounded queue, for a bounded time. The queue is fair
// between owners: a place that becomes free goes to the next owner in turn, and when the
// queue is full, the newest call of the owner with the most waiting calls is refused.
//
// While no call waits, entering and leaving cost two atomic operations each. A Gate is safe
// for concurrent use.
type Gate[Owner comparable] struct {
	// Crowded is called when a call has waited for half of the maximum time because all
	// callers together have reached the limit. Its arguments are the owner and the bytes
	// of the call. It may end calls of other owners. Nil does nothing.
	Crowded func(owner Owner, bytes int)
	// Turn returns the group of an owner: the calls of one group share one turn in the
	// queue. If Turn is nil, each owner is a group by itself.
	Turn func(Owner) Owner

	whole      *Share
	maxWaiting Bounds
	wait       time.Duration

	waiting atomic.Int64 // the number of waiting calls; changed under mu

	mu     sync.Mutex
	owners []*queue[Owner]         // guarded by mu: of the owners with waiting calls, the next in turn first
	queues map[Owner]*queue[Owner] // guarded by mu

	returning []*waiter // guarded by mu: calls of Return, the oldest first
	weight    int64     // guarded by mu: of all that wait
}

// queue holds the waiting calls of one owner, the oldest first.
type queue[Owner comparable] struct {
	owner Owner
	calls []*waiter
}

// waiter is one waiting call.
type waiter struct {
	share  *Share
	weight int64
	result chan error // receives one value, which is nil when the call is admitted
}

// NewGate returns a Gate. whole limits the calls that run, maxWaiting those that wait, and wait
// the time that a call waits; it must not be negative.
func NewGate[Owner comparable](whole, maxWaiting Bounds, wait time.Duration) *Gate[Owner] {
	return &Gate[Owner]{whole: NewShare(whole), maxWaiting: maxWaiting, wait: wait, queues: make(map[Owner]*queue[Owner])}
}

// Enter admits a call with that many bytes. The call needs one Leave with the same share
// and bytes. Enter fails with ErrShare, ErrWhole or the cause of ctx. A nil share is
// unbounded. who returns the owner; it is called only if the call has to wait.
func (g *Gate[Owner]) Enter(ctx context.Context, share *Share, bytes int, who func() Owner) error {
	w := weigh(bytes)
	if g.waiting.Load() == 0 && g.take(share, w) == nil {
		return nil
	}
	return g.queue(ctx, who(), &waiter{share: share, weight: w, result: make(chan error, 1)})
}

// Leave frees the place of a call that Enter or Return has admitted.
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

// take takes a place. It fails with ErrShare or ErrWhole.
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

// queue has a call wait for its turn.
func (g *Gate[Owner]) queue(ctx context.Context, owner Owner, w *waiter) error {
	turn := owner
	if g.Turn != nil {
		turn = g.Turn(owner)
	}
	g.mu.Lock()
	g.join(turn, w)
	g.admit()
	g.refuseExcess()
	g.mu.Unlock()
	crowded := time.NewTimer(g.wait / 2)
	defer crowded.Stop()
	late := time.NewTimer(g.wait)
	defer late.Stop()
	for {
		select {
		case err := <-w.result:
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

// giveUp removes a call from the queue, unless it has been admitted in the meantime.
func (g *Gate[Owner]) giveUp(ctx context.Context, owner Owner, w *waiter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-w.result:
		return err
	default:
	}
	g.removeWaiter(g.queues[owner], w)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return why(w)
}

// why returns the limit that a waiting call waits for.
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

// removeWaiter removes a call from the queue of its owner.
func (g *Gate[Owner]) removeWaiter(q *queue[Owner], w *waiter) {
	i := slices.Index(q.calls, w)
	q.calls = slices.Delete(q.calls, i, i+1)
	g.weight -= w.weight
	g.waiting.Add(-1)
	if len(q.calls) == 0 {
		delete(g.queues, q.owner)
		g.owners = slices.DeleteFunc(g.owners, func(other *queue[Owner]) bool { return other == q })
	}
}

// admit admits waiting calls as long as there is room, one call of each owner in turn. It
// skips owners whose share is full, and stops when the limit of all calls is reached.
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
		g.removeWaiter(q, w)
		w.result <- nil
	}
}

// refuseExcess refuses waiting calls until the queue is within its limit.
func (g *Gate[Owner]) refuseExcess() {
	for len(g.owners) > 0 && !g.maxWaiting.allow(g.weight-1<<byteBits, 1<<byteBits) {
		q := slices.MaxFunc(g.owners, func(a, b *queue[Owner]) int { return len(a.calls) - len(b.calls) })
		w := q.calls[len(q.calls)-1]
		g.removeWaiter(q, w)
		w.result <- why(w)
	}
}
