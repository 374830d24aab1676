package tasks

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Mode says how calls of a tool become tasks.
type Mode int

const (
	// Required refuses calls of clients that did not declare tasks. Without it they
	// get the result of the call itself, as clients of revisions without tasks always
	// do.
	Required Mode = iota + 1
	// Late lets the handler decide, with Begin, when the call becomes a task. Before
	// that the handler may ask in rounds, and it may return without a task.
	Late
)

// AsTask is the option of a tool whose calls become tasks, for clients that declared
// them. In 2025-11-25 the client decides for each call. With the option mcpserver.Durable calls of
// sessions that are no tasks survive the process that runs them, too, where that is possible.
func (t *Tasks) AsTask(modes ...Mode) mcpserver.ToolOption {
	var required, late bool
	for _, m := range modes {
		required, late = required || m == Required, late || m == Late
	}
	support := mcp.TaskOptional
	if required {
		support = mcp.TaskRequired
	}
	define := mcpserver.Define(func(d *mcp.Tool) {
		if t.o.core() {
			d.Execution = &mcp.ToolExecution{TaskSupport: support}
		}
	})
	return mcpserver.ToolOptions(define, mcpserver.Wrap(func(next mcpserver.ToolHandler) mcpserver.ToolHandler {
		return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			r := mcpserver.From(ctx)
			as, err := t.kindOf(r, p, required)
			switch {
			case err != nil:
				return nil, err
			case r.Durable() && takeoverFrom(ctx) != nil:
				return takeoverFrom(ctx).run(ctx, p, as, next)
			case as == noTask && r.Durable():
				return t.runCall(ctx, p, next)
			case as == noTask:
				return next(ctx, p)
			case late:
				return t.runLate(ctx, p, as, next)
			}
			return t.runNow(ctx, p, as, next)
		}
	}))
}

// kind is one of the two systems of tasks.
type kind int

const (
	noTask kind = iota
	extensionTask
	coreTask
	durableCall // no task for its client
)

// kindOf returns the kind of task that a call becomes.
func (t *Tasks) kindOf(r *mcpserver.Request, p *mcp.CallToolParams, required bool) (kind, error) {
	if _, ok := r.Extension(ID); ok {
		return extensionTask, nil
	}
	core := t.o.core() && r.Revision().HasCoreTasks()
	switch {
	case core && p.Task != nil:
		return coreTask, nil
	case core && required:
		return noTask, mcp.Errorf(mcp.CodeMethodNotFound, "tool %q: want a call as a task", p.Name)
	case required && r.Revision().Stateless():
		return noTask, r.RequireExtension(ID)
	}
	return noTask, nil
}

// Begin turns the call of a Late tool into a task: the client gets the task, and the
// handler continues with the returned context. Begin returns ctx itself if the call is a
// task already, or cannot become one because the client does not support tasks or the
// tool is not Late. It fails when the task cannot be
// stored, when too many are, and when the call or its handler has ended. Calls of
// Begin for one call may run concurrently: they return the same task.
func Begin(ctx context.Context) (context.Context, error) {
	s, _ := ctx.Value(stageKey{}).(*stage)
	if s == nil || ctx.Value(runKey{}) != nil {
		return ctx, nil
	}
	return s.begin(ctx)
}

// Status sets the status message of the task of ctx, for people to read. It does nothing
// outside of a task. The messages of mcpserver.Progress set it, too.
func Status(ctx context.Context, message string) {
	if x, _ := ctx.Value(runKey{}).(*run); x != nil {
		x.status(ctx, message)
	}
}

// IDFrom returns the id of the task that ctx belongs to, and false outside of a task. The
// id can be a credential of an anonymous client, so do not log it.
func IDFrom(ctx context.Context) (string, bool) {
	x, _ := ctx.Value(runKey{}).(*run)
	if x == nil || x.kind == durableCall {
		return "", false
	}
	return x.id, true
}

func decodeIDs(raw jsontext.Value) ([]string, error) {
	var ids []string
	if err := json.Unmarshal(raw, &ids); err != nil {
		return nil, err
	}
	if len(ids) > maxListened {
		return nil, fmt.Errorf("%d entries, want at most %d", len(ids), maxListened)
	}
	return ids, nil
}
