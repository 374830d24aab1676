package gateway

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Servers ask for the roots as soon as they are connected to. The first call waits
// a moment for that question before it ends, and the question longer for a call.
const (
	earlyGrace = 30 * time.Millisecond
	early      = 30 * time.Second
)

// answerWait is how long an upstream of the session era waits for an answer.
const answerWait = 10 * time.Minute

// put has a question of the server of a line answered by the caller that the
// line is for.
//
// A question does not say which call it belongs to. Where that matters there is
// one call on a line at a time, see callers.go. In a session, whose calls are all
// of one client, the oldest call carries it.
func (l *line) put(ctx context.Context, method string, params, answer any) error {
	c, err := l.carrier(ctx, method)
	if err != nil {
		return err
	}
	defer c.answered()
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	return unanswered(method, c.put(ctx, method, params, answer))
}

// carrier returns the call that is to carry a question. It is not over before
// the question is answered.
func (l *line) carrier(ctx context.Context, method string) (*call, error) {
	enough := time.NewTimer(early)
	defer enough.Stop()
	for {
		c, joined := l.oldest()
		switch {
		case c != nil:
			return c, nil
		case method != mcp.MethodRootsList:
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: no call is under way that it could belong to", method)
		}
		select {
		case <-joined:
		case <-enough.C:
			return nil, mcp.Errorf(mcp.CodeMethodNotFound, "%s: nobody is there to be asked", method)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// oldest returns the oldest call that can carry a question, or what to wait for.
func (l *line) oldest() (*call, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.asks() {
			return c, nil
		}
	}
	return nil, l.joined
}

// unanswered is the error that a server gets for its question. What the client
// says is passed on.
func unanswered(method string, err error) error {
	e, ok := errors.AsType[*mcp.Error](err)
	switch {
	case err == nil:
		return nil
	case ok && e.Code == mcp.CodeMissingCapability, errors.Is(err, mcpserver.ErrCannotAsk):
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: the client cannot be asked that", method)
	case ok:
		return &mcp.Error{Code: e.Code, Number: e.Number, Message: e.Message, Data: e.Data}
	}
	return mcp.Errorf(mcp.CodeInternal, "%s: no answer came in time", method)
}

// asOurs returns the params of a question as the host asks it itself. Metadata and
// tasks belong to the hop that they came by, and the context of servers to
// nobody, see abilities.
func asOurs(params any) any {
	switch p := params.(type) {
	case *mcp.ElicitParams:
		p.Task, p.Meta = nil, nil
	case *mcp.CreateMessageParams:
		p.Task, p.Meta, p.IncludeContext = nil, nil, ""
	}
	return params
}

// paramsOf reads the params of a question that came in a result.
func paramsOf(q mcp.InputRequest) (params any, err error) {
	switch q.Method {
	case mcp.MethodElicit:
		params = new(mcp.ElicitParams)
	case mcp.MethodCreateMessage:
		params = new(mcp.CreateMessageParams)
	case mcp.MethodRootsList:
		return new(mcp.EmptyParams), nil
	default:
		return nil, fmt.Errorf("%.64q is no question to a client", q.Method)
	}
	if err := json.Unmarshal(q.Params, params); err != nil {
		return nil, fmt.Errorf("%s: params: %w", q.Method, err)
	}
	return params, nil
}

// inputRequest writes a question as it goes into a result. Visits have no ids
// there.
func inputRequest(method string, params any) (mcp.InputRequest, error) {
	if p, ok := params.(*mcp.ElicitParams); ok {
		without := *p
		without.ElicitationID = ""
		params = &without
	}
	raw, err := json.Marshal(params)
	return mcp.InputRequest{Method: method, Params: raw}, err
}

// fits reports whether a client's answer is one to a question of the method. What
// is in a form its server checks.
func fits(method string, answer jsontext.Value) bool {
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
