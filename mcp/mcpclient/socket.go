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
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Socket returns a target that the client dials with the given network and address, such
// as "unix" and a path. Messages have the framing of stdio.
//
// Spec: 2026-07-28 basic/transports/index#custom-transports
func Socket(network, address string) Target { return socketTarget{network, address} }

type socketTarget struct{ network, address string }

func (t socketTarget) String() string { return fmt.Sprintf("%s socket %q", t.network, t.address) }

func (t socketTarget) canReconnect() bool { return true }

func (socketTarget) spawns() bool { return false }

func (t socketTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.dialAndNegotiate(ctx, commandKey{}, func(ctx context.Context) (mcp.Conn, error) {
		if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
			return nil, fmt.Errorf("%s has no sockets: %w; use URL, or Conn with your own connection", runtime.GOOS, errors.ErrUnsupported)
		}
		var d net.Dialer
		conn, err := d.DialContext(ctx, t.network, t.address)
		if err != nil {
			return nil, err
		}
		return c.lineConn(conn), nil
	})
}

// Stream returns a target at the other end of a byte stream. Messages have the framing
// of stdio. The client owns the stream and closes it. It cannot reconnect: when the
// stream ends, all calls fail with a LostError. A panic of a method of the stream is logged
// and ends the connection.
func Stream(stream io.ReadWriteCloser) Target { return streamTarget{stream} }

type streamTarget struct{ stream io.ReadWriteCloser }

func (streamTarget) String() string { return "server" }

func (streamTarget) canReconnect() bool { return false }

func (streamTarget) spawns() bool { return false }

func (t streamTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.connectOver(ctx, c.lineConn(t.stream), probeFirst)
}

// lineConn returns a connection over a byte stream, with the limits of the client.
func (c *Client) lineConn(s io.ReadWriteCloser) mcp.Conn {
	s = usercode.Stream(s, c.opts.logger())
	return stdio.New(s, s, s, c.opts.lines())
}
