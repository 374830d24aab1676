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
// While no call waits, TryEnter and Leave cost two atomic operations each. A Gate is safe for
// concurrent use.
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
	last   Owner                   // guarded by mu: the owner whose call Enter admitted last

	returning []*waiter // guarded by mu: calls of Return, the oldest first
	weight    int64     // guarded by mu: of the calls in the queues that are not kept
}

// queue holds the waiting calls of one owner.
type queue[Owner comparable] struct {
	owner     Owner
	calls     []*waiter // those that are first, then the others, each the oldest first
	refusable int       // the calls that are not kept
}

// waiter is one waiting call.
type waiter struct {
	share  *Share
	weight int64
	first  bool       // it goes before the calls of its owner that are not first
	kept   bool       // it waits as long as its context lasts, and is not refused
	result chan error // receives one value, which is nil when the call is admitted
}

// NewGate returns a Gate. whole limits the calls that run, maxWaiting those that wait, and wait
// the time that a call waits; it must not be negative.
func NewGate[Owner comparable](whole, maxWaiting Bounds, wait time.Duration) *Gate[Owner] {
	return &Gate[Owner]{whole: NewShare(whole), maxWaiting: maxWaiting, wait: wait, queues: make(map[Owner]*queue[Owner])}
}

// TryEnter admits a call with that many bytes if it need not wait, and reports whether it did.
// The call then needs one Leave with the same share and bytes. A nil share is unbounded.
func (g *Gate[Owner]) TryEnter(share *Share, bytes int) bool {
	return g.waiting.Load() == 0 && g.take(share, weigh(bytes)) == nil
}

// Waiting returns the number of calls that wait.
func (g *Gate[Owner]) Waiting() int { return int(g.waiting.Load()) }

// Enter admits a call of an owner with that many bytes, for which it may wait. The call then
// needs one Leave with the same share and bytes. Enter fails with ErrShare, ErrWhole or the
// cause of ctx. A nil share is unbounded.
func (g *Gate[Owner]) Enter(ctx context.Context, share *Share, bytes int, owner Owner) error {
	return g.enter(ctx, owner, waiter{share: share, weight: weigh(bytes)})
}

// EnterKept is Enter for a call that is not refused: it waits in its turn as long as ctx lasts,
// and fails only with the cause of ctx. The caller limits the number of such calls.
func (g *Gate[Owner]) EnterKept(ctx context.Context, share *Share, bytes int, owner Owner) error {
	return g.enter(ctx, owner, waiter{share: share, weight: weigh(bytes), kept: true})
}

// EnterFirst is EnterKept for a call that goes before the other calls of its owner. It waits for
// the turn of its owner as they do.
func (g *Gate[Owner]) EnterFirst(ctx context.Context, share *Share, bytes int, owner Owner) error {
	return g.enter(ctx, owner, waiter{share: share, weight: weigh(bytes), first: true, kept: true})
}

// Leave frees the place of a call that TryEnter, Enter or Return has admitted.
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

// enter admits a call at once or in its turn.
func (g *Gate[Owner]) enter(ctx context.Context, owner Owner, w waiter) error {
	turn := owner
	if g.Turn != nil {
		turn = g.Turn(owner)
	}
	g.mu.Lock()
	admitted := g.waiting.Load() == 0 && g.take(w.share, w.weight) == nil
	if admitted {
		g.last = turn
	}
	g.mu.Unlock()
	if admitted {
		return nil
	}
	return g.queue(ctx, owner, turn, w)
}

// queue has a call wait for its turn.
func (g *Gate[Owner]) queue(ctx context.Context, owner, turn Owner, call waiter) error {
	w := &call
	w.result = make(chan error, 1)
	g.mu.Lock()
	g.join(turn, w)
	g.admit()
	g.refuseExcess()
	g.mu.Unlock()
	crowded := time.NewTimer(g.wait / 2)
	defer crowded.Stop()
	var late <-chan time.Time
	if !w.kept {
		timer := time.NewTimer(g.wait)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case err := <-w.result:
			return err
		case <-crowded.C:
			if g.Crowded != nil && why(w) == ErrWhole {
				g.Crowded(owner, int(w.weight&(1<<byteBits-1)))
			}
			continue
		case <-late:
		case <-ctx.Done():
		}
		return g.giveUp(ctx, turn, w)
	}
}

// giveUp removes a call from the queue, unless it has been admitted in the meantime. There may be
// room for smaller calls behind it.
func (g *Gate[Owner]) giveUp(ctx context.Context, owner Owner, w *waiter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-w.result:
		return err
	default:
	}
	g.removeWaiter(g.queues[owner], w)
	g.admit()
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

// join puts a call into the queue of its owner: at the end, or behind the calls that are first.
func (g *Gate[Owner]) join(owner Owner, w *waiter) {
	q := g.queues[owner]
	if q == nil {
		q = &queue[Owner]{owner: owner}
		g.queues[owner] = q
		g.owners = append(g.owners, q)
	}
	at := len(q.calls)
	if w.first {
		at = q.firsts()
	}
	q.calls = slices.Insert(q.calls, at, w)
	g.waiting.Add(1)
	if !w.kept {
		q.refusable++
		g.weight += w.weight
	}
}

// firsts returns the number of calls that are first.
func (q *queue[Owner]) firsts() int {
	n := slices.IndexFunc(q.calls, func(w *waiter) bool { return !w.first })
	if n < 0 {
		return len(q.calls)
	}
	return n
}

// removeWaiter removes a call from the queue of its owner.
func (g *Gate[Owner]) removeWaiter(q *queue[Owner], w *waiter) {
	i := slices.Index(q.calls, w)
	q.calls = slices.Delete(q.calls, i, i+1)
	g.waiting.Add(-1)
	if !w.kept {
		q.refusable--
		g.weight -= w.weight
	}
	if len(q.calls) == 0 {
		delete(g.queues, q.owner)
		g.owners = slices.DeleteFunc(g.owners, func(other *queue[Owner]) bool { return other == q })
	}
}

// admit admits waiting calls as long as there is room, one call of each owner in turn, and not
// two of one owner in succession while others wait. It skips calls whose share is full, and
// stops when the limit of all calls is reached.
func (g *Gate[Owner]) admit() {
	if !g.admitReturning() {
		return
	}
	if len(g.owners) > 1 && g.owners[0].owner == g.last {
		g.owners = append(g.owners[1:], g.owners[0])
	}
	for passed := 0; passed < len(g.owners); {
		q := g.owners[0]
		w, err := g.takeNext(q)
		if err == ErrWhole {
			return
		}
		g.owners = append(g.owners[1:], q)
		if err != nil {
			passed++
			continue
		}
		passed, g.last = 0, q.owner
		g.removeWaiter(q, w)
		w.result <- nil
	}
}

// takeNext takes a place for the first call of an owner whose share has room: the members of an
// owner's group have shares of their own. It fails with ErrShare or ErrWhole.
func (g *Gate[Owner]) takeNext(q *queue[Owner]) (*waiter, error) {
	var full *Share
	for _, w := range q.calls {
		if w.share == full && full != nil {
			continue
		}
		switch g.take(w.share, w.weight) {
		case nil:
			return w, nil
		case ErrWhole:
			return nil, ErrWhole
		}
		full = w.share
	}
	return nil, ErrShare
}

// refuseExcess refuses waiting calls until the queues are within their limit.
func (g *Gate[Owner]) refuseExcess() {
	for g.weight > 0 && !g.maxWaiting.allow(g.weight-1<<byteBits, 1<<byteBits) {
		q := slices.MaxFunc(g.owners, func(a, b *queue[Owner]) int { return a.refusable - b.refusable })
		i := len(q.calls) - 1
		for q.calls[i].kept {
			i--
		}
		w := q.calls[i]
		g.removeWaiter(q, w)
		w.result <- why(w)
	}
}
