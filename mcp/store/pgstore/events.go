package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fondaco/fondaco/mcp"
)

// eventStore is the EventStore of a Store.
type eventStore struct {
	store *Store
}

var _ mcp.EventStore = (*eventStore)(nil)

// Append implements mcp.EventStore.
func (e *eventStore) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	if err := checkStream(stream); err != nil {
		return fmt.Errorf("pgstore: append event: %w", err)
	}
	_, err := e.store.change(ctx, "append event", e.store.statements.appendEvent, stream, n, notNull(msg))
	return err
}

// After implements mcp.EventStore.
func (e *eventStore) After(ctx context.Context, stream string, n int64) (msgs [][]byte, err error) {
	if err := checkStream(stream); err != nil {
		return nil, fmt.Errorf("pgstore: read events: %w", err)
	}
	err = e.store.read(ctx, "read events", func(ctx context.Context) error {
		rows, err := e.store.pool.Query(ctx, e.store.statements.eventsAfter, stream, n)
		if err != nil {
			return err
		}
		msgs, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
		return err
	})
	return msgs, err
}

// Trim implements mcp.EventStore.
func (e *eventStore) Trim(ctx context.Context, stream string, n int64) error {
	if err := checkStream(stream); err != nil {
		return fmt.Errorf("pgstore: trim events: %w", err)
	}
	_, err := e.store.change(ctx, "trim events", e.store.statements.trimEvents, stream, n)
	return err
}
