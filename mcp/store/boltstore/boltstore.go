//go:build unix || windows

package boltstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/fondaco/fondaco/mcp"
)

// Options are the optional settings of Open. A nil pointer is the same as the zero value.
type Options struct {
	// MaxBytes bounds what the file contains, in bytes, without the pages that can be used
	// again. A write that needs more fails. Default: 1 GiB.
	MaxBytes int64

	// MaxEventBytes bounds the events of all streams, in bytes, each counting 64 more than it
	// has. When it is reached, the streams that got no event for longest are removed first, and
	// then the oldest events of the one that gets an event. Default: 64 MiB.
	MaxEventBytes int64

	// MaxEventAge is the time after the last event of a stream, or after Open, when the stream
	// is removed. Default: 1 hour.
	MaxEventAge time.Duration

	// Logger receives messages about expired data that could not be removed.
	// Default: slog.Default().
	Logger *slog.Logger
}

func (o *Options) orDefaults() (Options, error) {
	if o == nil {
		o = &Options{}
	}
	if o.MaxBytes < 0 || o.MaxEventBytes < 0 || o.MaxEventAge < 0 {
		return Options{}, fmt.Errorf("options: MaxBytes %d, MaxEventBytes %d, MaxEventAge %v; want none below 0", o.MaxBytes, o.MaxEventBytes, o.MaxEventAge)
	}
	return Options{
		MaxBytes:      cmp.Or(o.MaxBytes, 1<<30),
		MaxEventBytes: cmp.Or(o.MaxEventBytes, 64<<20),
		MaxEventAge:   cmp.Or(o.MaxEventAge, time.Hour),
		Logger:        cmp.Or(o.Logger, slog.Default()),
	}, nil
}

// Store is an mcp.Store and an mcp.Bus, and has an mcp.EventStore, in a file. Its methods are
// safe for concurrent use. A call that has to wait for other writes fails when its context ends
// or after 5 seconds.
type Store struct {
	options Options
	path    string
	db      *bolt.DB
	bus     bus
	turn    chan struct{} // of capacity 1: full while something is written
	streams streamIndex   // guarded by turn

	ctx   context.Context // ends with Close
	end   context.CancelFunc
	work  sync.WaitGroup
	close func() error
}

var (
	_ mcp.Store = (*Store)(nil)
	_ mcp.Bus   = (*Store)(nil)
)

// callTimeout bounds the time that a write waits for others.
const callTimeout = 5 * time.Second

// The buckets of the file.
var (
	bucketValues = []byte("values") // key → expiry, value
	bucketExpiry = []byte("expiry") // expiry, key → nothing
	bucketEvents = []byte("events") // stream → bucket: number → event
)

// Open opens the file at path, and creates it if it does not exist; its directory has to exist.
// Only its owner can read a new file. Open fails at once if a process has the file open, or if
// it is not a file of this package. ctx ends Open only.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	s, err := open(ctx, path, opts)
	if err != nil {
		return nil, fmt.Errorf("boltstore: open %q: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, err := opts.orDefaults()
	if err != nil {
		return nil, err
	}
	db, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, path: path, db: db, turn: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.close = sync.OnceValue(s.closeFile)
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.work.Go(s.sweepUntilClosed)
	return s, nil
}

// load creates the buckets of a new file, and reads which streams there are.
func (s *Store) load() error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketValues, bucketExpiry, bucketEvents} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.db.View(s.loadStreams)
}

// Close ends all subscriptions and closes the file. It waits for calls and for functions of
// subscribers that are running, which therefore must not call it. Later calls fail. It may be
// called again.
func (s *Store) Close() error { return s.close() }

func (s *Store) closeFile() error {
	s.end()
	s.bus.close()
	s.work.Wait()
	_ = os.Remove(pidFile(s.path)) // before another process can have the lock
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("boltstore: close: %w", err)
	}
	return nil
}

// read runs f in a transaction that sees all writes that have returned.
func (s *Store) read(ctx context.Context, operation string, f func(tx *bolt.Tx) error) error {
	err := ctx.Err()
	if err == nil {
		err = s.db.View(f)
	}
	return wrap(operation, err)
}

// change is a write. Its functions have the turn.
type change struct {
	operation string
	needed    func(tx *bolt.Tx) bool  // reads whether there is something to write; nil for yes
	write     func(tx *bolt.Tx) error // changes the file
	done      func()                  // is called after the change is on the disk; may be nil
}

// apply waits for the turn and applies a change. What is not needed costs no write to the disk.
func (s *Store) apply(ctx context.Context, c change) error {
	return wrap(c.operation, s.applyInTurn(ctx, c))
}

func (s *Store) applyInTurn(ctx context.Context, c change) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for other writes: %w", ctx.Err())
	}
	defer func() { <-s.turn }()
	if c.needed != nil {
		needed := false
		err := s.db.View(func(tx *bolt.Tx) error {
			needed = c.needed(tx)
			return nil
		})
		if err != nil || !needed {
			return err
		}
	}
	if err := s.db.Update(c.write); err != nil {
		return err
	}
	if c.done != nil {
		c.done()
	}
	return nil
}

var errClosed = errors.New("the store is closed")

func wrap(operation string, err error) error {
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		err = errClosed
	}
	if err != nil {
		return fmt.Errorf("boltstore: %s: %w", operation, err)
	}
	return nil
}

// roomPerWrite is the number of pages that a transaction needs besides its data.
const roomPerWrite = 32

// checkRoom returns an error if there is no room for more bytes.
func (s *Store) checkRoom(tx *bolt.Tx, more int) error {
	stats, page := s.db.Stats(), int64(s.db.Info().PageSize)
	used := tx.Size() - int64(stats.FreePageN+stats.PendingPageN)*page
	if used+int64(more)+roomPerWrite*page > s.options.MaxBytes {
		return fmt.Errorf("the file has %d bytes of at most %d, and %d more are wanted; want Options.MaxBytes for more", used, s.options.MaxBytes, more)
	}
	return nil
}
