package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// pingInterval is how often an idle connection for subscriptions is tested.
	pingInterval = 2 * time.Second
	// minPause and maxPause bound the pause after a lost connection, which doubles.
	minPause = 50 * time.Millisecond
	maxPause = time.Second
	// maxSubscribe is how many channels one command subscribes to.
	maxSubscribe = 500
)

// keepConnected has a connection for the subscriptions until the bus is closed.
func (b *bus) keepConnected() {
	pause := minPause
	for {
		c := &busConn{bus: b, conn: b.client.Subscribe(b.ctx), sent: make(map[string]*topic)}
		err := c.serve(b.ctx)
		if b.ctx.Err() != nil {
			return
		}
		if c.confirmed {
			pause = minPause
		}
		b.lose(c, err)
		select {
		case <-time.After(pause):
		case <-b.ctx.Done():
			return
		}
		pause = min(2*pause, maxPause)
	}
}

// lose prepares the topics for the next connection. It fails those that the server has refused,
// whose subscribers are waiting.
func (b *bus) lose(c *busConn, err error) {
	err = explain(err)
	b.mu.Lock()
	first := b.outage == nil
	b.outage = err
	if redis.HasErrorPrefix(err, "NOPERM") {
		for _, p := range c.pings {
			for _, t := range p.topics {
				t.err = err
				close(t.settled)
			}
		}
	}
	for channel, t := range b.topics {
		switch {
		case t.err != nil:
			delete(b.topics, channel)
			continue
		case isClosed(t.settled):
			t.settled = make(chan struct{})
		}
		b.noteLocked(channel)
	}
	b.mu.Unlock()
	if first {
		b.logger.LogAttrs(b.ctx, slog.LevelWarn,
			"redisstore: no connection for subscriptions: messages are lost until there is one",
			slog.Any("error", err))
	}
}

// busConn is one connection for subscriptions. Its commands are sent by one goroutine, and
// another one receives. The server runs commands in order, so the answer to a ping says that
// the subscriptions before it are in force. It also says that the connection is alive.
type busConn struct {
	bus       *bus
	conn      *redis.PubSub
	sent      map[string]*topic // by channel: what the server was asked to subscribe to
	number    int               // of the last ping
	confirmed bool              // guarded by bus.mu: a ping was answered
	pings     []ping            // guarded by bus.mu: those without an answer, the oldest first
}

// ping is a ping after the subscriptions to topics.
type ping struct {
	number string
	topics []*topic
	sent   time.Time
}

// serve returns why the connection has ended.
func (c *busConn) serve(ctx context.Context) error {
	var receiver sync.WaitGroup
	defer receiver.Wait()
	defer c.conn.Close()
	if err := c.update(ctx); err != nil { // which connects
		return err
	}
	failed := make(chan error, 1)
	receiver.Go(func() { failed <- c.receive(ctx) })
	idle := time.NewTicker(min(pingInterval, c.bus.timeout))
	defer idle.Stop()
	for {
		var err error
		select {
		case <-c.bus.changed:
			err = c.update(ctx)
		case <-idle.C:
			err = c.test(ctx)
		case err = <-failed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// update subscribes to new topics, ends the subscriptions to old ones, and asks whether that is done.
func (c *busConn) update(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.bus.timeout)
	defer cancel()
	added, topics, removed := c.changes()
	if len(removed) > 0 {
		if err := c.conn.Unsubscribe(ctx, removed...); err != nil {
			return err
		}
	}
	for channels := range slices.Chunk(added, maxSubscribe) {
		if err := c.conn.Subscribe(ctx, channels...); err != nil {
			return err
		}
	}
	return c.ping(ctx, topics)
}

// changes takes the changes since its last call.
func (c *busConn) changes() (added []string, topics []*topic, removed []string) {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	for channel := range c.bus.changes {
		t := c.bus.topics[channel]
		switch {
		case t == c.sent[channel]: // or both nil
		case t == nil:
			removed = append(removed, channel)
			delete(c.sent, channel)
		default:
			added, topics = append(added, channel), append(topics, t)
			c.sent[channel] = t
		}
	}
	clear(c.bus.changes)
	return added, topics, removed
}

func (c *busConn) ping(ctx context.Context, topics []*topic) error {
	c.number++
	p := ping{number: strconv.Itoa(c.number), topics: topics, sent: time.Now()}
	c.bus.mu.Lock()
	c.pings = append(c.pings, p)
	c.bus.mu.Unlock()
	return c.conn.Ping(ctx, p.number)
}

// test sends a ping if none is on its way. It returns an error if there is no answer to an earlier one.
func (c *busConn) test(ctx context.Context) error {
	c.bus.mu.Lock()
	pings := c.pings
	c.bus.mu.Unlock()
	if len(pings) == 0 {
		ctx, cancel := context.WithTimeout(ctx, c.bus.timeout)
		defer cancel()
		return c.ping(ctx, nil)
	}
	if since := time.Since(pings[0].sent); since > c.bus.timeout {
		return fmt.Errorf("the server has not answered a ping for %v", since.Round(time.Millisecond))
	}
	return nil
}

// receive reads from the connection until that fails.
func (c *busConn) receive(ctx context.Context) error {
	for {
		msg, err := c.conn.Receive(ctx)
		if err != nil {
			return err
		}
		switch msg := msg.(type) {
		case *redis.Message:
			c.bus.dispatch(msg.Channel, msg.Payload)
		case *redis.Subscription:
			if msg.Kind == "subscribe" {
				c.bus.begin(msg.Channel)
			}
		case *redis.Pong:
			if err := c.confirm(msg.Payload); err != nil {
				return err
			}
		}
	}
}

// confirm settles the topics of the oldest ping, which the server has answered.
func (c *busConn) confirm(number string) error {
	c.bus.mu.Lock()
	if len(c.pings) == 0 || c.pings[0].number != number {
		c.bus.mu.Unlock()
		return errors.New("the server has answered a ping that was not sent")
	}
	for _, t := range c.pings[0].topics {
		close(t.settled)
	}
	c.pings = c.pings[1:]
	back := !c.confirmed && c.bus.outage != nil
	c.confirmed = true
	c.bus.outage = nil
	c.bus.mu.Unlock()
	if back {
		c.bus.logger.LogAttrs(c.bus.ctx, slog.LevelInfo, "redisstore: the connection for subscriptions is back")
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
