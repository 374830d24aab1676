// Package streamhttp is the server half of MCP over HTTP: Streamable HTTP of
// every revision, and the older HTTP+SSE. The client half is package httpclient.
//
// It has two http.Handlers. Handler is the single endpoint of Streamable HTTP. It
// detects the era of each request:
//
//	ServeHTTP
//	 └─ gate            Host, Origin, method, media types, size of the body
//	     └─ Decode      one message, or a batch
//	         ├─ stateless   the handler runs on the connection's goroutine and
//	         │              writes to it; a disconnect cancels it
//	         └─ session     the handler belongs to the session and writes to a
//	                        stream; the connection copies from the stream, and
//	                        the call outlives the connection. A GET with the id
//	                        of an event continues the stream after that event
//
// SSEHandler is HTTP+SSE, where one GET is one ordered connection.
//
// The package cannot check what net/http processes before a handler runs: requests with both
// Content-Length and Transfer-Encoding, folded header lines, the authority of an
// absolute request target, and the time and size of the headers. The http.Server
// must be configured for these.
package streamhttp
