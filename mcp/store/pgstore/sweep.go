package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// sweepInterval is the longest time between two sweeps of one Store.
	sweepInterval = 10 * time.Second
	// sweepTimeout bounds one batch of a sweep.
	sweepTimeout = time.Minute
	// sweepBatch is how many rows one statement removes.
	sweepBatch = 1000
)

// sweepRegularly sweeps until ctx ends.
func (s *Store) sweepRegularly(ctx context.Context) {
	for {
		pause(ctx, sweepInterval)
		if ctx.Err() != nil {
			return
		}
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.logger.WarnContext(ctx, "pgstore: rows that have expired were not removed", "error", err)
		}
	}
}

// sweep removes expired entries, and events that are too old or too many.
func (s *Store) sweep(ctx context.Context) error {
	return errors.Join(
		s.removeRows(ctx, s.statements.removeEntries),
		s.removeRows(ctx, s.statements.removeOld, s.maxEventAge),
		s.removeRows(ctx, s.statements.removeSurplus, s.maxEventBytes),
	)
}

// removeRows runs a statement that removes at most sweepBatch rows until it removes none, or another
// Store of the namespace does so.
func (s *Store) removeRows(ctx context.Context, statement string, args ...any) error {
	args = append([]any{sweepBatch}, args...)
	for ctx.Err() == nil {
		removed, err := s.removeBatch(ctx, statement, args)
		if err != nil || removed < sweepBatch {
			return err
		}
	}
	return nil
}

// removeBatch runs a statement if no other Store of the namespace removes rows.
func (s *Store) removeBatch(ctx context.Context, statement string, args []any) (removed int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var alone bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, s.lockID("sweep")).Scan(&alone); err != nil || !alone {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(`SET LOCAL statement_timeout = %d`, sweepTimeout.Milliseconds())); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, statement, args...)
		removed = tag.RowsAffected()
		return err
	})
	return removed, explain(err)
}
