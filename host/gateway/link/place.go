package link

import (
	"context"
	"errors"
	"sync"
)

// Place is what one caller has at this host while no other host has the caller: its connections to
// upstreams, with their processes. It is safe for concurrent use.
type Place struct {
	mu          sync.Mutex
	ended       bool               // guarded by mu
	connections map[*Conn]struct{} // guarded by mu
	closed      chan struct{}      // guarded by mu: made by End, closed when it has no connections
}

// errPlaceEnded is the error of a request whose caller another host has.
var errPlaceEnded = PublicErrorf("another host serves this client now; send the request again")

type placeKey struct{}

// WithPlace returns a context for requests of a caller whose connections belong to the place.
func WithPlace(ctx context.Context, p *Place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

// PlaceFrom returns the place of a context, or nil.
func PlaceFrom(ctx context.Context) *Place {
	p, _ := ctx.Value(placeKey{}).(*Place)
	return p
}

// add adds a connection until it has ended, and reports false if the place has ended. Nil stands
// for a host that shares its callers with no other one.
func (p *Place) add(c *Conn) bool {
	if p == nil || c.Kind == Shared {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	if _, known := p.connections[c]; known {
		return true
	}
	if p.connections == nil {
		p.connections = make(map[*Conn]struct{})
	}
	p.connections[c] = struct{}{}
	c.AfterEnd(func() { p.remove(c) })
	return true
}

func (p *Place) remove(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.connections, c)
	if p.closed != nil && len(p.connections) == 0 {
		close(p.closed)
		p.closed = nil
	}
}

// errPlaceHasConnections is the error of End if connections have not ended in time.
var errPlaceHasConnections = errors.New("end the connections of a caller: some have not ended in time")

// End closes the connections of the place and waits until they, and their processes, have ended or
// ctx is done. No further ones are made. It may be called once.
func (p *Place) End(ctx context.Context) error {
	p.mu.Lock()
	p.ended = true
	for c := range p.connections {
		c.Close()
	}
	var closed chan struct{}
	if len(p.connections) > 0 {
		closed = make(chan struct{})
		p.closed = closed
	}
	p.mu.Unlock()
	if closed == nil {
		return nil
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return errPlaceHasConnections
	}
}
