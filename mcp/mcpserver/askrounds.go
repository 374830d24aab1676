package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/replay"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// askInRounds asks in the stateless era. It returns nil if all questions are answered.
// Otherwise it records those that are not, which ends the run.
//
// Spec: 2026-07-28 basic/patterns/mrtr
func (r *Request) askInRounds(questions []openQuestion) error {
	errs := make([]error, len(questions))
	var unanswered replay.Table[replay.Question]
	for i := range questions {
		q := &questions[i]
		known, err := r.answered(q)
		if known {
			errs[i] = q.wrap(err)
			continue
		}
		if err != nil {
			return q.wrap(err)
		}
		request, err := r.call.InputRequest(q.method, q.sentParams())
		if err != nil {
			return q.wrap(err)
		}
		unanswered.Set(q.key, replay.Question{InputRequest: request, Digest: q.digest, Again: q.again})
	}
	if unanswered == nil {
		return first(errs)
	}
	err := r.run.Ask(unanswered)
	if errors.Is(err, replay.ErrRounds) {
		err = r.tooManyRounds()
	}
	return wrapAsk(unanswered[0].Key, err)
}

// mayAsk returns an error if the call can ask nothing any more, or if its state is refused. A
// run that has asked is no such call: its goroutines may ask more in the same round, although
// its context has ended.
func (r *Request) mayAsk(ctx context.Context) error {
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.Is(cause, ErrInputRequired) {
			return r.endedError(ctx, cause)
		}
	}
	return r.resume()
}

// endedError returns err, the cause of a context, and adds ErrCallEnded if the call itself has
// ended. Other errors are returned as they are.
func (r *Request) endedError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || !errors.Is(err, cause) {
		return err
	}
	_, timeout := errors.AsType[*toolTimeoutError](cause)
	if timeout || r.ctx.Err() != nil || r.hasHandlers() && r.handlers.Err() != nil {
		return fmt.Errorf("%w: %w", ErrCallEnded, err)
	}
	return err
}

// answered decodes the answer to a question, if there is a valid one. known is false and err
// is set if the run has ended.
func (r *Request) answered(q *openQuestion) (known bool, err error) {
	found, err := r.run.Answer(q.key, q.digest)
	if err != nil {
		return false, err
	}
	q.again = found.Again
	if found.Changed {
		r.server.options.logger().LogAttrs(r.ctx, slog.LevelWarn, "answer dropped: the question has changed since it was asked; want values that change in a Once before it",
			slog.String("method", r.method), slog.String("question", q.key))
	}
	if found.Answer == nil {
		return false, nil
	}
	err = q.decode(found.Answer, found.Checked)
	if invalid, bad := errors.AsType[*invalidAnswerError](err); bad {
		r.run.Drop(q.key)
		err = r.refuse(q, invalid)
		return err != nil, err
	}
	if kept := r.run.Keep(q.key, q.digest, found.Answer); kept != nil {
		return false, kept
	}
	return true, err
}

// refuse makes a question one that is asked again, or returns the error of one that was asked again.
func (r *Request) refuse(q *openQuestion, invalid *invalidAnswerError) error {
	if q.again {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: the answer does not fit, as the one before: %v", r.method, invalid)
	}
	q.again, q.refused = true, invalid
	return nil
}

// askAndWait asks in the session era and for detached work, and waits for all answers. In
// the session era each question is a request to the client.
func (r *Request) askAndWait(ctx context.Context, questions []openQuestion) error {
	ctx, cancel := r.withAskDeadline(ctx)
	defer cancel()
	errs := make([]error, len(questions))
	var waiting sync.WaitGroup
	for i := range questions[1:] {
		waiting.Go(func() {
			defer usercode.Contain(&errs[i+1])
			errs[i+1] = r.askOne(ctx, &questions[i+1])
		})
	}
	errs[0] = r.askOne(ctx, &questions[0])
	waiting.Wait()
	return asURLElicitation(first(errs), questions)
}

// withAskDeadline returns a context with the time limit of a question. Detached work has no
// such limit.
func (r *Request) withAskDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.detached != nil {
		return ctx, func() {}
	}
	return lazyctx.WithDeadline(ctx, time.Now().Add(r.server.options.asking().wait()), ErrAskExpired)
}

// askOne asks one question, and once more if the answer does not fit.
func (r *Request) askOne(ctx context.Context, q *openQuestion) error {
	known, err := r.answered(q)
	if known || err != nil {
		return q.wrap(err)
	}
	for {
		raw, err := r.send(ctx, q.key, q.method, q.sentParams())
		if err != nil {
			return q.wrap(r.endedError(ctx, answerError(err)))
		}
		err = q.decode(raw, false)
		if invalid, bad := errors.AsType[*invalidAnswerError](err); bad {
			if err := r.refuse(q, invalid); err != nil {
				return q.wrap(err)
			}
			continue
		}
		if kept := r.run.Keep(q.key, q.digest, raw); kept != nil {
			return q.wrap(kept)
		}
		if failed := r.record(ctx); failed != nil {
			return q.wrap(failed)
		}
		return q.wrap(err)
	}
}

// send asks one question and returns the answer without decoding it.
func (r *Request) send(ctx context.Context, key, method string, params any) (raw jsontext.Value, err error) {
	if r.detached != nil {
		return r.askDetached(ctx, key, method, params)
	}
	err = r.Call(ctx, method, params, &raw)
	return raw, err
}

// answerError returns the error of Ask for an error of the client: if the user rejects
// sampling in the session era, the client's response is an error.
func answerError(err error) error {
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote && e.Code == mcp.CodeRejected {
		return ErrDeclined
	}
	return err
}
