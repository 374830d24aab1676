package natsstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

var errClosed = errors.New("the store is closed")

// Publish implements mcp.Bus. While the connection is lost it waits, like all calls.
func (s *Store) Publish(ctx context.Context, topic string, msg []byte) error {
	err := checkTopic(topic)
	if len(msg) > maxMessage {
		err = fmt.Errorf("message of %d bytes: want at most %d", len(msg), maxMessage)
	}
	if err == nil {
		err = s.link.call(ctx, func(context.Context) error { return s.link.nc.Publish(s.space.topic(topic), msg) })
	}
	if err != nil {
		return fmt.Errorf("natsstore: publish on %q: %w", topic, err)
	}
	return nil
}

// Subscribe implements mcp.Bus. Each subscription has a queue of 1,024 messages and 16 MiB. When it
// is full, the oldest messages are dropped.
//
// In a cluster, messages from other servers than the one of this connection are delivered once
// these have learned of the subscription, which takes about as long as a message does.
func (s *Store) Subscribe(ctx context.Context, topic string, deliver func(msg []byte)) (cancel func(), err error) {
	sub, err := s.subscribe(ctx, topic, deliver)
	if err != nil {
		return nil, fmt.Errorf("natsstore: subscribe to %q: %w", topic, err)
	}
	return func() { s.unsubscribe(sub) }, nil
}

func (s *Store) subscribe(ctx context.Context, topic string, deliver func(msg []byte)) (*subscription, error) {
	if err := checkTopic(topic); err != nil {
		return nil, err
	}
	sub := &subscription{queue: exchange.NewDispatcher(deliver)}
	var warn sync.Once
	var err error
	sub.sub, err = s.link.nc.Subscribe(s.space.topic(topic), func(m *nats.Msg) {
		if !sub.queue.Put(m.Data, len(m.Data)) {
			warn.Do(func() {
				s.logger.Warn("natsstore: a subscriber falls behind; its oldest messages are dropped", slog.String("topic", topic))
			})
		}
	})
	if err == nil && !s.add(sub) {
		err = errClosed
	}
	if err == nil {
		// The server has processed the subscription once it answers a ping.
		err = s.link.call(ctx, s.link.nc.FlushWithContext)
	}
	if err != nil {
		s.unsubscribe(sub)
		return nil, err
	}
	return sub, nil
}

// add reports false if the store is closed.
func (s *Store) add(sub *subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.current[sub] = true
	}
	return !s.closed
}

func (s *Store) unsubscribe(sub *subscription) {
	s.mu.Lock()
	delete(s.current, sub)
	s.mu.Unlock()
	sub.end()
}

// subscription is one call of Subscribe.
type subscription struct {
	sub   *nats.Subscription // nil if NATS has refused it
	queue *exchange.Dispatcher[[]byte]
}

// end ends the subscription, and waits until a running deliver has returned.
func (s *subscription) end() {
	if s.sub != nil {
		_ = s.sub.Unsubscribe() // an error means that it has ended
	}
	s.queue.Close()
}
