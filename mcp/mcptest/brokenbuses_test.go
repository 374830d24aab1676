package mcptest_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// brokenBuses are buses by what is wrong with them, and the subtests that find it.
var brokenBuses = map[string]struct {
	fails string
	open  func() (one, two mcp.Bus)
}{
	"does not reach other replicas": {"messages reach the subscribers of their topic", func() (one, two mcp.Bus) {
		return new(mcpserver.MemoryBus), new(mcpserver.MemoryBus)
	}},
	"ignores the case of topics": {"messages reach the subscribers of their topic", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			b.publish = func(ctx context.Context, topic string, msg []byte) error {
				return b.Bus.Publish(ctx, strings.ToLower(topic), msg)
			}
		})
	}},
	"keeps the last message": {"messages are for present subscribers", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			var last sync.Map
			b.publish = func(ctx context.Context, topic string, msg []byte) error {
				last.Store(topic, msg)
				return b.Bus.Publish(ctx, topic, msg)
			}
			b.subscribe = func(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
				if msg, found := last.Load(topic); found {
					deliver(msg.([]byte))
				}
				return b.Bus.Subscribe(ctx, topic, deliver)
			}
		})
	}},
	"subscribes late": {"messages are for present subscribers", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			b.subscribe = func(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
				late := true
				return b.Bus.Subscribe(ctx, topic, func(msg []byte) {
					if late { // for the first message
						late = false
						return
					}
					deliver(msg)
				})
			}
		})
	}},
	"loses messages": {"messages of one publisher stay in order", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			var published atomic.Int32
			b.publish = func(ctx context.Context, topic string, msg []byte) error {
				if published.Add(1)%50 == 0 {
					return nil
				}
				return b.Bus.Publish(ctx, topic, msg)
			}
		})
	}},
	"delivers out of order": {"messages of one publisher stay in order", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			var late sync.Map // by the publisher, which is the first byte: its message that has to come next
			b.publish = func(ctx context.Context, topic string, msg []byte) error {
				if len(msg) == 0 {
					return b.Bus.Publish(ctx, topic, msg)
				}
				before, swap := late.LoadAndDelete(msg[0])
				if !swap {
					late.Store(msg[0], bytes.Clone(msg))
					return nil
				}
				return errors.Join(b.Bus.Publish(ctx, topic, msg), b.Bus.Publish(ctx, topic, before.([]byte)))
			}
		})
	}},
	"delivers concurrently": {"a subscriber gets one message at a time", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			b.subscribe = func(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
				return b.Bus.Subscribe(ctx, topic, func(msg []byte) { go deliver(msg) })
			}
		})
	}},
	"ends subscriptions with their context": {"a subscription ends with its cancel only", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			b.subscribe = func(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
				cancel, err := b.Bus.Subscribe(ctx, topic, deliver)
				if err == nil {
					context.AfterFunc(ctx, cancel)
				}
				return cancel, err
			}
		})
	}},
	"delivers after cancel": {"a subscription ends with its cancel only", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			b.subscribe = func(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
				_, err := b.Bus.Subscribe(ctx, topic, deliver)
				return func() {}, err
			}
		})
	}},
	"cancels without waiting": {"cancel waits for a running deliver", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			b.subscribe = func(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
				cancel, err := b.Bus.Subscribe(ctx, topic, deliver)
				return func() { go cancel() }, err
			}
		})
	}},
	"lets the slowest set the pace": {"a slow subscriber delays no other", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			var one sync.Mutex
			b.subscribe = func(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
				return b.Bus.Subscribe(ctx, topic, func(msg []byte) {
					one.Lock()
					defer one.Unlock()
					deliver(msg)
				})
			}
		})
	}},
	"ends the subscription of a slow subscriber": {"a subscriber that was slow gets new messages", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			b.subscribe = func(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
				return b.Bus.Subscribe(ctx, topic, endIfSlow(deliver))
			}
		})
	}},
	"gives all subscribers the same bytes": {"messages belong to their subscribers", func() (one, two mcp.Bus) {
		b := new(sharingBus)
		return b, b
	}},
	"takes every topic": {"topics and messages have limits", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			b.publish = func(ctx context.Context, topic string, msg []byte) error {
				return b.Bus.Publish(ctx, "t"+strings.ReplaceAll(topic, " ", "_"), msg)
			}
		})
	}},
	"ignores contexts": {"calls end with their context", func() (one, two mcp.Bus) {
		return brokenBus(func(b *changedBus) {
			b.publish = func(ctx context.Context, topic string, msg []byte) error {
				if ctx.Err() != nil {
					select {}
				}
				return b.Bus.Publish(ctx, topic, msg)
			}
		})
	}},
}

// endIfSlow returns a deliver that discards everything once a call of it took long.
func endIfSlow(deliver func([]byte)) func([]byte) {
	ended := false
	return func(msg []byte) {
		slow := time.Now().Add(time.Millisecond)
		if !ended {
			deliver(msg)
		}
		ended = ended || time.Now().After(slow)
	}
}

// brokenBus returns a bus in memory that is changed, twice.
func brokenBus(change func(*changedBus)) (one, two mcp.Bus) {
	b := &changedBus{Bus: new(mcpserver.MemoryBus)}
	change(b)
	return b, b
}

// changedBus is a Bus of which some methods are replaced.
type changedBus struct {
	mcp.Bus
	publish   func(ctx context.Context, topic string, msg []byte) error
	subscribe func(ctx context.Context, topic string, deliver func([]byte)) (func(), error)
}

func (b *changedBus) Publish(ctx context.Context, topic string, msg []byte) error {
	if b.publish != nil {
		return b.publish(ctx, topic, msg)
	}
	return b.Bus.Publish(ctx, topic, msg)
}

func (b *changedBus) Subscribe(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
	if b.subscribe != nil {
		return b.subscribe(ctx, topic, deliver)
	}
	return b.Bus.Subscribe(ctx, topic, deliver)
}

// sharingBus calls its subscribers in Publish, all with the bytes of the publisher.
type sharingBus struct {
	mu          sync.Mutex
	subscribers []func(topic string, msg []byte)
}

func (b *sharingBus) Publish(_ context.Context, topic string, msg []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, deliver := range b.subscribers {
		deliver(topic, msg)
	}
	return nil
}

func (b *sharingBus) Subscribe(_ context.Context, topic string, deliver func([]byte)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ended atomic.Bool
	b.subscribers = append([]func(string, []byte){func(t string, msg []byte) {
		if t == topic && !ended.Load() {
			deliver(msg)
		}
	}}, b.subscribers...)
	return func() { ended.Store(true) }, nil
}
