package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// The limits of mcp.Bus.
const (
	maxTopic   = 256
	maxMessage = 64 << 10
)

// Publish implements mcp.Bus. It returns once the server has the message.
func (s *Store) Publish(ctx context.Context, topic string, msg []byte) error {
	if err := checkTopic(topic); err != nil {
		return fmt.Errorf("redisstore: publish: %w", err)
	}
	if len(msg) > maxMessage {
		return fmt.Errorf("redisstore: publish: a message of %d bytes: want at most %d", len(msg), maxMessage)
	}
	payload := string(msg)
	_, err := call(ctx, s, "publish", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.client.Process(ctx, once{redis.NewCmd(ctx, "publish", s.bus.prefix+topic, payload)})
	})
	return err
}

// Subscribe implements mcp.Bus. It returns once the server has confirmed the subscription.
// Messages wait in a queue of 1,024 messages and 16 MiB for each subscriber; when it is full,
// the oldest are lost. Messages that are published while the connection to the server is lost
// are lost, too.
func (s *Store) Subscribe(ctx context.Context, topic string, deliver func(msg []byte)) (cancel func(), err error) {
	if err := checkTopic(topic); err != nil {
		return nil, fmt.Errorf("redisstore: subscribe: %w", err)
	}
	cancel, err = s.bus.subscribe(ctx, topic, deliver)
	if err != nil {
		return nil, fmt.Errorf("redisstore: subscribe: %w", err)
	}
	return cancel, nil
}

// bus has the subscriptions of a Store. All of them share one connection, see busConn.
type bus struct {
	client  redis.UniversalClient
	logger  *slog.Logger
	prefix  string // of all channels
	timeout time.Duration

	ctx     context.Context // ends with close
	end     context.CancelFunc
	work    sync.WaitGroup // the goroutine of keepConnected
	changed chan struct{}  // has a token while changes has entries

	mu      sync.Mutex
	topics  map[string]*topic // guarded by mu: by channel
	changes map[string]bool   // guarded by mu: channels that the connection has to look at
	outage  error             // guarded by mu: why there is no connection, or nil
	started bool              // guarded by mu: keepConnected runs
	closed  bool              // guarded by mu
}

type subscriber = exchange.Dispatcher[[]byte]

// topic is a channel that has subscribers. A channel that loses its last one and gets another
// is a new topic.
type topic struct {
	subscribers map[*subscriber]bool // guarded by bus.mu

	// begun is set when the server has begun to send messages of the topic. Those before are of an
	// earlier topic of the channel, whose end the server has not seen yet. It is guarded by bus.mu.
	begun bool

	// settled is closed when the server has confirmed the subscription, or has refused it, which
	// err says. After the connection is lost, an open one takes its place. Both are guarded by bus.mu.
	settled chan struct{}
	err     error
}

func newBus(client redis.UniversalClient, logger *slog.Logger, prefix string, timeout time.Duration) *bus {
	ctx, end := context.WithCancel(context.Background())
	return &bus{
		client: client, logger: logger, prefix: prefix, timeout: timeout,
		ctx: ctx, end: end, changed: make(chan struct{}, 1),
		topics: make(map[string]*topic), changes: make(map[string]bool),
	}
}

func (b *bus) close() {
	b.mu.Lock()
	b.closed = true
	topics := b.topics
	b.topics = nil
	b.mu.Unlock()
	b.end()
	b.work.Wait()
	for _, t := range topics {
		for d := range t.subscribers {
			d.Close()
		}
	}
}

func (b *bus) subscribe(ctx context.Context, name string, deliver func(msg []byte)) (cancel func(), err error) {
	d := exchange.NewDispatcher(deliver)
	channel := b.prefix + name
	t, settled := b.add(channel, d)
	if t == nil {
		return nil, errClosed
	}
	cancel = func() { b.remove(channel, d) }
	bounded, release := context.WithTimeout(ctx, b.timeout)
	defer release()
	select {
	case <-settled:
		err = b.refusal(t)
	case <-b.ctx.Done():
		err = errClosed
	case <-bounded.Done():
		if err = context.Cause(ctx); err == nil {
			err = fmt.Errorf("the server has not confirmed within %v: %w", b.timeout, b.reason())
		}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return cancel, nil
}

// add adds a subscriber to a topic, and returns its channel settled as well. It returns nil if
// the bus is closed.
func (b *bus) add(channel string, d *subscriber) (t *topic, settled <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil
	}
	t = b.topics[channel]
	if t == nil {
		t = &topic{subscribers: make(map[*subscriber]bool), settled: make(chan struct{})}
		b.topics[channel] = t
		b.noteLocked(channel)
	}
	t.subscribers[d] = true
	if !b.started {
		b.started = true
		b.work.Go(b.keepConnected)
	}
	return t, t.settled
}

// refusal returns why the server has refused a subscription, or nil if it has confirmed it.
func (b *bus) refusal(t *topic) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return t.err
}

// reason returns why a subscription is not confirmed in time.
func (b *bus) reason() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outage != nil {
		return b.outage
	}
	return context.DeadlineExceeded
}

// remove ends a subscription and waits for its deliver. It can be called again.
func (b *bus) remove(channel string, d *subscriber) {
	b.mu.Lock()
	if t := b.topics[channel]; t != nil && t.subscribers[d] {
		delete(t.subscribers, d)
		if len(t.subscribers) == 0 {
			delete(b.topics, channel)
			b.noteLocked(channel)
		}
	}
	b.mu.Unlock()
	d.Close()
}

// noteLocked lets the connection subscribe to a channel, or end the subscription.
func (b *bus) noteLocked(channel string) {
	b.changes[channel] = true
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// begin notes that the next messages of a channel are those of its topic.
func (b *bus) begin(channel string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.topics[channel]; t != nil {
		t.begun = true
	}
}

// dispatch queues a message for the subscribers of a channel.
func (b *bus) dispatch(channel, msg string) {
	b.mu.Lock()
	var subscribers []*subscriber
	if t := b.topics[channel]; t != nil && t.begun {
		subscribers = slices.Collect(maps.Keys(t.subscribers))
	}
	b.mu.Unlock()
	for _, d := range subscribers {
		d.Put([]byte(msg), len(msg))
	}
}

func checkTopic(name string) error {
	if name == "" || len(name) > maxTopic {
		return fmt.Errorf("a topic of %d bytes: want 1 to %d", len(name), maxTopic)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("topic %q: want printable ASCII without spaces", name)
	}
	return nil
}
