package mcpserver

import (
	"context"
	"fmt"
)

// Ask asks the user of the client by a form whose fields are those of T, a flat
// struct with the tags of tools, and returns the validated answer:
//
//	seat, err := mcpserver.Ask[Seat](ctx, "seat", "Which seat would you like?")
//	if err != nil {
//		return Booking{}, err
//	}
//
// A handler that asks reads from top to bottom in every revision. In the session
// era Ask waits for the answer, up to AskOptions.Wait. In the stateless era it
// returns ErrInputRequired, which ends this run; when the client has answered,
// the handler runs again from the top, and there Ask returns the answer at once.
// What stands between questions is therefore repeated, unless Once does it.
//
// The key names the question among all keys of the call, in at most 64 bytes.
// It has to be the same in every run, and each key is used once in a run. The question
// has to be the same in every run, too: when its text or its form has changed, the
// answer is dropped, the log says so, and the question is asked again. Put values that
// change, such as a price, into a Once before the question. An answer that does not fit
// is asked for again, within AskOptions.MaxRounds.
//
// An answer counts only for a question that this server has asked in this call: answers
// that a client sends to anything else are dropped.
//
// Ask is for handlers of tools, prompts and resources. While it waits the call does not
// count as running, see Timeout and Limit. It is safe for concurrent use: the questions
// that goroutines of a handler have asked before the handler returns go out together.
// The handler has to wait for its goroutines. One that asks after the call has ended
// gets ErrInputRequired if the run has asked something, else ErrCallEnded, and its
// question is not sent.
func Ask[T any](ctx context.Context, key, message string) (T, error) {
	var answer T
	err := AskAll(ctx, ElicitForm(key, message, &answer))
	return answer, err
}

// AskAll asks several questions at once, in one round. It returns nil when every
// one has its answer, and otherwise the error of the first that has none. It
// follows the rules of Ask, also for concurrent use; each call stores answers only in
// the variables of its own questions.
func AskAll(ctx context.Context, questions ...Question) error {
	r := From(ctx)
	if r == nil {
		return ErrNotInCall
	}
	if len(questions) == 0 {
		return nil
	}
	if err := r.resume(); err != nil {
		return err
	}
	if err := r.run.Use(keysOf(questions)...); err != nil {
		return err
	}
	waits := r.call.CanRequest() || r.detached != nil
	if !waits && !r.replays {
		return fmt.Errorf("%s: %w", r.method, ErrCannotAsk)
	}
	open := make([]openQuestion, len(questions))
	for i, q := range questions {
		err := q.err
		if err == nil {
			open[i], err = r.open(q)
		}
		if err != nil {
			return q.wrap(err)
		}
	}
	if waits {
		return r.askAndWait(ctx, open)
	}
	return r.askInRounds(open)
}
