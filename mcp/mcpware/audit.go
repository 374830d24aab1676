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

// Entry is what became of one message. It holds no arguments and no results.
type Entry struct {
	// Principal is who sent it, as a server knows. In clients it is zero.
	Principal mcp.Principal
	// Method of the message.
	Method string
	// Name is the tool or prompt, or the URI of the resource, that it is about, as its
	// sender says. It may be of any length and hold any character.
	Name string
	// Asked tells that the other direction than usual: a server asked its client.
	Asked bool
	// Begun and Took say when it was.
	Begun time.Time
	Took  time.Duration
	// Failed tells that a tool ran and failed.
	Failed bool
	// Err is why it has no result, or nil.
	Err error
}

// Audit returns middleware that tells record of each message of a server, once it is
// done and before the answer is sent, on the goroutine of the message: it may be called
// at once from several.
func Audit(record func(context.Context, Entry)) mcpserver.Middleware {
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			e := Entry{Principal: r.Principal(), Method: r.Method, Name: nameIn(r.Params), Asked: r.Outbound, Begun: time.Now()}
			result, err := next(ctx, r)
			record(ctx, e.done(result, err))
			return result, err
		}
	}
}

// AuditClient is Audit for a client. Its record is called before the caller gets the
// result.
func AuditClient(record func(context.Context, Entry)) mcpclient.Middleware {
	return func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (any, error) {
			e := Entry{Method: r.Method, Name: nameOf(r.Params), Asked: r.Inbound, Begun: time.Now()}
			result, err := next(ctx, r)
			record(ctx, e.done(result, err))
			return result, err
		}
	}
}

// done returns the entry with the outcome.
func (e Entry) done(result any, err error) Entry {
	e.Took, e.Err = time.Since(e.Begun), err
	if r, ok := result.(*mcp.CallToolResult); ok && r != nil {
		e.Failed = r.IsError
	}
	return e
}

// nameOf returns what params of either form are about, or "".
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
