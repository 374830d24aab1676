//go:build unix || windows

package boltstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// bus is a MemoryBus that ends all subscriptions when it is closed.
type bus struct {
	memory mcpserver.MemoryBus

	mu      sync.Mutex
	closed  bool                   // guarded by mu
	current map[*subscription]bool // guarded by mu
}

// subscription is one call of Subscribe.
type subscription struct {
	end func() // ends it in the MemoryBus, and waits until a running deliver has returned
}

// Publish implements mcp.Bus.
func (s *Store) Publish(ctx context.Context, topic string, msg []byte) error {
	s.bus.mu.Lock()
	closed := s.bus.closed
	s.bus.mu.Unlock()
	if closed {
		return wrap("publish", errClosed)
	}
	if err := s.bus.memory.Publish(ctx, topic, msg); err != nil {
		return fmt.Errorf("boltstore: %w", err)
	}
	return nil
}

// Subscribe implements mcp.Bus.
func (s *Store) Subscribe(ctx context.Context, topic string, deliver func(msg []byte)) (cancel func(), err error) {
	end, err := s.bus.memory.Subscribe(ctx, topic, deliver)
	if err != nil {
		return nil, fmt.Errorf("boltstore: %w", err)
	}
	sub := &subscription{end}
	if !s.bus.add(sub) {
		end()
		return nil, wrap("subscribe", errClosed)
	}
	return func() { s.bus.remove(sub) }, nil
}

// add reports false if the bus is closed.
func (b *bus) add(sub *subscription) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	if b.current == nil {
		b.current = make(map[*subscription]bool)
	}
	b.current[sub] = true
	return true
}

// remove ends a subscription. It may be called again.
func (b *bus) remove(sub *subscription) {
	b.mu.Lock()
	delete(b.current, sub)
	b.mu.Unlock()
	sub.end()
}

// close ends all subscriptions, and waits for their functions.
func (b *bus) close() {
	b.mu.Lock()
	b.closed = true
	current := b.current
	b.current = nil
	b.mu.Unlock()
	for sub := range current {
		sub.end()
	}
}
