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

// Connect connects to a server and negotiates a revision with it. Options may be nil.
// The context bounds Connect alone; the Client lives until its Close.
//
//	Connect
//	 └─ Target.connect          starts a command, dials, or tries the transports of a URL
//	     └─ negotiate           the same over every transport:
//	         ├─ discover        server/discover: does the server know the stateless era?
//	         └─ initialize      otherwise, with the newest revision of the session era
func Connect(ctx context.Context, t Target, opts *Options) (*Client, error) {
	if t == nil {
		return nil, errors.New("connect: the target is nil; want one such as URL or Command")
	}
	opts = opts.copied()
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c := newClient(t, opts)
	if err := c.middleware.use(opts.Middleware); err != nil {
		return nil, fmt.Errorf("connect: Options.Middleware: %w", err)
	}
	if err := c.applyExtensions(); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	var err error
	if c.cache, err = c.newCache(); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	k, err := c.establish(ctx)
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect to %s: %w", t, withPublicErrors(err))
	}
	c.start(ctx, k)
	return c, nil
}

// establish makes a connection within Options.Timeouts.Connect.
func (c *Client) establish(ctx context.Context) (*connection, error) {
	ctx, cancel := withTimeout(ctx, c.opts.connectTimeout(), "not connected within %v")
	defer cancel()
	k, err := c.target.connect(ctx, c)
	if err != nil {
		return nil, err
	}
	c.restoreLogLevel(ctx, k)
	return k, nil
}

// dialAndNegotiate dials a connection of whole messages and negotiates over it. If the
// connection ends during the probe for the stateless era, it dials a second time and
// does not probe. It does not do so for a server that was of the stateless era before,
// because then the probe is not the reason. A command with a key is remembered if its
// program ended at the probe alone, and the next connection to it begins with initialize.
func (c *Client) dialAndNegotiate(ctx context.Context, key commandKey, dial func(context.Context) (mcp.Conn, error)) (*connection, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	if probeExits.has(key) {
		k, err := c.connectOver(ctx, conn, probeLast)
		if err != nil || k.stateless() { // the program was replaced
			probeExits.remove(key)
		}
		return k, err
	}
	k, err := c.connectOver(ctx, conn, probeFirst)
	if !errors.Is(err, errProbeFatal) || c.newest(dialect.SessionEra) == nil || c.lastEraWas(dialect.StatelessEra) {
		return k, err
	}
	if conn, err = dial(ctx); err != nil {
		return nil, err
	}
	if k, err = c.connectOver(ctx, conn, probeNever); err == nil {
		probeExits.add(key)
	}
	return k, err
}

// connectOver negotiates over a connection of whole messages, which it owns.
func (c *Client) connectOver(ctx context.Context, conn mcp.Conn, p probing) (*connection, error) {
	k := newConnection(c)
	k.link = exchange.Dial(c.newWire().Wired(conn), k)
	n := &negotiation{connection: k, probing: p, probeTimeout: c.probeTimeout(connProbeTimeout)}
	if err := n.negotiate(ctx); err != nil {
		_ = k.link.Close()
		return nil, err
	}
	return k, nil
}

// connectHTTP tries Streamable HTTP. If the server refuses the POST of initialize with
// a status that means it has no such endpoint, or answers it with the event stream of
// HTTP+SSE, it tries HTTP+SSE.
//
// Spec: 2026-07-28 basic/transports#backward-compatibility
func (c *Client) connectHTTP(ctx context.Context, u *url.URL) (*connection, error) {
	k := newConnection(c)
	p := c.httpParams(u, k)
	p.OnMessage = c.opts.OnMessage
	link := httpclient.NewLink(p)
	k.link, k.http = link, true
	n := &negotiation{connection: k, probing: probeFirst, probeTimeout: c.probeTimeout(httpProbeTimeout)}
	err := n.negotiate(ctx)
	if err == nil {
		link.Agree(ctx, k.dialect().Facts)
		return k, nil
	}
	_ = link.Close()
	var refused error // the probe, if its refusal says more about the server than the rest
	if n.refused != nil && rankOf(n.refused) > rankOf(err) {
		refused = n.refused
	}
	if !refusesPost(err) || !slices.ContainsFunc(c.candidates, servedOverEventStream) {
		return nil, joinAttempts(refused, err)
	}
	k, failed := c.connectEventStream(ctx, u)
	if failed != nil {
		return nil, joinAttempts(refused, err, fmt.Errorf("as an event stream: %w", failed))
	}
	return k, nil
}

// refusesPost reports whether err is the refusal of a server that does not serve POST
// at this URL.
func refusesPost(err error) bool {
	if e, ok := errors.AsType[*httpclient.StatusError](err); ok {
		return slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, e.Status)
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote {
		return !dialect.IsModernError(&jsonrpc.Error{Code: e.Number, Data: e.Data})
	}
	return errors.Is(err, httpclient.ErrEndpointEvent)
}

// connectEventStream negotiates over HTTP+SSE, which only revisions of the session era
// have.
func (c *Client) connectEventStream(ctx context.Context, u *url.URL) (*connection, error) {
	if !slices.ContainsFunc(c.candidates, servedOverEventStream) {
		return nil, fmt.Errorf("HTTP+SSE: Options.Revisions has only %s, want a revision that has this transport", revisionNames(c.candidates))
	}
	conn, err := httpclient.DialEventStream(ctx, c.httpParams(u, nil))
	if err != nil {
		return nil, err
	}
	return c.connectOver(ctx, conn, probeNever)
}

var errInterrupted = errors.New("the stream of notifications was interrupted")

// newWire returns the Wire of a new connection of messages.
func (c *Client) newWire() *exchange.Wire { return exchange.NewWire(c.opts.OnMessage, c.opts.logger()) }

func servedOverEventStream(f *dialect.Facts) bool { return f.EventStream }

func (c *Client) httpParams(u *url.URL, k *connection) httpclient.ClientParams {
	return httpclient.ClientParams{
		URL:               u,
		HTTP:              egress.Configured(c.opts.HTTP.Client, c.opts.logger()),
		Header:            c.opts.HTTP.Header,
		Auth:              c.authorizer(),
		Inbox:             k,
		MaxMessage:        c.opts.maxMessage(),
		MaxMessageSetting: messageSetting,
		CloseTimeout:      c.opts.closeTimeout(),
		Gap:               func() { c.notificationsMissed(errInterrupted) },
		Losses:            &c.sessionLosses,
		CheckSession:      func() { c.checkSession(k) },
		Logger:            c.opts.logger(),
	}
}
