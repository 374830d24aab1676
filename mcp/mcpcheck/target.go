package mcpcheck

import (
	"context"
	"errors"
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Target is the server to check. Exactly one of Command, URL and Server is set.
type Target struct {
	// Command is started several times, once for each revision and for each group of checks. Its Open and
	// Verify are not used.
	Command *mcpclient.CommandTarget
	// URL is that of an endpoint of Streamable HTTP. HTTP has the headers to send, such as credentials, and
	// the client to use; its Auth is not used.
	URL  string
	HTTP mcpclient.HTTPOptions
	// Server is served in memory.
	Server mcpclient.Server
}

func (t *Target) check() error {
	n := 0
	for _, set := range []bool{t.Command != nil, t.URL != "", t.Server != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("target: want exactly one of Command, URL and Server")
	}
	return nil
}

// dial opens a connection of messages. It is for targets that are reached by one.
func (t *Target) dial() (mcp.Conn, error) {
	if t.Command != nil {
		c := t.Command
		stderr := c.Stderr
		if stderr == nil {
			stderr = func(string, int) {}
		}
		return stdio.Start(
			spawn.Command{Path: c.Path, Args: c.Args, Env: c.Env, InheritEnv: c.InheritEnv, Dir: c.Dir},
			&stdio.ChildOptions{Process: &spawn.Options{StderrLine: stderr}},
		)
	}
	ours, theirs := memory.Pair()
	ctx, cancel := context.WithCancel(context.Background())
	conn := &servedConn{Conn: ours, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(conn.done)
		defer theirs.Close()
		_ = t.Server.Serve(ctx, theirs)
	}()
	return conn, nil
}

// servedConn is a connection to a server in this process. Close waits for its Serve.
type servedConn struct {
	mcp.Conn
	cancel context.CancelFunc
	done   chan struct{}
}

// Close implements mcp.Conn.
func (c *servedConn) Close() error {
	err := c.Conn.Close()
	c.cancel()
	<-c.done
	return err
}

// monitored returns the target of a client whose messages pass through wrap or, over HTTP, through
// transport.
func (t *Target) monitored(wrap func(mcp.Conn) mcp.Conn, transport func(http.RoundTripper) http.RoundTripper, o *mcpclient.Options, c *http.Client) mcpclient.Target {
	if t.URL == "" {
		return mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
			conn, err := t.dial()
			if err != nil {
				return nil, err
			}
			return wrap(conn), nil
		})
	}
	own := *c
	own.Transport = transport(c.Transport)
	o.HTTP = mcpclient.HTTPOptions{Header: t.HTTP.Header, Client: &own}
	return mcpclient.URL(t.URL)
}
