package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// ErrParkLost reports that a value of Park is gone: it has expired, the replica
// that held it has ended, or another retry of the same round took it first.
var ErrParkLost = errors.New("interaction expired, call again")

// Park keeps one live value of this process, such as a call to another server or
// an open transaction, for a handler that asks and cannot be repeated:
//
//	call, err := mcpserver.Park(ctx, "upstream", dial, (*Upstream).Close)
//
// The first run opens the value. In the stateless era it stays open between the
// rounds of the call, and later runs get the same one. It is closed once: when
// the call is done, when the client does not come back within AskOptions.Expiry,
// or at Shutdown. Its context ends then. The key follows the rules of Ask.
//
// A value is never opened a second time for one call. When it is gone, Park
// fails with ErrParkLost, and when too many are parked already, see
// AskOptions.MaxParked, the call fails at its question. Every round has to reach
// the replica that holds the value.
//
// In the session era the value lives as long as the call. Outside of a call Park
// fails with ErrNotInCall.
func Park[T any](ctx context.Context, key string, open func(context.Context) (T, error), close func(T)) (T, error) {
	var zero T
	r := From(ctx)
	if r == nil {
		return zero, ErrNotInCall
	}
	if err := r.rounds.claim(key); err != nil {
		return zero, fmt.Errorf("park: %w", err)
	}
	if err := r.rounds.stopped(); err != nil {
		return zero, err
	}
	if held, ok := r.rounds.held(key); ok { // by an earlier round of the session era, or before the call became a task
		return held.value.(T), nil
	}
	if ticket, ok := r.rounds.ticket(key); ok {
		held, ok := r.takeParked(key, ticket)
		if !ok {
			return zero, fmt.Errorf("park %q: %w", key, ErrParkLost)
		}
		return held.value.(T), nil
	}
	own, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), requestKey{}, (*Request)(nil)))
	v, err := open(own)
	if err != nil {
		cancel()
		return zero, err
	}
	held := &parked{value: v, principal: r.Principal(), close: sync.OnceFunc(func() {
		cancel()
		close(v)
	})}
	if !r.rounds.hold(key, held) {
		return zero, ErrInputRequired
	}
	return v, nil
}

// parked is one live value.
type parked struct {
	value     any
	principal mcp.Principal
	close     func() // works once
	expiry    *time.Timer
}

// held returns the value that the call holds already.
func (r *rounds) held(key string) (*parked, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.live[key]
	return p, ok
}

// ticket returns where a value of an earlier round is.
func (r *rounds) ticket(key string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.memory.Parked[key]
	return t, ok
}

// hold keeps a value until the end of the call. When that was, it closes it and
// reports false.
func (r *rounds) hold(key string, p *parked) bool {
	if !r.holdOpen(key, p) {
		p.close()
		return false
	}
	return true
}

func (r *rounds) holdOpen(key string, p *parked) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.released {
		return false
	}
	if r.live == nil {
		r.live = make(map[string]*parked)
	}
	r.live[key] = p
	return true
}

// release closes what the run still holds.
func (r *rounds) release() {
	r.mu.Lock()
	live := r.live
	r.live, r.over, r.released = nil, true, true
	r.mu.Unlock()
	for _, p := range live {
		p.close()
	}
}

// takeParked takes a value out of the lot for this run.
func (r *Request) takeParked(key, ticket string) (*parked, bool) {
	p := r.server.parked.take(ticket, r.Principal())
	if p == nil || !r.rounds.hold(key, p) {
		return nil, false
	}
	return p, true
}

// park puts what the run holds into the lot until the next round. What an
// earlier run has parked and this one has not taken goes on waiting.
func (r *Request) park(next *memory) error {
	r.rounds.mu.Lock()
	live, before := r.rounds.live, r.rounds.memory.Parked
	r.rounds.mu.Unlock()
	next.Parked = make(map[string]string)
	for key, ticket := range before {
		next.Parked[key] = ticket
	}
	for key, p := range live {
		ticket, err := r.server.parked.put(p, r.server.options.asking())
		if err != nil {
			r.Reached(mcp.LimitParked)
			return fmt.Errorf("park %q: %w", key, err)
		}
		next.Parked[key] = ticket
		r.rounds.mu.Lock()
		delete(r.rounds.live, key)
		r.rounds.mu.Unlock()
	}
	return nil
}

// parkingLot holds the live values of calls that are between two rounds.
type parkingLot struct {
	instance string // of this process

	mu     sync.Mutex
	values map[string]*parked    // guarded by mu: by ticket
	counts map[mcp.Principal]int // guarded by mu
	closed bool                  // guarded by mu
	work   sync.WaitGroup        // closings of expired values
}

func (l *parkingLot) put(p *parked, o *AskOptions) (ticket string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return "", ErrShutdown
	case len(l.values) >= o.maxParked():
		return "", fmt.Errorf("%d values are parked, which is the limit", len(l.values))
	case l.counts[p.principal] >= o.principalParked():
		return "", fmt.Errorf("%d values are parked for %v, which is the limit", l.counts[p.principal], p.principal)
	}
	if l.values == nil {
		l.values, l.counts = make(map[string]*parked), make(map[mcp.Principal]int)
	}
	ticket = l.instance + "." + rand.Text()
	l.values[ticket] = p
	l.counts[p.principal]++
	p.expiry = time.AfterFunc(o.expiry(), func() { l.expire(ticket) })
	return ticket, nil
}

// take returns a value of a principal and gives it away, or nil when it has none
// here.
func (l *parkingLot) take(ticket string, p mcp.Principal) *parked {
	if !strings.HasPrefix(ticket, l.instance+".") {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if held := l.values[ticket]; held == nil || held.principal != p {
		return nil
	}
	return l.takeLocked(ticket)
}

func (l *parkingLot) takeLocked(ticket string) *parked {
	p := l.values[ticket]
	if p == nil {
		return nil
	}
	delete(l.values, ticket)
	if l.counts[p.principal]--; l.counts[p.principal] == 0 {
		delete(l.counts, p.principal)
	}
	p.expiry.Stop()
	return p
}

func (l *parkingLot) expire(ticket string) {
	l.mu.Lock()
	p := l.takeLocked(ticket)
	if p != nil {
		l.work.Add(1)
	}
	l.mu.Unlock()
	if p != nil {
		defer l.work.Done()
		p.close()
	}
}

// shut closes every value, and waits for those that are closing.
func (l *parkingLot) shut() {
	l.mu.Lock()
	l.closed = true
	var left []*parked
	for ticket := range l.values {
		left = append(left, l.takeLocked(ticket))
	}
	l.mu.Unlock()
	for _, p := range left {
		p.close()
	}
	l.work.Wait()
}
