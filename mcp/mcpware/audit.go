package mcpware

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Entry is the outcome of one message. It holds no arguments and no results.
type Entry struct {
	// Principal is the sender of the message. In clients it is zero.
	Principal mcp.Principal
	// Method of the message.
	Method string
	// Name is the tool, the prompt or the URI of the resource in the params. The sender chooses it:
	// it may have any length and any characters.
	Name string
	// ToClient is true for requests of a server to its client: elicitation, sampling, roots.
	ToClient bool
	// StartedAt is when the message was received or sent, and Duration the time until
	// its outcome.
	StartedAt time.Time
	Duration  time.Duration
	// Failed is true if the result of a tool has isError.
	Failed bool
	// Err is the error of a message without a result, or nil.
	Err error
}

// Audit returns middleware that calls record for each message of a server, after the message was
// handled and before the response is sent. It calls record on the goroutine of the message, so
// calls may be concurrent.
func Audit(record func(context.Context, Entry)) mcpserver.Middleware {
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			e := Entry{Principal: r.Principal(), Method: r.Method(), Name: nameIn(r.Params()), ToClient: r.Outbound(), StartedAt: time.Now()}
			result, err := next(ctx, r)
			record(ctx, e.done(result, err))
			return result, err
		}
	}
}

// AuditClient is Audit for a client. It calls record before the caller gets the result.
func AuditClient(record func(context.Context, Entry)) mcpclient.Middleware {
	return func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (any, error) {
			e := Entry{Method: r.Method, Name: nameOf(r.Params), ToClient: r.Inbound, StartedAt: time.Now()}
			result, err := next(ctx, r)
			record(ctx, e.done(result, err))
			return result, err
		}
	}
}

// done returns the entry with the outcome.
func (e Entry) done(result any, err error) Entry {
	e.Duration, e.Err = time.Since(e.StartedAt), err
	if r, ok := result.(*mcp.CallToolResult); ok && r != nil {
		e.Failed = r.IsError
	}
	return e
}

// nameOf returns the tool, prompt or URI in params of either form, or "".
func nameOf(params any) string {
	switch p := params.(type) {
	case *mcp.CallToolParams:
		return p.Name
	case *mcp.GetPromptParams:
		return p.Name
	case *mcp.ReadResourceParams:
		return p.URI
	case jsontext.Value:
		return nameIn(p)
	}
	return ""
}

func nameIn(params jsontext.Value) string {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if len(params) == 0 || json.Unmarshal(params, &p) != nil {
		return ""
	}
	if p.Name != "" {
		return p.Name
	}
	return p.URI
}
