package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// The sizes that a Bus has to accept.
const (
	maxTopic  = 256
	maxNotice = 64 << 10
)

// MemoryBus is a Bus for servers in one process, which all get the same one. The zero value
// is ready for use. It must not be copied. Its methods are safe for concurrent use.
//
// Each subscriber has a queue of 1,024 messages and 16 MiB. When it is full, the oldest
// messages are dropped.
type MemoryBus struct {
	mu     sync.Mutex
	topics map[string]map[*exchange.Dispatcher[[]byte]]bool // guarded by mu
}

var _ mcp.Bus = (*MemoryBus)(nil)

// Publish implements mcp.Bus.
func (b *MemoryBus) Publish(_ context.Context, topic string, msg []byte) error {
	if err := checkTopic(topic); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if len(msg) > maxNotice {
		return fmt.Errorf("publish: message of %d bytes: want at most %d", len(msg), maxNotice)
	}
	b.mu.Lock()
	subscribers := slices.Collect(maps.Keys(b.topics[topic]))
	b.mu.Unlock()
	for _, d := range subscribers {
		d.Put(slices.Clone(msg), len(msg))
	}
	return nil
}

// Subscribe implements mcp.Bus.
func (b *MemoryBus) Subscribe(_ context.Context, topic string, deliver func(msg []byte)) (cancel func(), err error) {
	if err := checkTopic(topic); err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	d := exchange.NewDispatcher(deliver)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.topics == nil {
		b.topics = make(map[string]map[*exchange.Dispatcher[[]byte]]bool)
	}
	if b.topics[topic] == nil {
		b.topics[topic] = make(map[*exchange.Dispatcher[[]byte]]bool)
	}
	b.topics[topic][d] = true
	return func() { b.unsubscribe(topic, d) }, nil
}

func (b *MemoryBus) unsubscribe(topic string, d *exchange.Dispatcher[[]byte]) {
	b.mu.Lock()
	delete(b.topics[topic], d)
	if len(b.topics[topic]) == 0 {
		delete(b.topics, topic)
	}
	b.mu.Unlock()
	d.Close()
}

func checkTopic(topic string) error {
	for _, c := range []byte(topic) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("topic %q: want printable ASCII without spaces", topic)
		}
	}
	if topic == "" || len(topic) > maxTopic {
		return fmt.Errorf("topic of %d bytes: want 1 to %d", len(topic), maxTopic)
	}
	return nil
}
