package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// askLater asks in the stateless era: answers that are known are returned, and
// the first that is not ends the run.
//
// Spec: 2026-07-28 basic/patterns/mrtr
func (r *Request) askLater(questions []Question) error {
	if !r.rounds.replays {
		return fmt.Errorf("%s: %w", r.Method, ErrCannotAsk)
	}
	if err := r.rounds.ending(); err != nil {
		return err
	}
	errs := make([]error, len(questions))
	open := make(map[string]mcp.InputRequest)
	for i := range questions {
		q := &questions[i]
		known, err := r.answered(q)
		if known {
			errs[i] = q.wrap(err)
			continue
		}
		if open[q.key], err = r.call.InputRequest(q.method, q.params); err != nil {
			return q.wrap(err)
		}
	}
	if len(open) == 0 {
		return first(errs)
	}
	if limit := r.server.options.asking().maxRounds(); r.rounds.round() >= limit {
		r.Reached(mcp.LimitRounds)
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: input is still required after %d rounds", r.Method, limit)
	}
	return r.rounds.ask(open)
}

// answered takes the answer to a question, if there is one that fits.
func (r *Request) answered(q *Question) (known bool, err error) {
	raw, isNew, known := r.rounds.answer(q.key)
	if !known {
		return false, nil
	}
	err = q.take(raw)
	_, bad := errors.AsType[*unfitError](err)
	switch {
	case bad:
		r.rounds.forget(q.key)
		return false, nil
	case isNew:
		r.rounds.keep(q.key, raw)
	}
	return true, err
}

// askNow asks where answers can be waited for, and waits for all of them. In the
// session era each question is a request to the client.
func (r *Request) askNow(ctx context.Context, questions []Question) error {
	for i := range questions {
		if err := r.call.MayPut(questions[i].method, questions[i].params); err != nil {
			return questions[i].wrap(err)
		}
	}
	if r.apart == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.server.options.asking().wait(), ErrAskExpired)
		defer cancel()
	}
	errs := make([]error, len(questions))
	var waiting sync.WaitGroup
	for i := range questions[1:] {
		waiting.Go(func() {
			defer contain(&errs[i+1])
			errs[i+1] = r.put(ctx, &questions[i+1])
		})
	}
	errs[0] = r.put(ctx, &questions[0])
	waiting.Wait()
	return instead(first(errs), questions)
}

// put asks one question until there is an answer that fits.
func (r *Request) put(ctx context.Context, q *Question) error {
	if known, err := r.answered(q); known {
		return q.wrap(err)
	}
	var err error
	for range r.server.options.asking().maxRounds() {
		var raw jsontext.Value
		if raw, err = r.putOne(ctx, q.key, q.method, q.params); err != nil {
			return q.wrap(refusal(err))
		}
		err = q.take(raw)
		if _, bad := errors.AsType[*unfitError](err); !bad {
			r.rounds.keep(q.key, raw)
			return q.wrap(err)
		}
	}
	return q.wrap(mcp.Errorf(mcp.CodeInvalidParams, "input is still required after %d rounds: %v", r.server.options.asking().maxRounds(), err))
}

// putOne puts one question and returns the answer as it came.
func (r *Request) putOne(ctx context.Context, key, method string, params any) (raw jsontext.Value, err error) {
	if r.apart != nil {
		return r.putApart(ctx, key, method, params)
	}
	err = r.Ask(ctx, method, params, &raw)
	return raw, err
}

// refusal is what an error of the client means: in the session era a user who
// refuses sampling is an error.
func refusal(err error) error {
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote && e.Code == mcp.CodeRejected {
		return ErrDeclined
	}
	return err
}
