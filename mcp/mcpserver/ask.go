package mcpserver

import (
	"context"
	"errors"
	"fmt"
)

// Errors of Ask and AskAll, besides ErrNotInCall, ErrCannotAsk and an *mcp.Error
// of CodeMissingCapability for a client that cannot be asked.
var (
	// ErrDeclined reports that the user said no.
	ErrDeclined = errors.New("the user declined")
	// ErrDismissed reports that the user went away without a choice.
	ErrDismissed = errors.New("the user dismissed the question")
	// ErrAskExpired reports that no answer came in time.
	ErrAskExpired = errors.New("no answer came in time")
	// ErrInputRequired reports that the run of the handler ends here: the client
	// of the stateless era is told what is asked, and its answer runs the handler
	// again from the top. It is also the cause of the run's context. Whatever the
	// handler returns then is dropped.
	ErrInputRequired = errors.New("the call runs again when the client has answered")
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
// It has to be the same in every run, and each key is used once in a run. An
// answer that does not fit is asked for again, within AskOptions.MaxRounds.
//
// Ask is for handlers of tools, prompts and resources. It is safe for concurrent
// use: questions that goroutines of one handler ask side by side go out
// together.
func Ask[T any](ctx context.Context, key, message string) (T, error) {
	var answer T
	err := AskAll(ctx, Form(key, message, &answer))
	return answer, err
}

// AskAll asks several questions at once, in one round. It returns nil when every
// one has its answer, and otherwise the error of the first that has none. It
// follows the rules of Ask.
func AskAll(ctx context.Context, questions ...Question) error {
	r := From(ctx)
	if r == nil {
		return ErrNotInCall
	}
	if len(questions) == 0 {
		return nil
	}
	if err := r.rounds.claim(keysOf(questions)...); err != nil {
		return err
	}
	for _, q := range questions {
		if q.err != nil {
			return q.wrap(q.err)
		}
	}
	if r.call.MayAsk() || r.apart != nil {
		return r.askNow(ctx, questions)
	}
	return r.askLater(questions)
}

func keysOf(questions []Question) []string {
	keys := make([]string, len(questions))
	for i, q := range questions {
		keys[i] = q.key
	}
	return keys
}

// first returns the first error.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (q *Question) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ask %q: %w", q.key, err)
}
