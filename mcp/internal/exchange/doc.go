// Package exchange carries one message and its answer between a pipe and the
// code above it: on the server's side an inbound request and its reply, on the
// client's side an outbound request, all that comes before its reply, and the
// reply.
//
// ServeConn and Dial are the two ends of every pipe that is one ordered
// connection of whole messages (stdio, memory, sockets, HTTP+SSE, and any
// transport of a user's own). Streamable HTTP, where each request has a
// response stream of its own, speaks to the same Core and offers the same Link.
package exchange
