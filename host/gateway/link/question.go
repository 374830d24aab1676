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

// answerTimeout is how long an upstream of the session era waits for an answer.
const answerTimeout = 10 * time.Minute

// Ask sends a question of the server to the caller of the connection and returns
// the answer.
//
// A question does not name the call it belongs to. Where that matters a connection has
// one call at a time, see Pool.find. In a session all calls are of one client, so
// the question is asked in the oldest call.
func (c *Conn) Ask(ctx context.Context, method string, params, answer any) error {
	asked, err := c.calls.waitToAsk(ctx, method)
	if err != nil {
		return err
	}
	defer asked.endQuestion()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	defer context.AfterFunc(asked.Context, cancel)()
	return answerError(method, asked.Ask(ctx, method, params, answer))
}

// waitToAsk returns the call in which a question is asked. That call is not closed before
// the question is answered.
func (c *calls) waitToAsk(ctx context.Context, method string) (*Call, error) {
	timer := time.NewTimer(rootsWait)
	defer timer.Stop()
	for {
		asked, foreign, added := c.oldest()
		switch {
		case foreign:
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: it may belong to a call of another client, which is under way or was cancelled less than %v ago", method, cancelledCallTime)
		case asked != nil:
			return asked, nil
		case method != mcp.MethodRootsList:
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: no call is under way in which it could be asked", method)
		}
		select {
		case <-added:
		case <-timer.C:
			return nil, mcp.Errorf(mcp.CodeMethodNotFound, "%s: no call is under way in which the client could be asked", method)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
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
	return mcp.Errorf(mcp.CodeInternal, "%s: no answer came in time", method)
}
