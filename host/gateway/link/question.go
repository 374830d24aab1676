package link

import (
	"context"
	"errors"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// rootsWait is how long the question for roots waits for a call: servers send it as soon as they are
// connected.
const rootsWait = 30 * time.Second

const (
	// answerTimeout is how long an upstream of the session era waits for an answer, and
	// rootsAnswerTimeout for one that needs no person, from a client of the session era.
	answerTimeout      = 10 * time.Minute
	rootsAnswerTimeout = 5 * time.Second
	// rootsResultWait is how long the result of a call waits for such an answer. The result waits only
	// once for a client that does not answer.
	rootsResultWait = time.Second
)

// NoAnswerError says that a client has not answered a question in time or before its call had ended, or
// that there was no call in which it could be asked.
type NoAnswerError struct{ err *mcp.Error }

func (e *NoAnswerError) Error() string { return e.err.Error() }
func (e *NoAnswerError) Unwrap() error { return e.err }

// Ask sends a question of the server to the caller of the connection and returns
// the answer.
//
// A question does not name the call it belongs to. Where that matters a connection has
// one call at a time, see Pool.find. In a session all calls are of one client, so
// the question is asked in one of them, and again in another one if the result of that
// comes before the answer: then the question may belong to another call. As for questions to the user of the
// host, one call of the connection does not count as running for each open question, and the server gets the
// answer at once, see AskPerson.
func (c *Conn) Ask(ctx context.Context, method string, params, answer any) error {
	asked, question, err := c.calls.waitToAsk(ctx, method)
	if err != nil {
		return err
	}
	timeout := answerTimeout
	if method == mcp.MethodRootsList && c.Session != nil {
		timeout = rootsAnswerTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c.activity.beginQuestion()
	defer c.activity.endQuestion()
	for asked != nil {
		err = asked.ask(ctx, question, method, params, answer)
		c.calls.endQuestion(asked)
		if err == nil || !errors.Is(context.Cause(question), errHasResult) {
			break
		}
		asked, question, _, _ = c.calls.beginQuestion(method)
	}
	if method == mcp.MethodRootsList && (err == nil || errors.Is(ctx.Err(), context.DeadlineExceeded)) {
		c.rootsUnanswered.Store(err != nil)
	}
	return answerError(method, err)
}

// EndQuestions refuses further questions in the call of the lease, whose result is there, and cancels
// those that are open. It waits for an answer about the roots, unless the last one did not come.
func (l Lease) EndQuestions() {
	if l.call == nil {
		return
	}
	wait := rootsResultWait
	if l.conn.rootsUnanswered.Load() {
		wait = 0
	}
	if !l.call.close(wait) {
		l.conn.rootsUnanswered.Store(true)
	}
}

// waitToAsk returns the call in which a question is asked, and a context that ends when that call is
// closed.
func (c *calls) waitToAsk(ctx context.Context, method string) (*Call, context.Context, error) {
	timer := time.NewTimer(rootsWait)
	defer timer.Stop()
	for {
		asked, question, foreign, added := c.beginQuestion(method)
		switch {
		case foreign:
			return nil, nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: it may belong to a call of another client, which is under way or was cancelled less than %v ago", method, cancelledCallTime)
		case asked != nil:
			return asked, question, nil
		case method != mcp.MethodRootsList:
			return nil, nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: no call is under way in which it could be asked", method)
		}
		select {
		case <-added:
		case <-timer.C:
			return nil, nil, &NoAnswerError{mcp.Errorf(mcp.CodeMethodNotFound, "%s: no call is under way in which the client could be asked", method)}
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// answerError returns the error that a server gets for its question. Errors of the client
// are passed on.
func answerError(method string, err error) error {
	e, ok := errors.AsType[*mcp.Error](err)
	switch {
	case err == nil:
		return nil
	case ok && e.Code == mcp.CodeMissingCapability, errors.Is(err, mcpserver.ErrCannotAsk):
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: the client does not support it", method)
	case ok:
		return &mcp.Error{Code: e.Code, Number: e.Number, Message: e.Message, Data: e.Data}
	}
	return &NoAnswerError{mcp.Errorf(mcp.CodeInternal, "%s: no answer came in time", method)}
}
