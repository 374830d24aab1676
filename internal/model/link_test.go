package model_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// link is the connection of one replica to the engine.
type link struct {
	engine  *engine
	fate    fate        // of this replica
	faulted atomic.Bool // a call has failed, or may have

	mu     sync.Mutex
	calls  uint64     // guarded by mu
	sent   uint64     // guarded by mu: messages of the Bus
	state  connection // guarded by mu
	errors int        // guarded by mu: percentage of calls that fail although the link is connected
}

// connection is the state of a link.
type connection int

const (
	connected   connection = iota
	answersLost            // calls happen, and their answers do not arrive; messages do not arrive either
	callsLost              // calls and messages do not arrive at the engine; messages from it do
	cut                    // nothing arrives
	dead                   // the replica was killed
)

func (c connection) String() string {
	return [...]string{"connected", "answers lost", "calls lost", "cut", "dead"}[c]
}

func (l *link) set(c connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == dead {
		return
	}
	if l.state = c; c != connected {
		l.faulted.Store(true)
	}
}

func (l *link) connection() connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

func (l *link) setErrors(percent int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = percent
}

// longestCall bounds a call without a deadline.
const longestCall = 5 * time.Second

// call makes one call of the engine. Its duration and its faults follow from its number.
func (l *link) call(ctx context.Context, do func() error) error {
	l.mu.Lock()
	l.calls++
	r, percent := l.fate.of(l.calls), l.errors
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	if err := pause(ctx, r.duration(100*time.Microsecond, 3*time.Millisecond)); err != nil {
		return err
	}
	lost := percent > 0 && r.percent() < percent
	switch l.connection() {
	case dead:
		return errNoRoute
	case callsLost, cut:
		return l.unanswered(ctx, r)
	case connected:
		if lost && r.percent() < 50 {
			return l.unanswered(ctx, r)
		}
	}
	err := do()
	if lost || l.connection() == answersLost || l.connection() == cut {
		return l.unanswered(ctx, r)
	}
	if waited := pause(ctx, r.duration(100*time.Microsecond, 3*time.Millisecond)); waited != nil {
		l.faulted.Store(true)
		return waited // although it has happened
	}
	return err
}

// unanswered ends a call whose answer does not arrive: at its deadline, or at once.
func (l *link) unanswered(ctx context.Context, r *random) error {
	l.faulted.Store(true)
	if r.percent() < 50 {
		return errNoRoute
	}
	<-ctx.Done()
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
