package tasks

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/durable"
)

// DeadLetter is a durable task whose attempts have all ended without an outcome. For its client
// it has the status working, and a message that says so. It expires as every task does.
type DeadLetter struct {
	// ID is the id of the task. It can be a credential of an anonymous client.
	ID string
	// Tool is the tool that the task calls.
	Tool string
	// Attempts is the number of attempts, and Reason the error of the last one, which the
	// client does not get.
	Attempts int
	Reason   string
	// Since is when the last attempt ended, Expires when the task is deleted.
	Since   time.Time
	Expires time.Time
}

// Errors about dead letters.
var (
	errDeadLetter   = errors.New("run task: the task is a dead letter; want RetryDeadLetter")
	errNoDeadLetter = errors.New("the task is not a dead letter")
)

// DeadLetters yields the dead letters of all replicas, in the order of their ids. It leaves out
// those that cannot be read with the Options.Keys of this server. An error ends them.
func (t *Tasks) DeadLetters(ctx context.Context) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		after := ""
		for {
			found, err := t.queue.ListDead(ctx, after, pageSize)
			if err != nil {
				yield(DeadLetter{}, fmt.Errorf("dead letters: %w", err))
				return
			}
			for _, key := range found {
				switch d, err := t.deadLetter(ctx, key); {
				case errors.Is(err, errNoDeadLetter):
				case !yield(d, err) || err != nil:
					return
				}
			}
			if len(found) < pageSize {
				return
			}
			after = found[len(found)-1].ID
		}
	}
}

func (t *Tasks) deadLetter(ctx context.Context, key durable.Work) (DeadLetter, error) {
	e, _, err := t.entries.read(ctx, key.ID)
	switch {
	case errors.Is(err, errUnreadable):
		return DeadLetter{}, errNoDeadLetter
	case err != nil && !errors.Is(err, errUnknown):
		return DeadLetter{}, fmt.Errorf("dead letters: %w", err)
	case err != nil || e.Status.Terminal(): // it was cancelled, or has expired
		t.clean(ctx, key)
		return DeadLetter{}, errNoDeadLetter
	case isDead(e) != nil:
		return DeadLetter{}, errNoDeadLetter
	}
	d := e.Durable
	return DeadLetter{ID: e.ID, Tool: d.Tool, Attempts: d.Attempt, Reason: d.Dead, Since: e.Updated, Expires: e.Expires}, nil
}

// isDead returns errNoDeadLetter unless the task is a dead letter.
func isDead(e *entry) error {
	if e.Durable == nil || e.Durable.Dead == "" || e.Status.Terminal() {
		return errNoDeadLetter
	}
	return nil
}

// RetryDeadLetter makes a dead letter due again, with all its attempts. Steps whose results are
// stored are not repeated. It fails when the task is not a dead letter, as when somebody else has
// done so.
func (t *Tasks) RetryDeadLetter(ctx context.Context, id string) error {
	err := t.reschedule(ctx, id, t.queue.Dead(id), time.Now(), func(e *entry) error {
		if err := isDead(e); err != nil {
			return err
		}
		e.Durable.Attempt, e.Durable.Refused, e.Message = 0, 0, "the task is tried again"
		return nil
	})
	if err != nil {
		return fmt.Errorf("retry dead letter: %w", err)
	}
	t.o.logger().LogAttrs(ctx, slog.LevelInfo, "dead letter is tried again", slog.String("task", id[:6]))
	return nil
}

// FailDeadLetter ends a dead letter: the task has failed for its client, with that message. It
// fails when the task is not a dead letter.
func (t *Tasks) FailDeadLetter(ctx context.Context, id, message string) error {
	_, err := t.entries.change(ctx, id, func(e *entry) error {
		if err := isDead(e); err != nil {
			return err
		}
		e.end(mcp.TaskFailed, statusText(message))
		e.Error = &Failure{Code: -32603, Message: e.Message}
		return nil
	})
	if err != nil {
		return fmt.Errorf("fail dead letter: %w", err)
	}
	t.clean(ctx, t.queue.Dead(id))
	t.o.logger().LogAttrs(ctx, slog.LevelInfo, "dead letter ended as failed", slog.String("task", id[:6]))
	return nil
}
