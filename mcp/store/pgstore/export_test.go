package pgstore

import "context"

// Sweep removes now what a Store removes every few seconds.
func (s *Store) Sweep(ctx context.Context) error { return s.sweep(ctx) }
