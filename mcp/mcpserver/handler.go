package mcpserver

import "context"

// Handler does one request. The result is a result type of the vocabulary or
// anything that encodes as a JSON object; nil is the empty result. What a Handler of
// a notification returns is not sent; an error is logged.
type Handler func(ctx context.Context, r *Request) (any, error)

// Middleware wraps the handling of every message: requests and notifications of
// clients, and with Outbound set the requests that the server sends to them. The
// Handler that it returns calls next, with the Request that it got, to go on; one
// that does not call next answers in its place.
//
// It is called once by each Use, not once for each method or message, and what it
// keeps is shared by all messages of all clients: the Handler that it returns has to
// be safe for concurrent use. It may call the server. next is not to be called
// before the first message.
type Middleware func(next Handler) Handler
