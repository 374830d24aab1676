//go:build unix || windows

package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	// sweepInterval is the time between two removals of what has expired.
	sweepInterval = 10 * time.Second
	// sweepBatch is how many entries are removed in one transaction, so that other writes do
	// not wait long.
	sweepBatch = 500
)

// sweepUntilClosed removes what has expired, until Close.
func (s *Store) sweepUntilClosed() {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.sweep(s.ctx); err != nil && s.ctx.Err() == nil {
			s.options.Logger.Warn("boltstore: expired data could not be removed", "file", s.path, "error", err)
		}
	}
}

// sweep removes the values and streams that have expired.
func (s *Store) sweep(ctx context.Context) error {
	for more := true; more; {
		var expired [][]byte
		err := s.apply(ctx, change{
			operation: "remove expired values",
			needed: func(tx *bolt.Tx) bool {
				expired = expiredKeys(tx)
				return len(expired) > 0
			},
			write: func(tx *bolt.Tx) error { return removeExpired(tx, expired) },
		})
		if err != nil {
			return err
		}
		more = len(expired) == sweepBatch
	}
	return s.sweepStreams(ctx)
}

// expiredKeys returns the keys of the bucket of expiries that have passed, at most sweepBatch.
func expiredKeys(tx *bolt.Tx) (expired [][]byte) {
	now := uint64(time.Now().UnixNano())
	c := tx.Bucket(bucketExpiry).Cursor()
	for k, _ := c.First(); k != nil && len(expired) < sweepBatch && binary.BigEndian.Uint64(k) <= now; k, _ = c.Next() {
		expired = append(expired, bytes.Clone(k))
	}
	return expired
}

// removeExpired removes entries if their expiry is still the same.
func removeExpired(tx *bolt.Tx, expired [][]byte) error {
	for _, k := range expired {
		key := k[expirySize:]
		if entry := tx.Bucket(bucketValues).Get(key); entry != nil && bytes.Equal(entry[:expirySize], k[:expirySize]) {
			if err := tx.Bucket(bucketValues).Delete(key); err != nil {
				return err
			}
		}
		if err := tx.Bucket(bucketExpiry).Delete(k); err != nil {
			return err
		}
	}
	return nil
}
