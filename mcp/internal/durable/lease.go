package durable

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Times of a lease.
const (
	// LeaseTime is when a lease expires that is not renewed: the time after which the work of a
	// process that was killed can be continued.
	LeaseTime = 6 * time.Second
	// renewal is the time between renewals, and retry that after a renewal that has failed.
	renewal = 2 * time.Second
	retry   = 500 * time.Millisecond
	// margin is how much earlier than the Store a process takes its lease for expired.
	margin = 500 * time.Millisecond
	// callTimeout bounds each call of the Store.
	callTimeout = 2 * time.Second
	// holderRenewal is the time between renewals of the holder key, which a Term can outlive.
	holderRenewal = 24 * time.Hour
)

// ErrLost is the cause with which the context of a Term ends when the lease was not renewed in
// time.
var ErrLost = errors.New("the lease of this process has expired, because it could not be renewed in the Store in time: the work continues on another replica")

// errLeft ends the context of a Term that nobody uses any more.
var errLeft = errors.New("the lease is not used any more")

// Lease is the lease of one process in a Queue. It is held while somebody uses it. All methods
// are safe for concurrent use.
type Lease struct {
	queue *Queue

	mu   sync.Mutex
	term *Term // guarded by mu: nil while nobody uses the lease
}

// NewLease returns a lease that nobody uses yet.
func NewLease(q *Queue) *Lease { return &Lease{queue: q} }

// Term is the time during which a process holds its lease without interruption.
type Term struct {
	// Token names the Term in the Store.
	Token string

	lease  *Lease
	ctx    context.Context // ends with the Term
	cancel context.CancelCauseFunc
	ready  chan struct{} // closed when the lease is held, or could not be
	failed error         // why it could not be; set before ready is closed
	ended  chan struct{} // closed when the goroutine has ended

	holder time.Time // when the holder key was written last; used by the goroutine only

	users int // guarded by the mu of Lease

	mu     sync.Mutex
	until  time.Time   // guarded by mu: when the lease has to be taken for expired
	expiry *time.Timer // loses the Term at until
}

// Enter returns the present Term, and begins one if there is none. The Term is used until Leave.
// Enter fails when the lease cannot be written, and when ctx ends first.
func (l *Lease) Enter(ctx context.Context) (*Term, error) {
	l.mu.Lock()
	t := l.term
	if t == nil || !t.Held() && t.begun() {
		t = l.begin()
		l.term = t
	}
	t.users++
	l.mu.Unlock()
	select {
	case <-t.ready:
		if t.failed == nil {
			return t, nil
		}
		t.Leave()
		return nil, fmt.Errorf("lease: %w", t.failed)
	case <-ctx.Done():
		t.Leave()
		return nil, context.Cause(ctx)
	}
}

func (l *Lease) begin() *Term {
	t := &Term{Token: rand.Text(), lease: l, ready: make(chan struct{}), ended: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	go t.hold()
	return t
}

// begun reports whether the lease was held or could not be.
func (t *Term) begun() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// Leave ends one use of the Term. The last one ends the Term and waits until it has ended.
func (t *Term) Leave() {
	t.lease.mu.Lock()
	t.users--
	last := t.users == 0
	if last && t.lease.term == t {
		t.lease.term = nil
	}
	t.lease.mu.Unlock()
	if last {
		t.cancel(errLeft)
		<-t.ended
	}
}

// Context returns a context that ends with the Term, with ErrLost if it was lost.
func (t *Term) Context() context.Context { return t.ctx }

// Held reports whether the lease is held. It also notices that the process was paused, or the
// machine suspended.
func (t *Term) Held() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ctx.Err() == nil && isBefore(time.Now(), t.until)
}

// isBefore compares two times by the monotonic clock, which can stand still while the machine is
// suspended, and by the wall clock, which can be set back.
func isBefore(now, until time.Time) bool {
	return now.Before(until) && now.Round(0).Before(until.Round(0))
}

// held extends the Term by a renewal that began at that time.
func (t *Term) held(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = at.Add(LeaseTime - margin)
	left := time.Until(t.until)
	if t.expiry == nil {
		t.expiry = time.AfterFunc(left, func() { t.cancel(ErrLost) })
		return
	}
	t.expiry.Reset(left)
}

// hold begins, renews and ends the lease.
func (t *Term) hold() {
	defer close(t.ended)
	if t.failed = t.create(); t.failed != nil {
		t.cancel(t.failed)
	}
	close(t.ready)
	if t.failed != nil {
		return
	}
	defer t.expiry.Stop()
	next := time.NewTimer(renewal)
	defer next.Stop()
	for {
		select {
		case <-t.ctx.Done():
			t.end()
			return
		case <-next.C:
		}
		if t.renew() {
			next.Reset(renewal)
		} else {
			next.Reset(retry)
		}
	}
}

// create writes the keys of the Term: first the lease, so that a Term without one has ended.
func (t *Term) create() error {
	ctx, cancel := context.WithTimeout(t.ctx, callTimeout)
	defer cancel()
	q, at := t.lease.queue, time.Now()
	made, err := q.store.Create(ctx, q.leaseKey(t.Token), []byte(t.Token), LeaseTime)
	if err == nil && !made {
		err = errors.New("the token is taken")
	}
	if err == nil {
		err = t.writeHolder(ctx)
	}
	if err == nil {
		t.held(at)
	}
	return err
}

// writeHolder writes the holder key.
func (t *Term) writeHolder(ctx context.Context) error {
	at := time.Now()
	err := t.lease.queue.store.Put(ctx, t.lease.queue.holderKey(t.Token), nil, holderTime)
	if err == nil {
		t.holder = at
	}
	return err
}

// renew reports whether the lease was renewed. A lease that has expired in the Store is lost.
func (t *Term) renew() bool {
	ctx, cancel := context.WithTimeout(t.ctx, callTimeout)
	defer cancel()
	q, at := t.lease.queue, time.Now()
	token := []byte(t.Token)
	swapped, err := q.store.Swap(ctx, q.leaseKey(t.Token), token, token, LeaseTime)
	switch {
	case err != nil:
		return false
	case !swapped:
		t.cancel(ErrLost)
		return false
	}
	t.held(at)
	return time.Since(t.holder) < holderRenewal || t.writeHolder(ctx) == nil
}

// end deletes the keys of a Term that nobody uses any more, so that the others need not wait
// until the lease expires. A Term that was lost is left to the others.
func (t *Term) end() {
	if context.Cause(t.ctx) != errLeft {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	q := t.lease.queue
	if err := q.store.Delete(ctx, q.leaseKey(t.Token)); err != nil {
		return
	}
	if left, err := q.store.List(ctx, q.runningPrefix(t.Token), "", 1); err == nil && len(left) == 0 {
		_ = q.store.Delete(ctx, q.holderKey(t.Token))
	}
}

// Alive reports whether the Term of a token is held by its process, as far as the Store knows.
func (q *Queue) Alive(ctx context.Context, token string) (bool, error) {
	_, found, err := q.store.Get(ctx, q.leaseKey(token))
	return found, err
}
