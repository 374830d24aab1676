package model_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// arguments are those of all tools.
type arguments struct {
	Nonce string `json:"nonce"`          // of the call
	Steps int    `json:"steps,omitzero"` // messages of progress, or durable steps
	Pause int    `json:"pause,omitzero"` // between them, in milliseconds
}

type answer struct {
	Word string `json:"word"`
}

var errKilled = errors.New("the replica was killed")

// addTools registers the tools. Their results name the call, its sender and what the client has answered.
func (r *replica) addTools(t *tasks.Tasks) {
	r.server.Template("notes://{name}", "note", "", func(context.Context, struct {
		Name string `json:"name"`
	},
	) ([]byte, error) {
		return nil, nil
	})
	r.server.Tool("progress", "Sends progress", func(ctx context.Context, in arguments) (string, error) {
		for i := range in.Steps {
			if err := pause(ctx, time.Duration(in.Pause)*time.Millisecond); err != nil {
				return "", err
			}
			mcpserver.Progress(ctx, float64(i+1), float64(in.Steps), in.Nonce)
		}
		return result(ctx, in.Nonce, ""), nil
	})
	r.server.Tool("ask", "Asks between two steps", func(ctx context.Context, in arguments) (string, error) {
		if err := r.step(ctx, in, "before"); err != nil {
			return "", err
		}
		said, err := mcpserver.Ask[answer](ctx, "word", in.Nonce)
		if err != nil {
			return "", err
		}
		return result(ctx, in.Nonce, said.Word), r.step(ctx, in, "after")
	})
	r.server.Tool("wait", "Waits", func(ctx context.Context, in arguments) (string, error) {
		defer r.enter(mcpserver.From(ctx).Principal().Subject)()
		return result(ctx, in.Nonce, ""), pause(ctx, time.Duration(in.Pause)*time.Millisecond)
	})
	r.server.Tool("order", "Is a durable task", func(ctx context.Context, in arguments) (string, error) {
		for i := range in.Steps {
			if err := r.step(ctx, in, fmt.Sprint("step", i)); err != nil {
				return "", err
			}
		}
		said, err := mcpserver.Ask[answer](ctx, "word", in.Nonce)
		if err != nil {
			return "", err
		}
		return result(ctx, in.Nonce, said.Word), r.step(ctx, in, "last")
	}, mcpserver.Durable(), t.AsTask())
}

// result is the text of a result.
func result(ctx context.Context, nonce, word string) string {
	return nonce + " " + mcpserver.From(ctx).Principal().Subject + " " + word
}

// step has a side effect, which is written into the ledger.
func (r *replica) step(ctx context.Context, in arguments, name string) error {
	key := in.Nonce + " " + name
	_, err := mcpserver.Once(ctx, name, func() (int, error) {
		if r.killed.Load() {
			return 0, errKilled
		}
		r.world.facts.begun(r, key)
		return 0, pause(ctx, time.Duration(in.Pause)*time.Millisecond)
	})
	if err == nil && !r.killed.Load() {
		r.world.facts.completed(key)
	}
	return err
}
