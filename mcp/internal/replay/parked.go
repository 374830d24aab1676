package replay

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// ErrShutdown reports that no value is kept any more.
var ErrShutdown = errors.New("the server is shutting down")

// Parked holds the values of calls that are between two runs. All methods are safe for
// concurrent use; values are never closed under its lock.
type Parked struct {
	// Instance names this process in the tickets. It is set before first use.
	Instance string
	// Max bounds the values of all principals together, and MaxEach those of one.
	Max, MaxEach int

	mu      sync.Mutex
	values  map[string]*parkedValue // guarded by mu: by ticket
	held    map[mcp.Principal]int   // guarded by mu: how many
	closed  bool                    // guarded by mu
	closing sync.WaitGroup          // of values that have expired
}

// parkedValue is a value that waits for the next run of its call.
type parkedValue struct {
	*Value
	owner  mcp.Principal
	expiry *time.Timer
}

// Put keeps values for ttl and returns a ticket for each of them, by the same keys. It
// keeps all of them or none.
func (p *Parked) Put(owner mcp.Principal, values map[string]*Value, ttl time.Duration) (tickets map[string]string, err error) {
	if len(values) == 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n := len(values); {
	case p.closed:
		return nil, ErrShutdown
	case len(p.values)+n > p.Max:
		return nil, fmt.Errorf("%d values are parked, %d more are wanted, the limit is %d", len(p.values), n, p.Max)
	case p.held[owner]+n > p.MaxEach:
		return nil, fmt.Errorf("%d values are parked for %v, %d more are wanted, the limit is %d", p.held[owner], owner, n, p.MaxEach)
	}
	if p.values == nil {
		p.values, p.held = make(map[string]*parkedValue), make(map[mcp.Principal]int)
	}
	tickets = make(map[string]string, len(values))
	for key, v := range values {
		ticket := p.Instance + "." + rand.Text()
		tickets[key] = ticket
		p.values[ticket] = &parkedValue{v, owner, time.AfterFunc(ttl, func() { p.expire(ticket) })}
	}
	p.held[owner] += len(values)
	return tickets, nil
}

// Take returns the value of a ticket, which is the caller's from then on, or nil when
// there is none for the owner in this process.
func (p *Parked) Take(ticket string, owner mcp.Principal) *Value {
	if !strings.HasPrefix(ticket, p.Instance+".") {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.values[ticket]; v == nil || v.owner != owner {
		return nil
	}
	return p.takeLocked(ticket)
}

func (p *Parked) takeLocked(ticket string) *Value {
	v := p.values[ticket]
	if v == nil {
		return nil
	}
	delete(p.values, ticket)
	if p.held[v.owner]--; p.held[v.owner] == 0 {
		delete(p.held, v.owner)
	}
	v.expiry.Stop()
	return v.Value
}

// Drop closes the values of tickets, as far as they are the owner's.
func (p *Parked) Drop(tickets map[string]string, owner mcp.Principal) {
	for _, ticket := range tickets {
		if v := p.Take(ticket, owner); v != nil {
			v.Close()
		}
	}
}

func (p *Parked) expire(ticket string) {
	p.mu.Lock()
	v := p.takeLocked(ticket)
	if v != nil {
		p.closing.Add(1)
	}
	p.mu.Unlock()
	if v != nil {
		defer p.closing.Done()
		v.Close()
	}
}

// Shutdown closes every value and waits for those that are being closed. Nothing is
// kept from then on.
func (p *Parked) Shutdown() {
	p.mu.Lock()
	p.closed = true
	var left []*Value
	for ticket := range p.values {
		left = append(left, p.takeLocked(ticket))
	}
	p.mu.Unlock()
	for _, v := range left {
		v.Close()
	}
	p.closing.Wait()
}
