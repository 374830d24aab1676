// Package mcpserver writes MCP servers: programs that offer tools, resources and
// prompts to AI applications.
//
//	srv := mcpserver.New("airline", "1.0.0", nil)
//	srv.Tool("status", "Status of a flight", status, mcpserver.ReadOnly())
//	mcpserver.Main(srv)
//
// Handlers are ordinary functions of a context and a struct. Their schemas are
// inferred, arguments are validated before they run and results after, and what
// a call knows (who asks, progress, cancellation, the logger that reaches the
// client) hangs on the context. One Server speaks every revision of the protocol
// at once, over every transport: Run is stdio, HTTPHandler is Streamable HTTP,
// EventStreamHandler is HTTP+SSE, and Serve takes any mcp.Conn.
//
// # Order and concurrency
//
// Handlers run side by side, over stdio and other streams on a goroutine of
// their own, over stateless HTTP on that of the connection. Notifications of one
// connection are taken in the order of arrival. None of the library's locks is
// held while a handler runs. A panic in a handler ends its own call and is
// logged.
//
// # Errors
//
// An error of a tool handler is text that the model reads. An *mcp.Error, from
// any handler, is a protocol error. Errors of other handlers are private: the
// client gets an id, under which the log has the error.
package mcpserver
