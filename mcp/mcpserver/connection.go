package mcpserver

import "github.com/fondaco/fondaco/mcp/internal/exchange"

// Connection identifies the connection that a request was sent over: standard streams, a
// socket or another mcp.Conn, or a session of Streamable HTTP. Connections can be compared
// with ==. The zero Connection is that of a request over Streamable HTTP in the stateless era,
// whose other requests may come over other connections.
//
// In the stateless era no state may depend on a connection. Use it only to tell clients apart.
type Connection struct{ of *exchange.Session }

// Connection returns the connection that the request was sent over. It is zero when r is nil.
func (r *Request) Connection() Connection {
	if r == nil {
		return Connection{}
	}
	return Connection{r.in.Session}
}
