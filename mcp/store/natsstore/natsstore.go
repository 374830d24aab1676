package natsstore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fondaco/fondaco/mcp"
)

// Store is a connection to NATS. It reconnects by itself, and subscriptions go on when it has.
//
// A call that gets no answer fails after five seconds, or when its context ends. Such a write may
// have happened. Methods are safe for concurrent use.
type Store struct {
	link    *link
	js      jetstream.JetStream
	space   namespace
	logger  *slog.Logger
	values  jetstream.Stream
	events  events
	mu      sync.Mutex
	closed  bool                   // guarded by mu
	current map[*subscription]bool // guarded by mu
}

var (
	_ mcp.Store = (*Store)(nil)
	_ mcp.Bus   = (*Store)(nil)
)

// Open connects to the servers of one cluster: url is nats://host:4222, or several of them
// separated by commas, with the scheme tls:// for TLS and ws:// or wss:// for WebSocket. A user
// and a password may be part of it. A nil opts means all defaults.
//
// The streams that Open creates get their settings from opts. Those of streams that exist stay as
// they are.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	s, err := open(ctx, url, opts)
	if err != nil {
		return nil, fmt.Errorf("natsstore: open: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, url string, given *Options) (*Store, error) {
	opts, err := given.withDefaults()
	if err != nil {
		return nil, err
	}
	link, err := connect(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	s := &Store{
		link: link, space: namespace(opts.Namespace), logger: opts.Logger,
		current: make(map[*subscription]bool),
	}
	if err := s.prepare(ctx, opts); err != nil {
		link.close()
		return nil, err
	}
	return s, nil
}

// prepare checks the server, and creates what is missing there.
func (s *Store) prepare(ctx context.Context, opts Options) error {
	if err := checkServer(s.link.nc); err != nil {
		return err
	}
	var err error
	if s.js, err = jetstream.New(s.link.nc); err != nil {
		return err
	}
	if s.values, err = s.stream(ctx, valueStream(s.space, opts)); err != nil {
		return err
	}
	kept, err := s.stream(ctx, eventStream(s.space, opts))
	if err != nil {
		return err
	}
	s.events = events{link: s.link, space: s.space, stream: kept, js: s.js}
	return nil
}

// Events returns the EventStore in the same NATS. It is usable until Close.
func (s *Store) Events() mcp.EventStore { return &s.events }

// Close ends all subscriptions and closes the connection. It waits until running deliver
// functions have returned, so none of them may call it. Later calls fail.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	current := s.current
	s.current = nil
	s.mu.Unlock()
	for sub := range current {
		sub.end()
	}
	s.link.close()
	return nil
}

// minVersion is the oldest nats-server that looks for duplicates in batches, which are stored as a
// whole or not at all.
var minVersion = []int{2, 12, 1}

// checkServer returns an error unless the server has what this package uses.
func checkServer(nc *nats.Conn) error {
	if version := nc.ConnectedServerVersion(); !atLeast(version, minVersion) {
		return fmt.Errorf("the server has version %q; want %d.%d.%d or newer", version, minVersion[0], minVersion[1], minVersion[2])
	}
	if size := nc.MaxPayload(); size < maxMessage {
		return fmt.Errorf("the server takes messages of %d bytes; want max_payload of at least %d", size, maxMessage)
	}
	return nil
}

// atLeast reports whether a version such as 2.12.1-beta.3 has at least these numbers.
func atLeast(version string, oldest []int) bool {
	got := make([]int, len(oldest))
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &got[0], &got[1], &got[2]); err != nil {
		return false
	}
	return slices.Compare(got, oldest) >= 0
}
