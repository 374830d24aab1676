//go:build unix || windows

package boltstore

import (
	"context"

	bolt "go.etcd.io/bbolt"
)

// Sweep removes what has expired, as every ten seconds.
func (s *Store) Sweep(ctx context.Context) error { return s.sweep(ctx) }

// Stored returns how many values and expiries are in the file, expired ones included.
func (s *Store) Stored() (values, expiries int) {
	_ = s.db.View(func(tx *bolt.Tx) error {
		values, expiries = tx.Bucket(bucketValues).Stats().KeyN, tx.Bucket(bucketExpiry).Stats().KeyN
		return nil
	})
	return values, expiries
}

// Turn takes the turn of writing, and returns what gives it back.
func (s *Store) Turn() (release func()) {
	s.turn <- struct{}{}
	return func() { <-s.turn }
}
