package gateway

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Servers send roots/list as soon as they are connected. The first call waits rootsGrace
// for that question before it ends, and the question waits rootsWait for a call.
const (
	rootsGrace = 30 * time.Millisecond
	rootsWait  = 30 * time.Second
)

// answerTimeout is how long an upstream of the session era waits for an answer.
const answerTimeout = 10 * time.Minute

// askCaller sends a question of the server to the caller of the connection and returns
// the answer.
//
// A question does not name the call it belongs to. Where that matters a connection has
// one call at a time, see findConnection. In a session all calls are of one client, so
// the question is asked in the oldest call.
func (c *connection) askCaller(ctx context.Context, method string, params, answer any) error {
	asked, err := c.callToAsk(ctx, method)
	if err != nil {
		return err
	}
	defer asked.endQuestion()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	defer context.AfterFunc(asked.ctx, cancel)()
	return answerError(method, asked.ask(ctx, method, params, answer))
}

// callToAsk returns the call in which a question is asked. That call is not closed before
// the question is answered.
func (c *connection) callToAsk(ctx context.Context, method string) (*call, error) {
	timer := time.NewTimer(rootsWait)
	defer timer.Stop()
	for {
		asked, foreign, joined := c.oldestCall()
		switch {
		case foreign:
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: it may belong to a call of another client, which is under way or was cancelled less than %v ago", method, abandonedCallTime)
		case asked != nil:
			return asked, nil
		case method != mcp.MethodRootsList:
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: no call is under way in which it could be asked", method)
		}
		select {
		case <-joined:
		case <-timer.C:
			return nil, mcp.Errorf(mcp.CodeMethodNotFound, "%s: no call is under way in which the client could be asked", method)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// oldestCall returns the oldest call that is not closed and in which the caller can be asked, or
// a channel to wait for. foreign says that a question may belong to a call of another client than
// that of the oldest call: a cancelled one, or one on a connection whose server was expected to
// name the calls of its questions.
func (c *connection) oldestCall() (oldest *call, foreign bool, added <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, asked := range c.calls {
		if asked.silent {
			continue
		}
		if asked.request.Session() == nil && (!c.cancelled.areOf(asked.request) || c.isSharedLocked(asked)) {
			return nil, true, nil
		}
		if asked.beginQuestion() {
			return asked, false, nil
		}
	}
	return nil, false, c.callAdded
}

// isSharedLocked reports whether the connection has calls that cannot share it with the given
// one. The caller holds mu.
func (c *connection) isSharedLocked(with *call) bool {
	return slices.ContainsFunc(c.calls, func(other *call) bool { return other != with && !with.canShare(other) })
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

// withoutHopFields removes the fields of a question's params that belong to one
// connection only: metadata and tasks. It also removes the context of servers, see
// callerCapabilities.
func withoutHopFields(params any) any {
	switch p := params.(type) {
	case *mcp.ElicitParams:
		p.Task, p.Meta = nil, nil
	case *mcp.CreateMessageParams:
		p.Task, p.Meta, p.IncludeContext = nil, nil, ""
	case *mcp.EmptyParams:
		p.Meta = nil
	}
	return params
}

// inputRequest encodes a question for an input_required result, where URL elicitations
// have no id.
func inputRequest(method string, params any) (mcp.InputRequest, error) {
	if p, ok := params.(*mcp.ElicitParams); ok {
		without := *p
		without.ElicitationID = ""
		params = &without
	}
	raw, err := json.Marshal(params)
	return mcp.InputRequest{Method: method, Params: raw}, err
}

// isAnswerTo reports whether a client's answer has the form that the method requires. The
// server that asked checks the content of a form.
func isAnswerTo(method string, answer jsontext.Value) bool {
	switch method {
	case mcp.MethodElicit:
		var a mcp.ElicitResult
		return json.Unmarshal(answer, &a) == nil &&
			(a.Action == mcp.ElicitAccept || a.Action == mcp.ElicitDecline || a.Action == mcp.ElicitCancel)
	case mcp.MethodCreateMessage:
		var a mcp.CreateMessageResult
		return json.Unmarshal(answer, &a) == nil && a.Role != "" && len(a.Content) > 0
	}
	var a mcp.ListRootsResult
	return json.Unmarshal(answer, &a) == nil
}
