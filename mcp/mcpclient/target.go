package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// Target is where a server is found: Command, URL, EventStream, InProcess, Dial
// or Conn make one.
type Target interface {
	// String names the target in errors and logs, without secrets.
	String() string
	// connect makes one connection and settles on a revision over it.
	connect(ctx context.Context, c *Client) (*connection, error)
	// canReconnect reports whether connect works more than once.
	canReconnect() bool
	// spawns reports whether connect starts a process.
	spawns() bool
}

// CommandTarget is a server that is started as a child process and spoken to
// over its standard streams. Its fields may be set before Connect.
type CommandTarget struct {
	// Path is the program: a name to look up in PATH, or a path. No shell is
	// involved.
	Path string
	Args []string
	// Env is added to the environment of the child, and wins over it.
	Env map[string]string
	// InheritEnv hands down the whole environment of this process. Otherwise the
	// child gets what every program needs to find its way, and no secrets.
	InheritEnv bool
	// Dir is the working directory; empty means that of this process.
	Dir string
	// Stderr takes the lines of standard error, and the number of lines left out
	// before each. Default: they are logged at debug level.
	Stderr func(line string, omitted int)
}

// Command returns the target that runs the program with the given arguments.
func Command(path string, args ...string) *CommandTarget {
	return &CommandTarget{Path: path, Args: args}
}

func (t *CommandTarget) String() string { return fmt.Sprintf("command %q", t.Path) }

func (t *CommandTarget) canReconnect() bool { return true }

func (*CommandTarget) spawns() bool { return true }

func (t *CommandTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.connectBy(ctx, func(context.Context) (mcp.Conn, error) {
		log := c.opts.logger().With("server", t.Path)
		stderr := t.Stderr
		logged := func(line string, omitted int) {
			c.runHandler("CommandTarget.Stderr", func() { stderr(line, omitted) })
		}
		if stderr == nil {
			logged = func(line string, omitted int) { log.Debug("stderr of the server", "line", line, "omitted", omitted) }
		}
		return stdio.Start(
			spawn.Command{Path: t.Path, Args: t.Args, Env: maps.Clone(t.Env), InheritEnv: t.InheritEnv, Dir: t.Dir},
			&stdio.ChildOptions{
				Conn:    &stdio.Options{MaxLine: c.opts.maxMessage()},
				Process: &spawn.Options{StderrLine: logged},
				Logger:  log,
			})
	})
}

// Dial returns the target that is reached over connections of one's own making.
// The function is called for the first connection and whenever one was lost.
func Dial(dial func(context.Context) (mcp.Conn, error)) Target { return dialTarget{dial} }

type dialTarget struct {
	dial func(context.Context) (mcp.Conn, error)
}

func (dialTarget) String() string { return "server" }

func (dialTarget) canReconnect() bool { return true }

func (dialTarget) spawns() bool { return false }

func (t dialTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.connectBy(ctx, func(ctx context.Context) (conn mcp.Conn, err error) {
		defer c.recoverPanic("function of Dial", &err)
		if conn, err = t.dial(ctx); err == nil && conn == nil {
			err = errors.New("the function of Dial returned neither a connection nor an error")
		}
		if err != nil {
			return nil, err
		}
		return exchange.ContainPanics(conn, c.opts.logger()), nil
	})
}

// Conn returns the target at the other end of conn, which the client then owns.
// Once the connection is lost the client is of no more use.
func Conn(conn mcp.Conn) Target { return connTarget{conn} }

type connTarget struct{ conn mcp.Conn }

func (connTarget) String() string { return "server" }

func (connTarget) canReconnect() bool { return false }

func (connTarget) spawns() bool { return false }

func (t connTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.connectOver(ctx, exchange.ContainPanics(t.conn, c.opts.logger()), true)
}

// Server serves one connection until it ends or ctx does. A server of package
// mcpserver is one.
type Server interface {
	Serve(ctx context.Context, conn mcp.Conn) error
}

// InProcess returns the target that is a server of this process. Closing the
// client ends the connection and waits for Serve.
func InProcess(s Server) Target {
	return inProcessTarget{s}
}

type inProcessTarget struct{ server Server }

func (inProcessTarget) String() string { return "server" }

func (inProcessTarget) canReconnect() bool { return true }

func (inProcessTarget) spawns() bool { return false }

func (t inProcessTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.connectBy(ctx, func(context.Context) (mcp.Conn, error) {
		ours, theirs := memory.Pair()
		ctx, cancel := context.WithCancel(context.Background())
		conn := &served{Conn: ours, cancel: cancel, done: make(chan struct{})}
		go func() {
			defer close(conn.done)
			defer theirs.Close()
			c.runHandler("Server.Serve", func() { _ = t.server.Serve(ctx, theirs) })
		}()
		return conn, nil
	})
}

// served is a connection to a server that runs for it alone.
type served struct {
	mcp.Conn
	cancel context.CancelFunc
	done   chan struct{}
}

func (s *served) Close() error {
	err := s.Conn.Close()
	s.cancel()
	<-s.done
	return err
}

// URL returns the target at an HTTP URL, over Streamable HTTP of any revision
// or, where the server knows no other, HTTP+SSE.
func URL(url string) Target { return urlTarget{url: url} }

// EventStream returns the target at the URL of an HTTP+SSE event stream. URL
// finds such servers too; this leaves out the search.
func EventStream(url string) Target { return urlTarget{url: url, eventStream: true} }

type urlTarget struct {
	url         string
	eventStream bool
}

func (t urlTarget) String() string {
	u, err := t.parse()
	if err != nil {
		return "server"
	}
	return egress.Origin(u) + u.Path
}

func (t urlTarget) canReconnect() bool { return true }

func (urlTarget) spawns() bool { return false }

func (t urlTarget) parse() (*url.URL, error) {
	u, err := url.Parse(t.url)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the URL cannot be read: want one such as https://example.com/mcp")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("URL with scheme %q and host %q: want http or https, and a host", u.Scheme, u.Host)
	}
	u.Fragment = ""
	return u, nil
}

func (t urlTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	u, err := t.parse()
	if err != nil {
		return nil, err
	}
	if t.eventStream {
		return c.connectEventStream(ctx, u)
	}
	return c.connectHTTP(ctx, u)
}
