package mcpserver

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Call sends a request of the session era, such as sampling/createMessage, to the client
// while the request r runs, and decodes the result into out, a pointer or nil. It sends
// nothing and returns an error: of CodeMissingCapability when the client did not declare
// the capability, ErrCannotAsk when the revision has no such requests, and ErrNotInCall
// when r is nil. An error response of the client is an *mcp.Error with Remote set. The
// trace context of ctx is sent unless params have one, see mcp.ContextWithTrace. It is
// safe for concurrent use. Use [Ask] and [AskAll] for code that works in every revision.
func (r *Request) Call(ctx context.Context, method string, params, out any) error {
	if r == nil {
		return ErrNotInCall
	}
	r.asked.Store(true)
	if r.detached != nil {
		return r.callDetached(ctx, method, params, out)
	}
	if !r.call.CanRequest() || r.call.ID.IsZero() { // in a notification's handler the answer would not be read
		return fmt.Errorf("%s: %w", method, ErrCannotAsk)
	}
	ask := r.server.middleware.outbound(func(ctx context.Context, _ *Request) (any, error) {
		return out, r.ask(ctx, method, params, out)
	})
	_, err := ask(ctx, &Request{method: method, outbound: true, ctx: r.ctx, call: r.call, in: r.in, server: r.server})
	return err
}

func (r *Request) ask(ctx context.Context, method string, params, out any) error {
	q, err := r.call.Question(method, params)
	if mcp.CodeOf(err) == mcp.CodeMethodNotFound {
		return fmt.Errorf("%w: %w", err, ErrCannotAsk)
	}
	if err != nil {
		return err
	}
	q.AddTrace(mcp.TraceFrom(ctx))
	if q.ElicitationID != "" {
		r.server.urlElicitations.add(r.in.Owner(), r.in.Session, q.ElicitationURL, q.ElicitationID)
	}
	var m jsonrpc.Message
	err = r.waitForClient(ctx, func(ctx context.Context) (err error) {
		m, err = r.in.SendRequest(ctx, q.Encode, func(id jsonrpc.ID) []byte { return dialect.CancelQuestion(id, context.Cause(ctx)) })
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return q.Answer(m, out)
}
