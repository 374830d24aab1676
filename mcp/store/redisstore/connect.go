package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// connect returns a client of the server, or of the cluster that the server belongs to. Its
// connections are closed when life ends.
func connect(ctx, life context.Context, opts *redis.Options, timeout time.Duration) (redis.UniversalClient, error) {
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout, opts.PoolTimeout = timeout, timeout, timeout, timeout
	opts.ContextTimeoutEnabled = true
	opts.MaxRetries = -1 // see once
	opts.Protocol = 2
	opts.DisableIdentity = true // the user may lack the right, and nothing depends on it
	opts.PipelinePoolSize = -1
	opts.Dialer = dialer(life, opts.TLSConfig, timeout)
	opts.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		s, err := hello(ctx, conn)
		if err != nil {
			return err
		}
		return s.check()
	}
	first := redis.NewClient(opts)
	conn := first.Conn()
	s, err := hello(ctx, conn)
	conn.Close()
	if err == nil && s.mode != "cluster" {
		return first, nil
	}
	first.Close()
	switch {
	case err != nil:
		return nil, err
	case opts.DB != 0:
		return nil, fmt.Errorf("database %d of a cluster: want 0, the only one", opts.DB)
	}
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:    []string{opts.Addr},
		Username: opts.Username, Password: opts.Password,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
		ContextTimeoutEnabled: true,
		MaxRetries:            opts.MaxRetries,
		Protocol:              opts.Protocol,
		DisableIdentity:       true,
		PipelinePoolSize:      -1,
		TLSConfig:             opts.TLSConfig,
		Dialer:                opts.Dialer,
		OnConnect:             opts.OnConnect,
	}), nil
}

// server is what a server says about itself in its answer to HELLO, which every user may send.
type server struct{ version, mode, role string }

func hello(ctx context.Context, conn *redis.Conn) (server, error) {
	facts, err := conn.Hello(ctx, 2, "", "", "").Result()
	if err != nil {
		return server{}, err
	}
	text := func(name string) string { s, _ := facts[name].(string); return s }
	return server{version: text("version"), mode: text("mode"), role: text("role")}, nil
}

// check refuses servers that cannot be used. It is called for each new connection, because a
// primary may have become a replica, which answers reads with old values. Sentinel closes the
// connections that were there before. A replica in a cluster redirects reads by itself.
func (s server) check() error {
	switch {
	case s.mode == "sentinel":
		return errors.New("the server is a Sentinel: want the address of the primary")
	case s.role == "replica" && s.mode != "cluster":
		return errors.New("the server is a replica: want the address of the primary")
	case !newEnough(s.version):
		return fmt.Errorf("the server has version %s: want Redis 6.2 or newer", s.version)
	}
	return nil
}

// newEnough reports whether a version such as 7.0.15 is 6.2 or newer. Scripts use ZRANDMEMBER.
func newEnough(version string) bool {
	first, rest, _ := strings.Cut(version, ".")
	second := strings.FieldsFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	major, err := strconv.Atoi(first)
	if err != nil || len(second) == 0 {
		return false
	}
	minor, err := strconv.Atoi(second[0])
	return err == nil && (major > 6 || major == 6 && minor >= 2)
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer returns a function that opens connections, which are closed when life ends. Its context
// ends a TLS handshake, too. Errors are those of the first use of the connection: the pool of the
// client would write an error of the function itself to standard error.
func dialer(life context.Context, config *tls.Config, timeout time.Duration) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		dial := (&net.Dialer{Timeout: timeout}).DialContext
		if config != nil {
			dial = (&tls.Dialer{NetDialer: &net.Dialer{Timeout: timeout}, Config: config}).DialContext
		}
		opened, err := dial(ctx, network, addr)
		if err != nil {
			return failedConn{err: err}, nil
		}
		return &conn{Conn: opened, forget: context.AfterFunc(life, func() { opened.Close() })}, nil
	}
}

// conn is a connection that ends with its Store, also while it is not in the pool of the client.
type conn struct {
	net.Conn
	forget func() bool
}

func (c *conn) Close() error {
	if !c.forget() {
		return nil // closed by the end of the Store
	}
	return c.Conn.Close()
}

// SyscallConn lets the pool see, before it uses an idle connection, that the server has closed it.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	plain := c.Conn
	if secure, ok := plain.(*tls.Conn); ok {
		plain = secure.NetConn()
	}
	return plain.(syscall.Conn).SyscallConn()
}

// failedConn is a connection that could not be opened.
type failedConn struct{ err error }

func (c failedConn) Read([]byte) (int, error)         { return 0, c.err }
func (c failedConn) Write([]byte) (int, error)        { return 0, c.err }
func (c failedConn) Close() error                     { return nil }
func (c failedConn) LocalAddr() net.Addr              { return new(net.TCPAddr) }
func (c failedConn) RemoteAddr() net.Addr             { return new(net.TCPAddr) }
func (c failedConn) SetDeadline(time.Time) error      { return nil }
func (c failedConn) SetReadDeadline(time.Time) error  { return nil }
func (c failedConn) SetWriteDeadline(time.Time) error { return nil }
