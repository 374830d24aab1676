package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/drain"
)

// The limits of mcp.Store.
const (
	maxKey   = 256
	maxValue = 1 << 20
)

// listStep is how many keys one script of List looks at. A server does nothing else meanwhile.
const listStep = 500

// Store keeps values, events and subscriptions in a Redis server. It implements mcp.Store and
// mcp.Bus. Its methods are safe for concurrent use.
//
// A call returns when its context ends, and after Options.Timeout at the latest. A write that
// returns an error may have happened nevertheless, or still happen until the timeout. Lost
// connections are opened again by the calls that need one, and in the background for subscriptions.
type Store struct {
	client  redis.UniversalClient
	end     context.CancelFunc // closes the connections
	options Options
	logger  *slog.Logger
	prefix  string      // of all names of this namespace
	calls   drain.Group // the goroutines of calls
	bus     *bus
}

var (
	_ mcp.Store = (*Store)(nil)
	_ mcp.Bus   = (*Store)(nil)
)

// Open connects to the server at a URL:
//
//	redis://user:password@host:port/database
//	rediss://user:password@host:port/database     with TLS
//	unix://user:password@/path/of/the/socket?db=database
//
// User, password, port (6379) and database (0) can be left out. A nil o means the defaults.
// Open returns an error if the server cannot be reached, refuses the user, or is one that a
// Store cannot use. The error does not contain the password. The Store has to be closed.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	s, err := open(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("redisstore: open: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, url string, o *Options) (*Store, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	opts, err := parseURL(url, options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, options.Timeout)
	defer cancel()
	life, end := context.WithCancel(context.Background())
	client, err := connect(ctx, life, opts, options.Timeout)
	if err != nil {
		end()
		return nil, explain(err)
	}
	s := &Store{client: client, end: end, options: options, logger: options.Logger}
	s.prefix = "{" + options.Namespace + "}:"
	s.bus = newBus(client, s.logger, fmt.Sprintf("%sbus:%d:", s.prefix, opts.DB), options.Timeout)
	s.warnOfEviction(ctx)
	return s, nil
}

// warnOfEviction logs a warning if the server may remove values before they expire. It says
// nothing if the user may not ask.
func (s *Store) warnOfEviction(ctx context.Context) {
	info := s.client.InfoMap(ctx, "memory").Val()["Memory"]
	if policy := info["maxmemory_policy"]; info["maxmemory"] != "0" && policy != "" && policy != "noeviction" {
		s.logger.LogAttrs(ctx, slog.LevelWarn,
			"redisstore: the server removes values when its memory is full: set maxmemory-policy to noeviction",
			slog.String("maxmemory_policy", policy))
	}
}

// Close ends all subscriptions and connections, and waits for their goroutines. Running calls
// fail, and later ones do, too. deliver functions of subscriptions must not call it.
func (s *Store) Close() error {
	s.calls.Close()
	s.end()
	s.bus.close()
	err := s.client.Close()
	if errors.Is(err, redis.ErrClosed) { // closed before
		err = nil
	}
	_ = s.calls.Drain(context.Background()) // the closed client ends them
	return err
}

// Events returns the mcp.EventStore in the same server and namespace. It ends with the Store.
func (s *Store) Events() mcp.EventStore { return events{s} }

// Get implements mcp.Store.
func (s *Store) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, fmt.Errorf("redisstore: get: %w", err)
	}
	value, err = call(ctx, s, "get", func(ctx context.Context) ([]byte, error) {
		text, err := s.client.Get(ctx, s.valueName(key)).Result()
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		return []byte(text), err
	})
	return value, value != nil, err
}

// Put implements mcp.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := s.write(ctx, "put", putScript, key, value, ttl)
	return err
}

// Create implements mcp.Store.
func (s *Store) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	return s.write(ctx, "create", createScript, key, value, ttl)
}

// Swap implements mcp.Store.
func (s *Store) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	return s.write(ctx, "swap", swapScript, key, value, ttl, string(old))
}

// write runs a script that writes a value, and reports whether it did.
func (s *Store) write(
	ctx context.Context, op string, script script, key string, value []byte, ttl time.Duration, more ...any,
) (bool, error) {
	if err := checkEntry(key, value, ttl); err != nil {
		return false, fmt.Errorf("redisstore: %s: %w", op, err)
	}
	args := append([]any{key, string(value), milliseconds(ttl)}, more...)
	return call(ctx, s, op, func(ctx context.Context) (bool, error) {
		return s.run(ctx, script, []string{s.valueName(key), s.indexName()}, args...).Bool()
	})
}

// Delete implements mcp.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return fmt.Errorf("redisstore: delete: %w", err)
	}
	_, err := call(ctx, s, "delete", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.run(ctx, deleteScript, []string{s.valueName(key), s.indexName()}, key).Err()
	})
	return err
}

// List implements mcp.Store. It asks the server for 500 keys at a time. Options.Timeout bounds all of
// them together.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	return call(ctx, s, "list", func(ctx context.Context) ([]string, error) {
		return s.listPages(ctx, prefix, after, limit)
	})
}

func (s *Store) listPages(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	for len(keys) < limit {
		step := min(limit-len(keys), listStep)
		p, err := s.listPage(ctx, prefix, after, step)
		if err != nil {
			return nil, err
		}
		keys = append(keys, p.keys...)
		if p.seen < step {
			break
		}
		after = p.last
	}
	return keys, nil
}

// page is what listScript returns.
type page struct {
	seen int
	last string
	keys []string
}

func (s *Store) listPage(ctx context.Context, prefix, after string, step int) (p page, err error) {
	low, high := "["+prefix, "["+prefix+"\xff" // keys are ASCII
	if after >= prefix {
		low = "(" + after
	}
	reply, err := s.run(ctx, listScript, []string{s.indexName()}, s.valueName(""), low, high, step).Slice()
	if err != nil {
		return p, err
	}
	if len(reply) == 3 {
		seen, ok1 := reply[0].(int64)
		last, ok2 := reply[1].(string)
		found, ok3 := reply[2].([]any)
		for _, key := range found {
			key, ok := key.(string)
			ok3 = ok3 && ok
			p.keys = append(p.keys, key)
		}
		if p.seen, p.last = int(seen), last; ok1 && ok2 && ok3 {
			return p, nil
		}
	}
	return p, fmt.Errorf("the server has answered %v: want a list of keys", reply)
}

func (s *Store) valueName(key string) string { return s.prefix + "value:" + key }

func (s *Store) indexName() string { return s.prefix + "keys" }

// milliseconds returns a time to live for Redis, rounded up, because 0 means none.
func milliseconds(ttl time.Duration) int64 {
	ms := ttl.Milliseconds()
	if time.Duration(ms)*time.Millisecond < ttl {
		ms++
	}
	return ms
}

func checkEntry(key string, value []byte, ttl time.Duration) error {
	switch err := checkKey(key); {
	case err != nil:
		return err
	case len(value) > maxValue:
		return fmt.Errorf("a value of %d bytes: want at most %d", len(value), maxValue)
	case ttl < 0:
		return fmt.Errorf("a time to live of %v: want more than 0, or 0 for a value that does not expire", ttl)
	}
	return nil
}

func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return fmt.Errorf("a key of %d bytes: want 1 to %d", len(key), maxKey)
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("key %q: want printable ASCII", key)
	}
	return nil
}
