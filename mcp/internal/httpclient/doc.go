// Package httpclient is the client half of MCP over HTTP. [NewLink] connects over Streamable
// HTTP of every revision, [DialEventStream] over the older HTTP+SSE. The server half is package
// streamhttp.
//
//	link.go           one server: calls, notifications, the end of the session
//	post.go           one message as a POST, and its answer as JSON
//	eventsource.go    event streams, which are resumed after their last event
//	httpsse.go        HTTP+SSE
//	authorization.go  credentials, and new ones after 401 and 403
//	sessionloss.go    when a session is lost; mcpclient/reconnect.go opens the next one
//	error.go          responses without an answer, and requests without a response
package httpclient
