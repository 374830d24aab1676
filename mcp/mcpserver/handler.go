package mcpserver

import "context"

// Handler handles one request or notification. The result of a request is a result type
// of package mcp, or any value that encodes as a JSON object; nil is the empty result. For
// a notification the result is ignored and an error is logged.
type Handler func(ctx context.Context, r *Request) (any, error)

// Middleware wraps the handling of every message: requests and notifications of
// clients, and the requests that the server sends to clients, for which
// [Request.Outbound] is true. The Handler that it returns calls next with the Request
// that it was called with. A Handler that does not call next answers the request itself.
//
// [Server.Use] calls a Middleware once, not once for each method or message. The state of
// the returned Handler is therefore shared by all messages of all clients, and the Handler
// must be safe for concurrent use. It may call the server. next must not be called before
// the first message.
type Middleware func(next Handler) Handler
