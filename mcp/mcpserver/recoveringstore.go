package mcpserver

import (
	"context"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// recoveringStore makes a panic of a method of Options.Store the method's error and logs
// the stack. Extensions use it on goroutines of their own.
type recoveringStore struct {
	store  mcp.Store
	server *Server
}

// Get implements mcp.Store.
func (s recoveringStore) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	defer s.server.recoverAndLog("Store.Get", &err)
	return s.store.Get(ctx, key)
}

// Put implements mcp.Store.
func (s recoveringStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) (err error) {
	defer s.server.recoverAndLog("Store.Put", &err)
	return s.store.Put(ctx, key, value, ttl)
}

// Create implements mcp.Store.
func (s recoveringStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	defer s.server.recoverAndLog("Store.Create", &err)
	return s.store.Create(ctx, key, value, ttl)
}

// Swap implements mcp.Store.
func (s recoveringStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	defer s.server.recoverAndLog("Store.Swap", &err)
	return s.store.Swap(ctx, key, old, value, ttl)
}

// Delete implements mcp.Store.
func (s recoveringStore) Delete(ctx context.Context, key string) (err error) {
	defer s.server.recoverAndLog("Store.Delete", &err)
	return s.store.Delete(ctx, key)
}

// List implements mcp.Store.
func (s recoveringStore) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	defer s.server.recoverAndLog("Store.List", &err)
	return s.store.List(ctx, prefix, after, limit)
}

// recoveringBus does the same for Options.Bus.
type recoveringBus struct {
	bus    mcp.Bus
	server *Server
}

// Publish implements mcp.Bus.
func (b recoveringBus) Publish(ctx context.Context, topic string, msg []byte) (err error) {
	defer b.server.recoverAndLog("Bus.Publish", &err)
	return b.bus.Publish(ctx, topic, msg)
}

// Subscribe implements mcp.Bus.
func (b recoveringBus) Subscribe(ctx context.Context, topic string, deliver func(msg []byte)) (cancel func(), err error) {
	defer b.server.recoverAndLog("Bus.Subscribe", &err)
	leave, err := b.bus.Subscribe(ctx, topic, deliver)
	return func() {
		var err error
		defer b.server.recoverAndLog("cancel of Bus.Subscribe", &err)
		leave()
	}, err
}
