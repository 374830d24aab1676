package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Connect connects to a server and settles on a revision with it. Options may
// be nil. The context bounds the connecting alone; the Client lives until its
// Close.
//
//	Connect
//	 └─ Target.connect          a command is started, a URL tried
//	     └─ agree               the same over every pipe:
//	         ├─ discover        server/discover: is it the stateless era?
//	         └─ initialize      otherwise, with the newest revision of sessions
func Connect(ctx context.Context, t Target, opts *Options) (*Client, error) {
	if t == nil {
		return nil, errors.New("connect: the target is nil; want one such as URL or Command")
	}
	opts = opts.copied()
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c := newClient(t, opts)
	k, err := c.establish(ctx)
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect to %s: %w", t, withPublicErrors(err))
	}
	c.start(ctx, k)
	return c, nil
}

// establish makes a connection, within the time for it.
func (c *Client) establish(ctx context.Context) (*connection, error) {
	ctx, cancel := bounded(ctx, c.opts.initTimeout(), "no agreement within %v")
	defer cancel()
	k, err := c.target.connect(ctx, c)
	if err != nil {
		return nil, err
	}
	c.restoreLogLevel(ctx, k)
	return k, nil
}

// connectBy makes a connection of whole messages and agrees over it. A server
// that did not survive the probe for the stateless era gets a second connection
// without one, unless it is known to survive it: that would only start what crashes
// twice as often.
func (c *Client) connectBy(ctx context.Context, dial func(context.Context) (mcp.Conn, error)) (*connection, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	k, err := c.connectOver(ctx, conn, true)
	if !errors.Is(err, errProbeFatal) || c.newest(dialect.SessionEra) == nil || c.remembers(dialect.StatelessEra) {
		return k, err
	}
	if conn, err = dial(ctx); err != nil {
		return nil, err
	}
	return c.connectOver(ctx, conn, false)
}

// connectOver agrees over a connection of whole messages, which it owns.
func (c *Client) connectOver(ctx context.Context, conn mcp.Conn, probe bool) (*connection, error) {
	k := newConnection(c)
	k.link = exchange.Dial(conn, k)
	n := &negotiation{connection: k, probe: probe, probeTimeout: c.probeTimeout(connProbeTimeout)}
	if err := n.agree(ctx); err != nil {
		_ = k.link.Close()
		return nil, err
	}
	return k, nil
}

// connectHTTP tries Streamable HTTP and, when the server refuses initialize as
// only one that does not know it would, HTTP+SSE.
//
// Spec: 2026-07-28 basic/transports#backward-compatibility
func (c *Client) connectHTTP(ctx context.Context, u *url.URL) (*connection, error) {
	k := newConnection(c)
	link := httpclient.NewLink(c.httpParams(u, k))
	k.link, k.http = link, true
	n := &negotiation{connection: k, probe: true, probeTimeout: c.probeTimeout(httpProbeTimeout)}
	err := n.agree(ctx)
	if err == nil {
		link.Agree(ctx, k.dialect().Facts)
		return k, nil
	}
	_ = link.Close()
	if !knowsNoPost(err) || !slices.ContainsFunc(c.candidates, travelsAsEvents) {
		return nil, err
	}
	k, failed := c.connectEventStream(ctx, u)
	if failed != nil {
		return nil, fmt.Errorf("%w; as an event stream: %w", err, failed)
	}
	return k, nil
}

// knowsNoPost reports whether initialize was refused by a server that has
// nothing to do with POST at this address.
func knowsNoPost(err error) bool {
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote {
		return !dialect.IsModernError(&jsonrpc.Error{Code: e.Number, Data: e.Data})
	}
	e, ok := errors.AsType[*httpclient.StatusError](err)
	return ok && slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, e.Status)
}

// connectEventStream agrees over HTTP+SSE, where only revisions of the session
// era travel.
func (c *Client) connectEventStream(ctx context.Context, u *url.URL) (*connection, error) {
	if !slices.ContainsFunc(c.candidates, travelsAsEvents) {
		return nil, fmt.Errorf("HTTP+SSE: want a revision that travels over it, may speak only %s", names(c.candidates))
	}
	conn, err := httpclient.DialEventStream(ctx, c.httpParams(u, nil))
	if err != nil {
		return nil, err
	}
	return c.connectOver(ctx, conn, false)
}

var errInterrupted = errors.New("the stream of notifications was interrupted")

func travelsAsEvents(f *dialect.Facts) bool { return f.EventStream }

func (c *Client) httpParams(u *url.URL, k *connection) httpclient.ClientParams {
	return httpclient.ClientParams{
		URL:          u,
		HTTP:         egress.Configured(c.opts.HTTP.Client),
		Header:       c.opts.HTTP.Header,
		Auth:         c.authorizer(),
		Inbox:        k,
		MaxMessage:   c.opts.maxMessage(),
		CloseTimeout: c.opts.closeTimeout(),
		Gap:          func() { c.missed(errInterrupted) },
	}
}
