// Package streamhttp is the server half of MCP over HTTP: Streamable HTTP of
// every revision, and the older HTTP+SSE. The client half is package httpclient.
//
// It is two http.Handlers. Handler is the one endpoint of
// Streamable HTTP. It tells request by request which era the sender speaks:
//
//	ServeHTTP
//	 └─ gate            Host, Origin, method, media types, size of the body
//	     └─ Decode      one message, or a batch
//	         ├─ stateless   the handler runs on the connection's goroutine and
//	         │              writes to it; a disconnect cancels it
//	         └─ session     the handler belongs to the session and writes to a
//	                        stream; the connection copies from there, and the
//	                        call outlives it. A GET with the id of an event goes
//	                        on behind it, on another connection
//
// SSEHandler is HTTP+SSE, where one GET is one ordered connection.
//
// What net/http settles before a handler runs cannot be judged here: a request
// with both Content-Length and Transfer-Encoding, folded header lines, the
// authority of an absolute request target, the time and size of the headers.
// The http.Server has to be set up for those.
package streamhttp
