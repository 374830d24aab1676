package mcpclient

import (
	"context"
	"encoding/json/v2"
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

// How long a server may leave the probe unanswered. A local server answers at
// once, or was still being started; over HTTP silence means a slow way.
const (
	connProbeTimeout = 3 * time.Second
	httpProbeTimeout = 10 * time.Second
)

// maxDiscover bounds the revisions that are tried in turn.
const maxDiscover = 3

var (
	// errLegacy: the server does not know the stateless era.
	errLegacy = errors.New("the server knows no revision without sessions")
	// errSilent: it did not answer the probe, which says the same less surely.
	errSilent = fmt.Errorf("%w: no answer to server/discover", errLegacy)
	// errProbeFatal: the connection did not survive the probe.
	errProbeFatal = errors.New("the connection ended at server/discover")
)

// agreement is what was settled with a server.
type agreement struct {
	dialect      *dialect.Client
	server       mcp.Implementation
	capabilities mcp.ServerCapabilities
	instructions string
}

// negotiation settles on a revision over one link.
type negotiation struct {
	*connection
	probe        bool // whether to look for the stateless era
	probeTimeout time.Duration
}

// agree finds the era of the server and the newest revision that both speak.
//
// Spec: 2026-07-28 basic/versioning#backward-compatibility
func (n *negotiation) agree(ctx context.Context) error {
	c := n.client
	stateless, session := c.newest(dialect.StatelessEra), c.newest(dialect.SessionEra)
	probed := errLegacy
	if n.probe && stateless != nil && !c.remembers(dialect.SessionEra) {
		patience := n.probeTimeout
		if session == nil {
			patience = 0 // a slow server is the only one there can be
		}
		probed = n.discoverWithin(ctx, patience)
		if !errors.Is(probed, errLegacy) {
			return probed
		}
	}
	if session == nil {
		return fmt.Errorf("%w: may speak only %s", probed, names(c.candidates))
	}
	err := n.initialize(ctx, session)
	if answered(err) && stateless != nil && n.probe && (errors.Is(probed, errSilent) || c.remembers(dialect.SessionEra)) {
		// What seemed to be an older server was a slow one, or became a newer one.
		if n.discover(ctx, stateless) == nil {
			return nil
		}
	}
	return err
}

// answered reports whether err is the server's own word.
func answered(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && e.Remote
}

func (n *negotiation) discoverWithin(ctx context.Context, d time.Duration) error {
	if d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = exchange.WithTimeout(ctx, d, errSilent)
		defer cancel()
	}
	return n.discover(ctx, n.client.newest(dialect.StatelessEra))
}

// discover asks in the given revision, and in another that the server names.
func (n *negotiation) discover(ctx context.Context, f *dialect.Facts) error {
	for range maxDiscover {
		next, err := n.ask(ctx, f)
		switch {
		case err != nil || next == nil:
			return err
		case next.Era == dialect.SessionEra:
			return errLegacy
		}
		f = next
	}
	return fmt.Errorf("server/discover: the server refuses %s and names it as supported", f.Revision)
}

// ask sends server/discover in one revision. It returns another one to try when
// the server refuses this one in favour of it.
func (n *negotiation) ask(ctx context.Context, f *dialect.Facts) (next *dialect.Facts, err error) {
	d, m, err := n.send(ctx, f, mcp.MethodDiscover, nil)
	if err != nil {
		return nil, n.verdict(ctx, err)
	}
	if m.Error != nil && !dialect.IsModernError(m.Error) {
		return nil, errLegacy
	}
	if m.Error != nil {
		if next = n.client.among(dialect.SupportedIn(m.Error)); next != nil {
			return next, nil
		}
		return nil, fmt.Errorf("server/discover: %w (may speak %s)", d.Error(m.Error), names(n.client.candidates))
	}
	return n.discovered(d, m)
}

// verdict says what it means that the probe got no answer in the protocol.
func (n *negotiation) verdict(ctx context.Context, err error) error {
	e, isStatus := errors.AsType[*httpclient.StatusError](err)
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return errSilent
	case ctx.Err() != nil:
		return err
	case isStatus && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
		return fmt.Errorf("server/discover: %w", err)
	case n.link.Err() != nil:
		return fmt.Errorf("%w: %w", errProbeFatal, err)
	case isStatus || n.http && !isTransport(err):
		return errLegacy
	}
	return fmt.Errorf("server/discover: %w", err)
}

// discovered takes the answer to server/discover. One that names no revisions
// comes from a server that answers everything.
func (n *negotiation) discovered(d *dialect.Client, m jsonrpc.Message) (next *dialect.Facts, err error) {
	outcome, err := d.Result(mcp.MethodDiscover, m)
	var result mcp.DiscoverResult
	if err != nil || outcome.InputRequired != nil || json.Unmarshal(outcome.Result, &result) != nil || len(result.SupportedVersions) == 0 {
		return nil, errLegacy
	}
	best := n.client.among(dialect.Known(result.SupportedVersions))
	switch {
	case best == nil:
		return nil, fmt.Errorf("the server speaks %s: want one of %s", strings.Join(result.SupportedVersions, ", "), names(n.client.candidates))
	case best.Era == dialect.SessionEra:
		return best, nil
	}
	if best != d.Facts {
		if d, err = n.client.speak(best); err != nil {
			return nil, err
		}
	}
	a := &agreement{dialect: d, capabilities: result.Capabilities, instructions: result.Instructions}
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
	if err := json.Unmarshal(m.Result, &result); err != nil {
		return fmt.Errorf("initialize: %w", dialect.Invalid("%w", err))
	}
	best := c.among(dialect.Known([]string{result.ProtocolVersion}))
	if best == nil || best.Era != dialect.SessionEra {
		return fmt.Errorf("initialize: the server answered in revision %.32q: want one of %s", result.ProtocolVersion, names(c.candidates))
	}
	if d, err = c.speak(best); err != nil {
		return err
	}
	n.agreed.Store(&agreement{dialect: d, server: result.ServerInfo, capabilities: result.Capabilities, instructions: result.Instructions})
	if err := n.notify(ctx, mcp.NotificationInitialized, nil); err != nil {
		return fmt.Errorf("%s: %w", mcp.NotificationInitialized, err)
	}
	return nil
}

// send makes one request of the handshake, which is never cancelled.
func (n *negotiation) send(ctx context.Context, f *dialect.Facts, method string, params any) (*dialect.Client, jsonrpc.Message, error) {
	d, err := n.client.speak(f)
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

// speak returns the dialect of this client in one revision.
func (c *Client) speak(f *dialect.Facts) (*dialect.Client, error) {
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

// among returns the newest candidate that is one of the given, or nil.
func (c *Client) among(revisions []mcp.Revision) *dialect.Facts {
	for _, f := range c.candidates {
		if slices.Contains(revisions, f.Revision) {
			return f
		}
	}
	return nil
}

// remembers reports whether the server was found to be one of an era before.
//
// Spec: 2026-07-28 basic/versioning#backward-compatibility
func (c *Client) remembers(era dialect.Era) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := dialect.Of(c.remembered)
	return f != nil && f.Era == era && slices.Contains(c.candidates, f)
}

func (c *Client) probeTimeout(otherwise time.Duration) time.Duration {
	if c.opts.Timeouts.Probe != 0 {
		return c.opts.Timeouts.Probe
	}
	return otherwise
}

func names(all []*dialect.Facts) string {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.Revision.String()
	}
	return strings.Join(texts, ", ")
}
