// Package exchange carries messages between pipes and the code above them: on the server's
// side inbound requests and their replies, on the client's side outbound requests, the
// messages that precede their responses, and the responses.
//
// ServeConn (server) and Dial (client) serve every pipe that is one ordered connection of
// whole messages: stdio, memory, sockets, HTTP+SSE, and transports of users. Streamable HTTP,
// where each request has its own response stream, uses the same Core and Link.
package exchange
