package tasks

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/durable"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A durable call is a durable task that its client does not see: the client waits for the reply to
// its call. What holds for the task holds for the call: who runs it, its attempts, its steps, its
// outcome, of which there is one. The process that the client is connected to sends the client the
// questions of the entry, and its outcome. It need not be the one that runs the handler:
//
//	runCall ─→ Request.ContinueAs ─→ beginRun ─→ awaitCall ─→ the reply
//	the process of the client ends ─→ the client resumes its stream ─→ continueCall ─→ awaitCall
//	the process of the handler ends ─→ worker ─→ takeover; awaitCall goes on
//
// When the reply is in the EventStore, the entry is deleted (settle).

// Errors that the client of a durable call gets.
var (
	errCallLost = mcp.Errorf(mcp.CodeInternal, "the replica that ran the call has ended, and nothing is stored of the call; it may have run")
	errCallDead = mcp.Errorf(mcp.CodeInternal, "all attempts of the call have failed; it is left to the operator of the server")
)

// runCall runs a call of a durable tool that is no task. If its reply would be lost with this
// process, it is an ordinary call.
func (t *Tasks) runCall(ctx context.Context, p *mcp.CallToolParams, next mcpserver.ToolHandler) (mcp.Result, error) {
	r := mcpserver.From(ctx)
	e := newEntry(ownerOf(r), r.Method(), t.o.ttl(), t.o.poll())
	e.makeDurable(p.Name)
	e.Call = true
	until, ok := r.ContinueAs(ctx, ID, e.ID, e.Expires)
	if !ok {
		t.warnOrdinary(ctx, r, p.Name)
		return next(ctx, p)
	}
	e.Expires = until
	x, err := t.beginRun(ctx, r, e, durableCall)
	if err != nil {
		return nil, err
	}
	go func() {
		result, err := contained(x.working, p, next)
		x.finish(result, err)
	}()
	result, err := t.awaitCall(ctx, r, e.ID)
	if err == nil || !errors.Is(err, context.Cause(ctx)) {
		x.awaitMessages(ctx)
	}
	return result, err
}

// warnOrdinary logs the first call that ends with its process although its author wants it to be
// durable.
func (t *Tasks) warnOrdinary(ctx context.Context, r *mcpserver.Request, tool string) {
	t.ordinary.Do(func() {
		t.o.logger().LogAttrs(ctx, slog.LevelWarn, "a call of a durable tool ends with its process; want a task, or Streamable HTTP with a session, an event stream, and Options.Keys, Store, Bus and HTTPOptions.Events; this is logged once",
			slog.String("tool", tool), slog.String("revision", r.Revision().String()))
	})
}

// awaitMessages waits for the messages that the handler has sent before it has returned, which
// precede the reply. A handler whose lease was lost may not return soon.
func (x *run) awaitMessages(ctx context.Context) {
	late := time.NewTimer(persistPause)
	defer late.Stop()
	select {
	case <-x.returned:
	case <-late.C:
	case <-ctx.Done():
	}
}

// continueCall is Extension.Continue: this process waits for a call that another one has received.
func (t *Tasks) continueCall(ctx context.Context, r *mcpserver.Request, id string) (any, error) {
	return t.awaitCall(ctx, r, id)
}

// awaitCall sends the questions of a durable call to its client and returns its outcome. If the
// client has cancelled the call, or its session has ended, the call ends.
func (t *Tasks) awaitCall(ctx context.Context, r *mcpserver.Request, id string) (mcp.Result, error) {
	r.OnReplyStored(func() { t.settle(id) })
	w := t.entries.watch(id)
	defer w.stop()
	for {
		result, ended, err := t.stepOfCall(ctx, r, w, id)
		switch {
		case ctx.Err() != nil && r.LeaveReply():
			return nil, context.Cause(ctx)
		case ctx.Err() != nil:
			t.abandonCall(context.WithoutCancel(ctx), id)
			return nil, context.Cause(ctx)
		case ended:
			return result, err
		case err != nil:
			t.abandonCall(ctx, id)
			return nil, err
		}
	}
}

// stepOfCall returns the outcome of a call that has ended. Otherwise it sends its questions, or
// waits for a change.
func (t *Tasks) stepOfCall(ctx context.Context, r *mcpserver.Request, w *watcher, id string) (result mcp.Result, ended bool, err error) {
	e, err := t.entries.load(ctx, id)
	if err == nil && (!e.Call || e.Owner != ownerOf(r)) {
		err = errUnknown
	}
	switch {
	case isUnknown(err):
		return nil, true, errCallLost
	case err != nil:
		return nil, false, w.wait(ctx, time.Now().Add(scanInterval)) // the Store does not answer
	case e.Status.Terminal():
		result, err := outcomeOf(e)
		return result, true, err
	case e.Durable.Dead != "":
		return nil, true, errCallDead
	case len(e.Open) > 0:
		err := t.putAll(ctx, r, e)
		if _, again := retryable(err); again || errors.Is(err, errNotStored) {
			err = w.wait(ctx, time.Now().Add(scanInterval))
		}
		return nil, false, err
	}
	return nil, false, w.wait(ctx, e.Expires)
}

// errNotStored: the answer to a question was received, and could not be stored.
var errNotStored = errors.New("the answer could not be stored")

// settle deletes a call whose reply is in the EventStore. A dead letter is kept for the operator.
func (t *Tasks) settle(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), finishTimeout)
	defer cancel()
	e, _, err := t.entries.read(ctx, id)
	if err != nil || !e.Call || !e.Status.Terminal() {
		return
	}
	if e.Status == mcp.TaskCancelled {
		t.abandonCall(ctx, id) // the process that runs it may not know yet
		return
	}
	t.abandon(ctx, id)
}

// cancelledFor is how long a cancelled call is kept, so that the process that runs it knows.
const cancelledFor = 2 * lease

// abandonCall ends a call whose client does not want the reply any more. It is Extension.Abandon.
func (t *Tasks) abandonCall(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	var key durable.Work
	_, err := t.entries.change(ctx, id, func(e *entry) error {
		if !e.Call || e.Status.Terminal() && e.Status != mcp.TaskCancelled {
			return errEnded
		}
		if !e.Status.Terminal() {
			key = t.keyOf(e)
			e.end(mcp.TaskCancelled, "cancelled by the client")
		}
		if until := time.Now().Add(cancelledFor); until.Before(e.Expires) {
			e.Expires = until
		}
		return nil
	})
	switch {
	case err == nil && key.ID != "":
		t.clean(ctx, key)
	case err != nil && !lasts(err):
		t.o.logger().LogAttrs(ctx, slog.LevelWarn, "call cannot be cancelled", slog.String("task", id[:min(len(id), 6)]), slog.Any("error", err))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(id)
}
