package mcpserver

import (
	"context"
	"log/slog"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// Logger returns the server's own log (Options.Logger) for the call that ctx belongs to. Its
// records have these attributes:
//
//	method     the method of the message, such as tools/call
//	name       the name of the tool or prompt, or the URI of the resource, if there is one
//	principal  the caller, as mcp.Principal.String returns it
//	trace      the id of the W3C trace that the client has sent, if there is one
//
// Clients and models do not get the records. The name is what the client has sent, without
// control characters, and of at most 256 bytes. Outside of a call, such as in a unit test,
// Logger returns slog.Default(). It is safe for concurrent use.
func Logger(ctx context.Context) *slog.Logger {
	r := From(ctx)
	if r == nil {
		return slog.Default()
	}
	attrs := []any{slog.String("method", r.method)}
	if name := r.loggedName(); name != "" {
		attrs = append(attrs, slog.String("name", name))
	}
	attrs = append(attrs, slog.String("principal", r.Principal().String()))
	if id := traceID(mcp.TraceFrom(ctx).Parent); id != "" {
		attrs = append(attrs, slog.String("trace", id))
	}
	return r.server.options.logger().With(attrs...)
}

// maxLoggedName is the size of a name in the log, in bytes.
const maxLoggedName = 256

// loggedName returns the name or URI in the params of the message, or "".
func (r *Request) loggedName() string {
	member := "name"
	switch r.method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		member = "uri"
	default:
		member = r.server.middleware.nameMember(r.method)
	}
	if raw := rawjson.Member(r.Params(), member); member != "" && raw.Kind() == '"' {
		return cleanText(string(rawjson.Unquote(raw)), maxLoggedName)
	}
	return ""
}

// traceID returns the trace id of a valid traceparent, or "".
func traceID(parent string) string {
	const from, to = len("00-"), len("00-") + 32
	if len(parent) < to {
		return ""
	}
	return parent[from:to]
}
