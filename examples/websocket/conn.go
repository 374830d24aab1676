package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	protocol     = "mcp"            // the WebSocket subprotocol
	maxMessage   = 16 << 20         // bytes
	writeTimeout = 30 * time.Second // for a peer that does not read
)

// conn is an mcp.Conn: a text message of the WebSocket is a message of the protocol.
type conn struct{ ws *websocket.Conn }

var _ mcp.Conn = conn{}

func newConn(ws *websocket.Conn) conn {
	ws.SetReadLimit(maxMessage)
	return conn{ws}
}

func (c conn) Read(ctx context.Context) ([]byte, error) {
	kind, msg, err := c.ws.Read(ctx)
	switch {
	case websocket.CloseStatus(err) == websocket.StatusNormalClosure:
		return nil, io.EOF
	case err == nil && kind != websocket.MessageText:
		return nil, &mcp.FrameError{Reason: "a binary message, want text"}
	}
	return msg, err
}

// Write has a timeout of its own, because a cancelled context would close the connection
// for all calls.
func (c conn) Write(ctx context.Context, msg []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, msg)
}

func (c conn) Close() error {
	if err := c.ws.Close(websocket.StatusNormalClosure, ""); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// handler serves srv on loopback host names. Accept refuses requests of web pages with
// another origin.
func handler(srv *mcpserver.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			http.Error(w, "want a name of this machine, such as localhost", http.StatusForbidden)
			return
		}
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
		if err != nil {
			return // Accept has responded
		}
		_ = srv.ServeConn(r.Context(), newConn(ws), mcpserver.ConnOptions{Request: r})
	})
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// target is the target of a client for a WebSocket URL.
func target(url string) mcpclient.Target {
	return mcpclient.Dial(func(ctx context.Context) (mcp.Conn, error) {
		ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: []string{protocol}})
		if err != nil {
			return nil, err
		}
		return newConn(ws), nil
	})
}
