package pgstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fondaco/fondaco/mcp"
)

// Store keeps entries, messages and events in a PostgreSQL database. It is an mcp.Store and an
// mcp.Bus; Events returns it as an mcp.EventStore. Its methods are safe for concurrent use.
//
// A call that gets no answer fails after 5 seconds, or when its context ends. The write of a call
// that failed may have happened. Lost connections are opened again by later calls, and
// subscriptions are renewed.
type Store struct {
	namespace     string
	maxEventAge   time.Duration
	maxEventBytes int64
	logger        *slog.Logger

	schema     string // of the tables
	statements statements
	events     eventStore
	pool       *pgxpool.Pool
	health     *health
	listener   *listener

	closed atomic.Bool
	stop   context.CancelFunc // ends the work in the background
	work   sync.WaitGroup     // the work in the background
}

var (
	_ mcp.Store = (*Store)(nil)
	_ mcp.Bus   = (*Store)(nil)
)

// callTimeout bounds each call, also where the server runs it.
const callTimeout = 5 * time.Second

// Open connects to a database and creates the tables of the namespace if they are missing. The URL
// is postgres://user:password@host:port/database?sslmode=verify-full, with the parameters of
// libpq; several hosts are separated by commas, of which
// target_session_attrs=read-write selects the primary. What the URL leaves open is taken
// from the environment variables of libpq, such as PGPASSWORD and PGSSLROOTCERT. Open fails if the
// database cannot be reached within 5 seconds. A nil opts means defaults.
//
// The caller has to call Close.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	s, err := open(ctx, url, opts.orZero())
	if err != nil {
		return nil, fmt.Errorf("pgstore: open: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, url string, opts *Options) (*Store, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &Store{
		namespace: opts.namespace(), maxEventAge: opts.maxEventAge(), maxEventBytes: opts.maxEventBytes(),
		logger: opts.logger(), health: new(health),
	}
	s.events.store = s
	config, err := poolConfig(url, opts, s.health)
	if err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, explain(err)
	}
	callCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := s.prepareTables(callCtx, !opts.NoCreateTables); err != nil {
		s.pool.Close()
		return nil, explainTimeout(ctx, callCtx, err)
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.listener = newListener(s, config.ConnConfig, opts.PasswordFunc)
	s.work.Go(func() { s.listener.run(background) })
	s.work.Go(func() { s.sweepRegularly(background) })
	return s, nil
}

// Close ends all subscriptions and closes the connections. It waits for calls and for functions of
// subscribers that are running, which therefore must not call it. Later calls fail. The error is
// always nil.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.stop()
	s.work.Wait()
	s.listener.close()
	s.pool.Close()
	return nil
}

// Events returns the EventStore, which is closed with the Store.
func (s *Store) Events() mcp.EventStore { return &s.events }

// call runs f with a context that ends after callTimeout. Its error names the operation.
func (s *Store) call(ctx context.Context, operation string, f func(ctx context.Context) error) error {
	callCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := f(callCtx)
	if err == nil {
		return nil
	}
	if s.closed.Load() {
		return fmt.Errorf("pgstore: %s: %w", operation, errClosed)
	}
	s.noteLoss(ctx, err)
	return fmt.Errorf("pgstore: %s: %w", operation, explainTimeout(ctx, callCtx, err))
}

// read is call for what only reads. It tries once more if the connection was lost.
func (s *Store) read(ctx context.Context, operation string, f func(ctx context.Context) error) error {
	return s.call(ctx, operation, func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && s.noteLoss(ctx, err) {
			return f(ctx)
		}
		return err
	})
}

// noteLoss reports whether an error means that a connection was lost. If so, other connections
// are checked before they are used.
func (s *Store) noteLoss(ctx context.Context, err error) bool {
	if ctx.Err() != nil || !isConnectionLost(err) {
		return false
	}
	s.health.lost()
	if isReadOnly(err) { // a check does not find that a server has become a standby
		s.pool.Reset()
	}
	return true
}

// change runs a statement and reports whether it has changed rows.
func (s *Store) change(ctx context.Context, operation, statement string, args ...any) (changed bool, err error) {
	err = s.call(ctx, operation, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, statement, args...)
		changed = tag.RowsAffected() > 0
		return err
	})
	return changed && err == nil, err
}

// Get implements mcp.Store.
func (s *Store) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, fmt.Errorf("pgstore: get: %w", err)
	}
	err = s.read(ctx, "get", func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, s.statements.get, key).Scan(&value)
		found = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return value, found, err
}

// Put implements mcp.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := checkEntry(key, value, ttl); err != nil {
		return fmt.Errorf("pgstore: put: %w", err)
	}
	_, err := s.change(ctx, "put", s.statements.put, key, notNull(value), interval(ttl))
	return err
}

// Create implements mcp.Store.
func (s *Store) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	if err := checkEntry(key, value, ttl); err != nil {
		return false, fmt.Errorf("pgstore: create: %w", err)
	}
	return s.change(ctx, "create", s.statements.create, key, notNull(value), interval(ttl))
}

// Swap implements mcp.Store.
func (s *Store) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	if err := checkEntry(key, value, ttl); err != nil {
		return false, fmt.Errorf("pgstore: swap: %w", err)
	}
	if len(old) > maxValue { // no value equals it
		return false, nil
	}
	return s.change(ctx, "swap", s.statements.swap, key, notNull(old), notNull(value), interval(ttl))
}

// Delete implements mcp.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return fmt.Errorf("pgstore: delete: %w", err)
	}
	_, err := s.change(ctx, "delete", s.statements.remove, key)
	return err
}

// List implements mcp.Store. It reads only the rows of the keys that it returns, and expired
// rows among them.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	if err := errors.Join(checkBytes("prefix", prefix, ' '), checkBytes("after", after, ' ')); err != nil {
		return nil, fmt.Errorf("pgstore: list: %w", err)
	}
	if limit <= 0 {
		return nil, nil
	}
	err = s.read(ctx, "list", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, s.statements.list, after, prefix, prefixEnd(prefix), int64(limit))
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return keys, err
}

// prefixEnd returns the first text after all keys that begin with prefix.
func prefixEnd(prefix string) string {
	if prefix == "" {
		return "\x7f"
	}
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// notNull returns an empty value for nil, which would be NULL.
func notNull(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

// interval returns the parameter for a time to live: NULL for a value that does not expire.
func interval(ttl time.Duration) *time.Duration {
	if ttl == 0 {
		return nil
	}
	return &ttl
}

// lockID returns the id of an advisory lock that belongs to the namespace.
func (s *Store) lockID(purpose string) int64 {
	sum := sha256.Sum256([]byte("fondaco\n" + s.namespace + "\n" + purpose))
	return int64(binary.BigEndian.Uint64(sum[:]))
}
