package tasks

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/durable"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// ask opens a question in the task and waits for its answer. A question that is asked
// again gets another key. A shutdown ends the question and the handler, because no answer
// can arrive after it.
func (x *run) ask(ctx context.Context, key string, q mcp.InputRequest) (jsontext.Value, error) {
	key, err := x.fresh(key)
	if err != nil {
		return nil, err
	}
	w := x.tasks.entries.watch(x.id)
	defer w.stop()
	if err := x.openQuestion(ctx, key, q); err != nil {
		return nil, err
	}
	x.durable.releasePlace()
	defer x.durable.regainPlace(ctx)
	for {
		e, err := x.tasks.entries.load(ctx, x.id)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, x.stopAsking(ctx, key)
		case x.mayReadAgain(err):
			_ = pause(ctx, persistPause, nil)
			continue
		default:
			return nil, err
		}
		if a, ok := e.Answers[key]; ok && x.durable != nil {
			return a.Value, a.Failure.asError() // it stays in the entry for further runs
		} else if ok {
			err := x.change(ctx, func(e *entry) { delete(e.Answers, key) })
			return a.Value, errors.Join(a.Failure.asError(), err)
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil, x.stopAsking(ctx, key)
		}
	}
}

// openQuestion opens a question. That of a durable task is tried until the lease is lost.
func (x *run) openQuestion(ctx context.Context, key string, q mcp.InputRequest) error {
	open := func(ctx context.Context) error { return x.change(ctx, func(e *entry) { e.ask(key, q) }) }
	if x.durable == nil {
		return open(ctx)
	}
	return x.persist(open)
}

// mayReadAgain reports whether a durable task that waits for an answer goes on after a read of the
// Store that has failed: it does while the lease is held.
func (x *run) mayReadAgain(err error) bool {
	if x.durable == nil || err == nil || lasts(err) {
		return false
	}
	if !x.durable.term.Held() {
		x.cancel(durable.ErrLost)
		return false
	}
	return true
}

// stopAsking returns why nobody waits for the answer of a question any more, and closes the
// question unless another replica may wait for it.
func (x *run) stopAsking(ctx context.Context, key string) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, mcpserver.ErrShutdown):
		return x.endUnanswered()
	case errors.Is(cause, durable.ErrLost), errors.Is(cause, errTakenOver):
		return cause
	default:
		_ = x.change(context.WithoutCancel(ctx), func(e *entry) { e.close(key) })
		return cause
	}
}

// endUnanswered ends a run that waits for an answer at a shutdown. A durable task waits for it on
// another replica.
func (x *run) endUnanswered() error {
	var cause error = errUnanswered
	if x.durable != nil {
		cause = mcpserver.ErrShutdown
	}
	x.cancel(cause)
	return cause
}

// fresh returns a key for a question that the task has not used yet.
func (x *run) fresh(key string) (string, error) {
	n, ok := x.count(key)
	switch {
	case !ok:
		x.r.ReportLimit(mcp.LimitTaskQuestions)
		return "", mcp.Errorf(mcp.CodeInvalidParams, "the task has asked %d questions, which is the maximum", x.tasks.o.maxQuestions())
	case n > 1:
		return fmt.Sprintf("%s#%d", key, n), nil
	}
	return key, nil
}

// count counts a question, and returns false if there are too many.
func (x *run) count(key string) (times int, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asked >= x.tasks.o.maxQuestions() {
		return 0, false
	}
	x.asked++
	x.keys[key]++
	return x.keys[key], true
}

// asError returns a failure of the client as an error for the handler.
func (f *Failure) asError() error {
	if f == nil {
		return nil
	}
	code := mcp.CodeOther
	if f.Code == -1 { // the user of a client of 2025-11-25 refused
		code = mcp.CodeRejected
	}
	return &mcp.Error{Code: code, Number: f.Code, Message: f.Message, Data: f.Data, Remote: true}
}
