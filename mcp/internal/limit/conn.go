package limit

import "context"

// A Conn is a network connection whose place in a Pool depends on whether its client has shown
// who it is.
type Conn interface {
	// Admit is called for each request that a server has let through. It may be called at any
	// time, by several goroutines.
	Admit()
}

type connKey struct{}

// WithConn returns a context for the requests of a connection.
func WithConn(ctx context.Context, c Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// AdmitConn admits the connection of a request, if the context has one.
func AdmitConn(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(Conn); ok {
		c.Admit()
	}
}
