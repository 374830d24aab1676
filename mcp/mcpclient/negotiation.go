package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Default timeouts of the probe. A local server answers at once unless it is still
// starting; over HTTP the network may be slow.
const (
	connProbeTimeout = 3 * time.Second
	httpProbeTimeout = 10 * time.Second
)

// maxDiscover bounds the revisions that are tried one after the other.
const maxDiscover = 3

var (
	// errLegacy: the server does not know the stateless era.
	errLegacy = errors.New("the server knows no revision without sessions")
	// errNoProbeAnswer: the server did not answer the probe, so it probably does not.
	errNoProbeAnswer = fmt.Errorf("%w: no answer to server/discover", errLegacy)
	// errProbeFatal: the connection did not survive the probe.
	errProbeFatal = errors.New("the connection ended at server/discover")
)

// agreement is the result of the negotiation with a server.
type agreement struct {
	dialect      *dialect.Client
	server       mcp.Implementation
	capabilities mcp.ServerCapabilities
	instructions string
	at           time.Time
}

// probing says whether to look for the stateless era with server/discover.
type probing int

const (
	probeFirst probing = iota
	probeLast          // only if the server answers initialize with an error
	probeNever
)

// negotiation negotiates a revision over one link.
type negotiation struct {
	*connection
	probing      probing
	probeTimeout time.Duration
	refused      error // of an HTTP request of the probe, or nil
}

// negotiate uses Options.Prior, or finds the era of the server and the newest revision that
// both support.
//
// Spec: 2026-07-28 basic/versioning#backward-compatibility
func (n *negotiation) negotiate(ctx context.Context) error {
	c := n.client
	if n.probing == probeFirst {
		if a := c.takePrior(); a != nil {
			n.agreed.Store(a)
			n.assumed.Store(true)
			return nil
		}
	}
	stateless, session := c.newest(dialect.StatelessEra), c.newest(dialect.SessionEra)
	probed := errLegacy
	switch {
	case session == nil && n.probing == probeLast:
		n.probing = probeFirst
	case session != nil && n.probing == probeFirst && c.lastEraWas(dialect.SessionEra):
		n.probing = probeLast
	}
	if n.probing == probeFirst && stateless != nil {
		timeout := n.probeTimeout
		if session == nil {
			timeout = 0 // without another era to try, wait for a slow server
		}
		probed = n.discoverWithin(ctx, timeout)
		if !errors.Is(probed, errLegacy) {
			return probed
		}
	}
	if session == nil {
		return fmt.Errorf("%w: want one of %s", probed, revisionNames(c.candidates))
	}
	err := n.initialize(ctx, session)
	if err != nil && n.link.Err() != nil && errors.Is(probed, errNoProbeAnswer) {
		// The server was slow to start, and ended when it read the probe.
		return fmt.Errorf("%w: %w", errProbeFatal, err)
	}
	if answered(err) && stateless != nil && (errors.Is(probed, errNoProbeAnswer) || n.probing == probeLast) {
		// The server was slow, or was replaced by a newer one.
		if n.discover(ctx, stateless) == nil {
			return nil
		}
	}
	return err
}

// answered reports whether err is an error that the server answered with.
func answered(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && e.Remote
}

func (n *negotiation) discoverWithin(ctx context.Context, d time.Duration) error {
	if d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = exchange.WithTimeout(ctx, d, errNoProbeAnswer)
		defer cancel()
	}
	return n.discover(ctx, n.client.newest(dialect.StatelessEra))
}

// discover sends server/discover in the given revision, and then in those that the
// server names.
func (n *negotiation) discover(ctx context.Context, f *dialect.Facts) error {
	for range maxDiscover {
		next, err := n.discoverOnce(ctx, f)
		switch {
		case err != nil || next == nil:
			return err
		case next.Era == dialect.SessionEra:
			return errLegacy
		}
		f = next
	}
	return fmt.Errorf("server/discover: the server refuses %s but lists it as supported", f.Revision)
}

// discoverOnce sends server/discover in one revision. If the server refuses that and
// names others, it returns the newest of these that the client supports.
func (n *negotiation) discoverOnce(ctx context.Context, f *dialect.Facts) (next *dialect.Facts, err error) {
	d, m, err := n.send(ctx, f, mcp.MethodDiscover, nil)
	if err != nil {
		return nil, n.probeError(ctx, err)
	}
	if m.Error != nil && !dialect.IsModernError(m.Error) {
		return nil, errLegacy
	}
	if m.Error != nil {
		if next = n.client.newestOf(dialect.SupportedIn(m.Error)); next != nil {
			return next, nil
		}
		return nil, fmt.Errorf("server/discover: %w (want one of %s)", d.Error(m.Error), revisionNames(n.client.candidates))
	}
	return n.discovered(d, m)
}

// probeError returns the outcome of a probe that got no answer in the protocol.
func (n *negotiation) probeError(ctx context.Context, err error) error {
	e, isStatus := errors.AsType[*httpclient.StatusError](err)
	switch {
	case errors.Is(context.Cause(ctx), errNoProbeAnswer):
		return errNoProbeAnswer
	case ctx.Err() != nil:
		return err
	case isStatus && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
		return fmt.Errorf("server/discover: %w", err)
	case errors.Is(err, httpclient.ErrEndpointEvent):
		return err
	case n.link.Err() != nil:
		return fmt.Errorf("%w: %w", errProbeFatal, err)
	case isStatus || isInvalid(err) || n.http && !(isUnsent(err) || n.client.lastEraWas(dialect.StatelessEra) && isTransport(err)):
		n.refused = fmt.Errorf("server/discover: %w", err)
		return errLegacy
	}
	return fmt.Errorf("server/discover: %w", err)
}

// isInvalid reports whether a response violates the protocol. Servers of the session era
// often do not encode the error for an unknown method as JSON-RPC asks for.
func isInvalid(err error) bool {
	_, ok := errors.AsType[*dialect.ProtocolError](err)
	return ok
}

// discovered evaluates the answer to server/discover. An answer without revisions means
// the session era: it comes from a server that answers every method.
func (n *negotiation) discovered(d *dialect.Client, m jsonrpc.Message) (next *dialect.Facts, err error) {
	outcome, err := d.Result(mcp.MethodDiscover, m)
	var result mcp.DiscoverResult
	if err != nil || outcome.InputRequired != nil || n.client.decode(mcp.MethodDiscover, outcome.Result, &result) != nil || len(result.SupportedVersions) == 0 {
		return nil, errLegacy
	}
	best := n.client.newestOf(dialect.Known(result.SupportedVersions))
	switch {
	case best == nil:
		return nil, fmt.Errorf("the server supports %s: want one of %s", strings.Join(result.SupportedVersions, ", "), revisionNames(n.client.candidates))
	case best.Era == dialect.SessionEra:
		return best, nil
	}
	if best != d.Facts {
		if d, err = n.client.dialectFor(best); err != nil {
			return nil, err
		}
	}
	a := &agreement{dialect: d, capabilities: result.Capabilities, instructions: result.Instructions, at: time.Now()}
	_, _ = result.Meta.Get(mcp.MetaServerInfo, &a.server) // optional, and self-reported
	n.agreed.Store(a)
	return nil, nil
}

// initialize opens a session, with f as the newest revision.
//
// Spec: 2025-11-25 basic/lifecycle#initialization
func (n *negotiation) initialize(ctx context.Context, f *dialect.Facts) error {
	c := n.client
	d, m, err := n.send(ctx, f, mcp.MethodInitialize, &mcp.InitializeParams{
		ProtocolVersion: f.Revision.String(),
		Capabilities:    c.opts.capabilities(f),
		ClientInfo:      c.opts.info(),
	})
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if m.Error != nil {
		return fmt.Errorf("initialize: %w", d.Error(m.Error))
	}
	var result mcp.InitializeResult
	if err := c.decode(mcp.MethodInitialize, m.Result, &result); err != nil {
		return fmt.Errorf("initialize: %w", dialect.Invalid("%w", err))
	}
	best := c.newestOf(dialect.Negotiated(result.ProtocolVersion))
	if best == nil || best.Era != dialect.SessionEra {
		return fmt.Errorf("initialize: the server answered in revision %.32q: want one of %s", result.ProtocolVersion, revisionNames(c.candidates))
	}
	if d, err = c.dialectFor(best); err != nil {
		return err
	}
	n.agreed.Store(&agreement{dialect: d, server: result.ServerInfo, capabilities: result.Capabilities, instructions: result.Instructions, at: time.Now()})
	if err := n.notify(ctx, mcp.NotificationInitialized, nil); err != nil {
		return fmt.Errorf("%s: %w", mcp.NotificationInitialized, err)
	}
	return nil
}

// send sends one request of the handshake, which is never cancelled.
func (n *negotiation) send(ctx context.Context, f *dialect.Facts, method string, params any) (*dialect.Client, jsonrpc.Message, error) {
	d, err := n.client.dialectFor(f)
	if err != nil {
		return nil, jsonrpc.Message{}, err
	}
	req, err := d.Request(dialect.RequestParams{Method: method, Params: params})
	if err != nil {
		return nil, jsonrpc.Message{}, err
	}
	m, err := n.link.Call(ctx, exchange.Outbound{Message: req})
	return d, m, err
}

// dialectFor returns the client's dialect of one revision.
func (c *Client) dialectFor(f *dialect.Facts) (*dialect.Client, error) {
	return dialect.NewClient(f, c.opts.info(), c.opts.capabilities(f))
}

// newest returns the newest candidate of the era, or nil.
func (c *Client) newest(era dialect.Era) *dialect.Facts {
	for _, f := range c.candidates {
		if f.Era == era {
			return f
		}
	}
	return nil
}

// newestOf returns the newest candidate among the given revisions, or nil.
func (c *Client) newestOf(revisions []mcp.Revision) *dialect.Facts {
	for _, f := range c.candidates {
		if slices.Contains(revisions, f.Revision) {
			return f
		}
	}
	return nil
}

// lastEraWas reports whether the last negotiation found a revision of the era.
//
// Spec: 2026-07-28 basic/versioning#backward-compatibility
func (c *Client) lastEraWas(era dialect.Era) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := dialect.Of(c.lastRevision)
	return f != nil && f.Era == era && slices.Contains(c.candidates, f)
}

func (c *Client) probeTimeout(byDefault time.Duration) time.Duration {
	return cmp.Or(c.opts.Timeouts.Probe, byDefault)
}

// revisionNames lists the revisions for an error.
func revisionNames(all []*dialect.Facts) string {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.Revision.String()
	}
	return strings.Join(texts, ", ")
}
