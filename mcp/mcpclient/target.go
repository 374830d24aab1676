package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// Target says how to reach a server. Command, URL, EventStream, Socket, Stream,
// InProcess, Dial and Conn return one.
type Target interface {
	// String returns the name of the target in errors and logs, without secrets.
	String() string
	// connect makes one connection and negotiates a revision over it.
	connect(ctx context.Context, c *Client) (*connection, error)
	// canReconnect reports whether connect works more than once.
	canReconnect() bool
	// spawns reports whether connect starts a process.
	spawns() bool
}

// CommandTarget is a server that runs as a child process. Messages are exchanged over
// its standard input and output. Set its fields before Connect.
//
// The child gets no other descriptors: on Unix, Connect marks all descriptors of this process above
// standard error to be closed when a program is executed.
//
// Connect first sends server/discover, which servers of the session era should answer
// with an error. If the program exits instead, Connect starts it a second time and sends
// initialize. Later connections of this process to the same path, arguments and working
// directory begin with initialize, for an hour; up to 256 such commands are remembered.
type CommandTarget struct {
	// Path is the program: a name to look up in PATH, or a path. It is not run by a
	// shell.
	Path string
	// Args are the arguments of the program, without its name.
	Args []string
	// Env is added to the environment of the child and replaces variables in it.
	Env map[string]string
	// InheritEnv passes the whole environment of this process to the child.
	// Otherwise the child gets only variables that most programs need and that have
	// no secrets: PATH, HOME, the user's name, language, time zone and directories; proxies
	// (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY in both cases) and certificates
	// (SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS, REQUESTS_CA_BUNDLE). npx, uvx and pipx
	// also get the variables of their package indexes, docker and podman DOCKER_HOST. A URL
	// with a user or password is passed only by Env.
	InheritEnv bool
	// Dir is the working directory. Empty means that of this process.
	Dir string
	// Open, if not nil, is called before each start. It returns the opened program, or an
	// error that prevents the start. On Linux this file runs, whatever Path names by then,
	// unless it is a script; elsewhere it is kept open during the start. Connect closes it.
	// It is for callers that check what they start.
	Open func() (*os.File, error)
	// Verify, if not nil, is called after each start, when the server has answered for the
	// first time. Its error ends the server, and is returned by Connect. It is for files that
	// an interpreter opens by their path.
	Verify func() error
	// Stderr is called for each line of standard error, with the number of lines
	// omitted before it. Default: the lines are logged at debug level.
	Stderr func(line string, omitted int)
}

// Command returns a target that runs a program with the given arguments. No shell
// interprets them.
func Command(path string, args ...string) *CommandTarget {
	return &CommandTarget{Path: path, Args: args}
}

// WithheldVariables returns the sorted names of the variables of this process that the child does
// not get, see InheritEnv, without those of the shell such as PWD. It is for the user of a program
// that does not start.
func (t *CommandTarget) WithheldVariables() []string {
	return spawn.Command{Path: t.Path, Env: t.Env, InheritEnv: t.InheritEnv}.Withheld()
}

func (t *CommandTarget) String() string { return fmt.Sprintf("command %q", t.Path) }

func (t *CommandTarget) canReconnect() bool { return true }

func (*CommandTarget) spawns() bool { return true }

func (t *CommandTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	var child *stdio.Child
	k, err := c.dialAndNegotiate(ctx, t.key(), func(context.Context) (_ mcp.Conn, err error) {
		log := c.opts.logger().With("server", t.Path)
		stderr := t.Stderr
		onLine := func(line string, omitted int) {
			c.runHandler("CommandTarget.Stderr", func() { stderr(line, omitted) })
		}
		if stderr == nil {
			onLine = func(line string, omitted int) { log.Debug("stderr of the server", "line", line, "omitted", omitted) }
		}
		program, err := t.open()
		if err != nil {
			return nil, err
		}
		defer program.Close() // nil or open
		child, err = stdio.Start(
			spawn.Command{Path: t.Path, Args: t.Args, Env: maps.Clone(t.Env), InheritEnv: t.InheritEnv, Dir: t.Dir, File: program},
			&stdio.ChildOptions{
				Conn:    c.opts.lines(),
				Process: &spawn.Options{StderrLine: onLine},
				Logger:  log,
			})
		if err != nil {
			return nil, err
		}
		return child, nil
	})
	switch {
	case child == nil:
	case err != nil:
		err = commandError(err, child)
	default:
		k.pid = child.Process().Pid()
	}
	if err == nil && t.Verify != nil {
		if err = t.Verify(); err != nil {
			_ = k.link.Close()
			return nil, err
		}
	}
	return k, err
}

// open returns the opened program, nil if there is no function to open it.
func (t *CommandTarget) open() (*os.File, error) {
	if t.Open == nil {
		return nil, nil
	}
	return t.Open()
}

// Dial returns a target that is reached over connections of the given function. It is
// called for the first connection, whenever a connection was lost, and a second time if
// the server closes the connection on the probe for the stateless era. The client owns
// the connections.
func Dial(dial func(context.Context) (mcp.Conn, error)) Target { return dialTarget{dial} }

type dialTarget struct {
	dial func(context.Context) (mcp.Conn, error)
}

func (dialTarget) String() string { return "server" }

func (dialTarget) canReconnect() bool { return true }

func (dialTarget) spawns() bool { return false }

func (t dialTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.dialAndNegotiate(ctx, commandKey{}, func(ctx context.Context) (conn mcp.Conn, err error) {
		defer c.recoverPanic("function of Dial", &err)
		if conn, err = t.dial(ctx); err == nil && conn == nil {
			err = errors.New("the function of Dial returned nil and no error, want a connection")
		}
		if err != nil {
			return nil, err
		}
		return exchange.ContainPanics(conn, c.opts.logger()), nil
	})
}

// Conn returns a target at the other end of conn. The client owns conn and closes it. It
// cannot reconnect: when the connection ends, all calls fail with a LostError.
func Conn(conn mcp.Conn) Target { return connTarget{conn} }

type connTarget struct{ conn mcp.Conn }

func (connTarget) String() string { return "server" }

func (connTarget) canReconnect() bool { return false }

func (connTarget) spawns() bool { return false }

func (t connTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.connectOver(ctx, exchange.ContainPanics(t.conn, c.opts.logger()), probeFirst)
}

// Server serves one connection and returns when the connection or ctx ends.
// *mcpserver.Server implements it.
type Server interface {
	Serve(ctx context.Context, conn mcp.Conn) error
}

// InProcess returns a target that is a server in this process. Client.Close ends the
// connection and waits until Serve has returned.
func InProcess(s Server) Target {
	return inProcessTarget{s}
}

type inProcessTarget struct{ server Server }

func (inProcessTarget) String() string { return "server" }

func (inProcessTarget) canReconnect() bool { return true }

func (inProcessTarget) spawns() bool { return false }

func (t inProcessTarget) connect(ctx context.Context, c *Client) (*connection, error) {
	return c.dialAndNegotiate(ctx, commandKey{}, func(context.Context) (mcp.Conn, error) {
		ours, theirs := memory.Pair()
		ctx, cancel := context.WithCancel(context.Background())
		conn := &inProcessConn{Conn: ours, cancel: cancel, done: make(chan struct{})}
		go func() {
			defer close(conn.done)
			defer theirs.Close()
			c.runHandler("Server.Serve", func() { _ = t.server.Serve(ctx, theirs) })
		}()
		return conn, nil
	})
}

// inProcessConn is a connection to a server in this process. Close waits for its Serve.
type inProcessConn struct {
	mcp.Conn
	cancel context.CancelFunc
	done   chan struct{}
}

func (s *inProcessConn) Close() error {
	err := s.Conn.Close()
	s.cancel()
	<-s.done
	return err
}

// URL returns a target at an HTTP URL. The transport is Streamable HTTP, or HTTP+SSE if
// the server has only that.
func URL(url string) Target { return urlTarget{url: url} }

// EventStream returns a target at the URL of an HTTP+SSE event stream. URL finds such
// servers, too; EventStream saves the attempts with other transports.
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
		return nil, fmt.Errorf("the URL is invalid, want one such as https://example.com/mcp")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("URL with scheme %q and host %q: want http or https, and a host, such as https://example.com/mcp", u.Scheme, u.Host)
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
