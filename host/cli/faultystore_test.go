package cli

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// faultyStore is a store that may be damaged, on a disk that may be full. It reads nothing after the
// end of a context.
type faultyStore struct {
	mcp.Store
	damaged, full atomic.Bool
}

var errFull = errors.New("no space left on device")

func (s *faultyStore) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	switch {
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case s.damaged.Load():
		return nil, false, errors.New("the record is damaged")
	}
	return s.Store.Get(ctx, key)
}

func (s *faultyStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if s.full.Load() {
		return errFull
	}
	return s.Store.Put(ctx, key, value, ttl)
}

func (s *faultyStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	if s.full.Load() {
		return false, errFull
	}
	return s.Store.Create(ctx, key, value, ttl)
}

func (s *faultyStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if s.full.Load() {
		return false, errFull
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}
