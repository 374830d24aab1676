package mcpserver

import (
	"context"
	"fmt"
	"slices"
)

// Ask asks the client's user by a form (elicitation/create) whose fields are those of T, a
// flat struct with the same tags as arguments of tools, and returns the validated answer:
//
//	seat, err := mcpserver.Ask[Seat](ctx, "seat", "Which seat would you like?")
//	if err != nil {
//		return Booking{}, err
//	}
//
// The same handler works in every revision. In the session era Ask waits for the answer,
// up to AskOptions.Wait. In the stateless era it returns [ErrInputRequired], which ends
// this run. When the client has answered, the handler runs again from the top, and Ask
// returns the answer at once. Code between questions is therefore repeated, unless it is
// in a [Once].
//
// The key identifies the question among all keys of the call. It has at most 64 bytes, is
// the same in every run, and is used once in a run. The question must also be the same in
// every run: if its text or form has changed, the answer is dropped, which is logged, and
// the question is asked again. Compute values that change, such as a price, in a Once
// before the question. When an answer is not valid the question is asked once more, with the
// reason at the end of its message; when that answer is not valid either, Ask fails with an
// *mcp.Error with CodeInvalidParams that names the field.
//
// An answer is accepted only for a question that this server has asked in this call. Other
// answers that a client sends are ignored.
//
// Ask is for handlers of tools, prompts and resources. While it waits the call does not
// count as running, see [Timeout] and [Limit]. It is safe for concurrent use: the questions
// that goroutines of a handler have asked before the handler returns are sent together. The
// handler has to wait for its goroutines. In a goroutine that asks after the handler has
// returned, Ask fails with ErrInputRequired if the run has asked something, else with
// [ErrCallEnded], and the question is not sent. When the call ends earlier, because its
// client cancels it, its time is over or the server shuts down, Ask fails with an error that
// wraps ErrCallEnded and the cause of the call's context. When only ctx ends, the error wraps
// the cause of ctx.
//
// Every error except ErrInputRequired begins with the key: ask "seat": the user declined.
func Ask[T any](ctx context.Context, key, message string) (T, error) {
	q := newFormQuestion[T](message, nil)
	err := AskAll(ctx, q.question(key))
	return q.answer, err
}

// AskAll asks several questions at once, in one round. It returns nil when all of them are
// answered, and otherwise the error of the first one that is not, with its key. The rules of
// [Ask] apply, also for concurrent use. A call stores answers only in the variables of its own
// questions.
func AskAll(ctx context.Context, questions ...Question) error {
	r := From(ctx)
	switch {
	case len(questions) == 0 && r == nil:
		return ErrNotInCall
	case len(questions) == 0:
		return nil
	case r == nil:
		return questions[0].wrap(ErrNotInCall)
	}
	r.asked.Store(true)
	if err := r.mayAsk(ctx); err != nil {
		return questions[0].wrap(err)
	}
	for i := range questions {
		if err := r.run.Use(questions[i].key); err != nil {
			return questions[i].wrap(err)
		}
	}
	waits := r.call.CanRequest() || r.detached != nil
	if !waits && !r.replays {
		return questions[0].wrap(fmt.Errorf("%s: %w", r.method, ErrCannotAsk))
	}
	var room [2]openQuestion // most calls of AskAll have one question
	open := room[:0]
	for i := range questions {
		q := &questions[i]
		if q.err != nil {
			return q.wrap(q.err)
		}
		o, err := r.open(*q)
		if err != nil {
			return q.wrap(err)
		}
		open = append(open, o)
	}
	if waits {
		return r.askAndWait(ctx, slices.Clone(open)) // a copy: its goroutines must not move room to the heap
	}
	return r.askInRounds(open)
}

// Asked reports whether the call has asked its client something, in this round or in an earlier
// one: with [Ask], [AskAll], [Request.Call] or an *mcp.InputRequiredResult, and whether or not
// there was an answer. A call of [Detach] whose work may ask counts, too. The result of such a
// call can depend on more than its params. Asked returns false when r is nil.
func (r *Request) Asked() bool {
	return r != nil && (r.asked.Load() || r.resumed != nil || r.run.Round() > 0)
}
