package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// Socket returns the target that listens on a socket, such as "unix" at a path,
// and speaks with the framing of stdio.
//
// Spec: 2026-07-28 basic/transports/index#custom-transports
func Socket(network, address string) Target { return socketTarget{network, address} }

type socketTarget struct{ network, address string }

func (t socketTarget) String() string { return fmt.Sprintf("%s socket %q", t.network, t.address) }

func (t socketTarget) canReconnect() bool { return true }

func (socketTarget) spawns() bool { return false }

func (t socketTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.connectBy(ctx, func(ctx context.Context) (mcp.Conn, error) {
		if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
			return nil, fmt.Errorf("%s has no sockets: %w; use URL, or Conn with a connection of your own", runtime.GOOS, errors.ErrUnsupported)
		}
		var d net.Dialer
		conn, err := d.DialContext(ctx, t.network, t.address)
		if err != nil {
			return nil, err
		}
		return c.lineConn(conn), nil
	})
}

// Stream returns the target at the other end of a byte stream, which the client
// then owns, with the framing of stdio. Once the stream has ended the client is
// of no more use.
func Stream(stream io.ReadWriteCloser) Target { return streamTarget{stream} }

type streamTarget struct{ stream io.ReadWriteCloser }

func (streamTarget) String() string { return "server" }

func (streamTarget) canReconnect() bool { return false }

func (streamTarget) spawns() bool { return false }

func (t streamTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.connectOver(ctx, c.lineConn(t.stream), true)
}

// lineConn is the connection over a byte stream, within the client's limits.
func (c *Client) lineConn(s io.ReadWriteCloser) mcp.Conn {
	return stdio.New(s, s, s, &stdio.Options{MaxLine: c.opts.maxMessage()})
}
