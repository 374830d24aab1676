package usercode

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// maxAcceptPanics is the number of panics of Accept in a row from which on the error is not
// temporary any more.
const maxAcceptPanics = 10

// Listener returns a listener that wraps l, which the user of the library implements: panics of its
// methods and of its connections are contained and logged as those of a Stream. The error of an
// Accept that has panicked is temporary, until Accept has panicked ten times in a row. Connections
// are those of Conn.
func Listener(l net.Listener, logger *slog.Logger) net.Listener {
	switch l := l.(type) {
	case *net.TCPListener, *net.UnixListener, *listener:
		return l
	}
	return &listener{l: l, logger: logger}
}

type listener struct {
	l      net.Listener
	logger *slog.Logger
	panics atomic.Int64 // of Accept, in a row
}

// Accept implements net.Listener.
func (l *listener) Accept() (accepted net.Conn, err error) {
	defer func() {
		if p := l.recovered("Accept", recover()); p != nil {
			accepted, err = nil, &acceptPanic{p, l.panics.Add(1) < maxAcceptPanics}
		}
	}()
	accepted, err = l.l.Accept()
	l.panics.Store(0)
	switch {
	case err != nil:
		return nil, err
	case accepted == nil:
		return nil, errors.New("Accept returned nil and no error, want a connection")
	}
	return Conn(accepted, l.logger), nil
}

// Close implements net.Listener.
func (l *listener) Close() (err error) {
	defer func() {
		if p := l.recovered("Close", recover()); p != nil {
			err = p
		}
	}()
	return l.l.Close()
}

// Addr implements net.Listener.
func (l *listener) Addr() (a net.Addr) {
	defer func() {
		if l.recovered("Addr", recover()) != nil {
			a = unknownAddr{}
		}
	}()
	return addr(l.l.Addr())
}

// recovered returns the panic of a method, which it logs, for what recover has returned.
func (l *listener) recovered(method string, v any) *Panic {
	if v == nil {
		return nil
	}
	p := NewPanic(v)
	logPanic(l.logger, "listener", method, p)
	return p
}

// acceptPanic is the error of an Accept that has panicked.
type acceptPanic struct {
	*Panic
	temporary bool
}

// Temporary is that of net.Error.
func (p *acceptPanic) Temporary() bool { return p.temporary }

// Timeout is that of net.Error.
func (p *acceptPanic) Timeout() bool { return false }

// Unwrap returns the panic.
func (p *acceptPanic) Unwrap() error { return p.Panic }

// Conn is Stream for a connection. A *tls.Conn, which net/http has to recognise, is returned as it
// is.
func Conn(c net.Conn, logger *slog.Logger) net.Conn {
	switch c := c.(type) {
	case *net.TCPConn, *net.UnixConn, *tls.Conn, *conn:
		return c
	}
	return &conn{stream{s: c, logger: logger}, c}
}

type conn struct {
	stream
	c net.Conn
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return c.setDeadline("SetDeadline", c.c.SetDeadline, t)
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.addr("LocalAddr", c.c.LocalAddr) }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.addr("RemoteAddr", c.c.RemoteAddr) }

func (c *conn) addr(method string, get func() net.Addr) (a net.Addr) {
	a = unknownAddr{}
	var err error
	defer c.contain(method, &err)
	return addr(get())
}

// CloseWrite closes the sending side, if the connection can do that.
func (c *conn) CloseWrite() (err error) {
	half, ok := c.c.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	defer c.contain("CloseWrite", &err)
	return half.CloseWrite()
}

// NetConn returns the connection below one of TLS, and c for all others.
func (c *conn) NetConn() (below net.Conn) {
	secure, ok := c.c.(interface{ NetConn() net.Conn })
	if !ok {
		return c
	}
	below = c
	var err error
	defer c.contain("NetConn", &err)
	return Conn(secure.NetConn(), c.logger)
}

// addr returns an address whose methods do not panic.
func addr(a net.Addr) net.Addr {
	switch a := a.(type) {
	case nil:
		return unknownAddr{}
	case *net.TCPAddr, *net.UnixAddr:
		return a
	}
	return textAddr{a.Network(), a.String()}
}

// textAddr is an address of the type of a user of the library.
type textAddr struct{ network, text string }

func (a textAddr) Network() string { return a.network }
func (a textAddr) String() string  { return a.text }

// unknownAddr stands for an address whose method has panicked.
type unknownAddr struct{}

func (unknownAddr) Network() string { return "unknown" }
func (unknownAddr) String() string  { return "unknown" }
