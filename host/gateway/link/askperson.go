package link

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// PersonWaiter is a call that waits for an answer: of the user of the host, or of its caller.
type PersonWaiter interface {
	// WaitIdle waits until answered is closed, and returns nil, or until ctx ends, which is one of the call.
	// It calls begun with the context of the wait when the request of the caller does not count as running any
	// more. If the wait is refused or ended because too many requests wait, the error is that of mcpserver.WaitIdle.
	WaitIdle(ctx context.Context, begun func(wait context.Context), answered <-chan struct{}) error
	// ReportWait sends progress to the caller, with a message that says what the call waits for.
	ReportWait(message string)
}

// AskPerson runs ask for a question of the server to the user of the host, in a call of the connection in
// which the user can be asked. alone says that no call of another client is under way to which the question
// may belong; all are of one principal. ctx ends when no such call is left, or when one that waits has to make
// room for others.
//
// While the question is open, one call of the connection does not count as running: which one waits for the
// answer is not known, but how many do. If its result comes first, another one waits in its place. The server
// gets the answer at once, and not when the call has a place among the running ones again: the calls that have
// one may wait for this one at the server.
func (c *Conn) AskPerson(ctx context.Context, method string, ask func(ctx context.Context, in *Call, alone bool) error) error {
	in, question, alone := c.calls.beginPersonQuestion(method)
	if in == nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: no call is under way in which it could be asked", method)
	}
	c.activity.beginQuestion()
	defer c.activity.endQuestion()
	wait := func(begun func(context.Context), answered <-chan struct{}) error {
		for waiting := in; waiting != nil; {
			err := waiting.Person.WaitIdle(question, begun, answered)
			c.calls.endQuestion(waiting)
			if err == nil || question.Err() == nil {
				return err
			}
			waiting, question, _ = c.calls.beginPersonQuestion(method)
		}
		return &NoAnswerError{mcp.Errorf(mcp.CodeInternal, "%s: no answer came before the call had ended", method)}
	}
	_, err := askWhile(ctx, wait, func(ctx context.Context) error { return ask(ctx, in, alone) })
	return err
}

// AskPerson runs ask, which asks the user of the host while no request of the call is under way at the
// server. Meanwhile the call does not count as running. It does again when AskPerson returns.
func (c *Call) AskPerson(ctx context.Context, ask func(context.Context) error) error {
	ended, err := askWhile(ctx, c.waitIdle(ctx), ask)
	<-ended
	return err
}

// waitIdle returns the function for askWhile that waits in the call, until ctx ends.
func (c *Call) waitIdle(ctx context.Context) waitFunc {
	return func(begun func(context.Context), answered <-chan struct{}) error {
		return c.Person.WaitIdle(ctx, begun, answered)
	}
}

// waitFunc waits until answered is closed. It calls begun, once or several times, with the context of the wait.
type waitFunc func(begun func(wait context.Context), answered <-chan struct{}) error

// askWhile runs ask while wait waits, after wait has called begun. What ask asks the caller is a part of that wait. If wait
// returns before ask, the context of ask ends with the error of wait. ended is closed when wait has returned.
func askWhile(ctx context.Context, wait waitFunc, ask func(context.Context) error) (ended <-chan struct{}, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun, answered, done := make(chan context.Context, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		cancel(wait(func(wait context.Context) {
			select {
			case begun <- wait:
			default: // it has begun before
			}
		}, answered))
	}()
	defer close(answered)
	select {
	case wait := <-begun:
		err = ask(mcpserver.ContextInWait(ctx, wait))
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return done, err
}
