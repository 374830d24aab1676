package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/drain"
)

// Reasons for which no value is kept.
var (
	// ErrShutdown reports that no value is kept any more.
	ErrShutdown = errors.New("the server is shutting down")
	// ErrEvicted reports that the place of the values was needed for another owner
	// before they were kept.
	ErrEvicted = errors.New("the values were closed to make room for another owner")
)

// Parked holds the values of calls that are between two runs. All methods are safe for
// concurrent use; values are never closed under its lock.
type Parked struct {
	// Instance names this process in the tickets. It is set before first use.
	Instance string

	mu      sync.Mutex
	values  map[string]*parkedValue // guarded by mu: by ticket
	closed  bool                    // guarded by mu
	closing drain.Group             // of values that have expired or were evicted
}

// A TakePlace takes room for n values, which count for whoever makes the call. It calls
// evict, which does not block, at most once when somebody else needs the room, at any
// time until release, also before it returns. release may be called when that has
// happened.
type TakePlace func(n int, evict func()) (release func(), err error)

// parkedValue is a value that waits for the next run of its call.
type parkedValue struct {
	*Value
	principal mcp.Principal
	together  *parkedSet
	expiry    *time.Timer
}

// parkedSet are the values that were kept together. They have one place, which is held
// until the last of them is gone.
type parkedSet struct {
	tickets map[string]string // by key
	left    int               // guarded by the lock of Parked
	evicted bool              // guarded by the lock of Parked
	release func()
}

// Put keeps values for ttl and returns a ticket for each of them, by the same keys. It
// keeps all of them or none. Values that are evicted are closed on a goroutine of their
// own, and those that were kept together with them.
func (p *Parked) Put(principal mcp.Principal, values map[string]*Value, ttl time.Duration, take TakePlace) (tickets map[string]string, err error) {
	if len(values) == 0 {
		return nil, nil
	}
	set := &parkedSet{left: len(values)}
	release, err := take(len(values), func() { p.evict(set) })
	if err != nil {
		return nil, err
	}
	if tickets, err = p.keep(set, principal, values, ttl, release); err != nil {
		release()
	}
	return tickets, err
}

// keep is Put for a set that has its place.
func (p *Parked) keep(set *parkedSet, principal mcp.Principal, values map[string]*Value, ttl time.Duration, release func()) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, ErrShutdown
	case set.evicted:
		return nil, ErrEvicted
	}
	if p.values == nil {
		p.values = make(map[string]*parkedValue)
	}
	tickets := make(map[string]string, len(values))
	for key, v := range values {
		ticket := p.Instance + "." + rand.Text()
		tickets[key] = ticket
		p.values[ticket] = &parkedValue{v, principal, set, time.AfterFunc(ttl, func() { p.expire(ticket) })}
	}
	set.tickets, set.release = maps.Clone(tickets), release
	return tickets, nil
}

// TakeAll returns the values of tickets, which are the caller's from then on, as far as
// they are the principal's and in this process. Of callers that have the same tickets one
// gets all of them.
func (p *Parked) TakeAll(tickets map[string]string, principal mcp.Principal) map[string]*Value {
	p.mu.Lock()
	defer p.mu.Unlock()
	var taken map[string]*Value
	for key, ticket := range tickets {
		if v := p.values[ticket]; v == nil || v.principal != principal {
			continue
		}
		if taken == nil {
			taken = make(map[string]*Value, len(tickets))
		}
		taken[key] = p.takeLocked(ticket)
	}
	return taken
}

func (p *Parked) takeLocked(ticket string) *Value {
	v := p.values[ticket]
	if v == nil {
		return nil
	}
	delete(p.values, ticket)
	v.expiry.Stop()
	if v.together.left--; v.together.left == 0 {
		v.together.release()
	}
	return v.Value
}

func (p *Parked) expire(ticket string) {
	p.mu.Lock()
	v := p.takeLocked(ticket)
	if v != nil {
		p.closing.Join()
	}
	p.mu.Unlock()
	if v != nil {
		defer p.closing.Leave()
		v.Close()
	}
}

// evict closes what is left of a set, on another goroutine, because closing can block.
func (p *Parked) evict(set *parkedSet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set.evicted = true
	var left []*Value
	for _, ticket := range set.tickets {
		if v := p.takeLocked(ticket); v != nil {
			left = append(left, v)
		}
	}
	if len(left) > 0 {
		p.closing.Go(func() {
			for _, v := range left {
				v.Close()
			}
		})
	}
}

// Shutdown closes every value, each on a goroutine of its own, and returns when all are
// closed, or else the cause of ctx. Nothing is kept from then on.
func (p *Parked) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	for ticket := range p.values {
		v := p.takeLocked(ticket)
		p.closing.Go(v.Close)
	}
	p.mu.Unlock()
	return p.closing.Drain(ctx)
}
