package mcpclient

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// maxPriorAge bounds the age of a Prior whose capabilities are used.
const maxPriorAge = 24 * time.Hour

// Prior is the result of an earlier negotiation with a server. Client.Prior returns it,
// Options.Prior uses it, and as JSON it can be stored between two runs of a program. It
// belongs to one server and one principal, because a server may show each principal other
// features.
type Prior struct {
	// Revision is the negotiated revision.
	Revision mcp.Revision `json:"revision"`
	// Server, Capabilities and Instructions are what the server has declared.
	Server       mcp.Implementation     `json:"server"`
	Capabilities mcp.ServerCapabilities `json:"capabilities"`
	Instructions string                 `json:"instructions,omitzero"`
	// At is when the server declared them. Zero means that only Revision is known.
	At time.Time `json:"at,omitzero"`
}

// Prior returns the result of the negotiation with the server, for Options.Prior of later
// clients. If the client itself used a Prior that the server has not refused, it returns
// that one, with its time.
func (c *Client) Prior() *Prior {
	a := c.agreement()
	p := &Prior{Revision: a.dialect.Facts.Revision, Server: a.server, Capabilities: a.capabilities, Instructions: a.instructions, At: a.at}
	return p.copied()
}

// copied returns a copy: changes of p have no effect on it.
func (p *Prior) copied() *Prior {
	if p == nil {
		return nil
	}
	q := *p
	q.Server.Icons, q.Server.Extra = slices.Clone(p.Server.Icons), slices.Clone(p.Server.Extra)
	caps := &q.Capabilities
	caps.Tools, caps.Resources, caps.Prompts = copyPointer(caps.Tools), copyPointer(caps.Resources), copyPointer(caps.Prompts)
	caps.Completions, caps.Logging, caps.Tasks = copyPointer(caps.Completions), copyPointer(caps.Logging), copyPointer(caps.Tasks)
	caps.Extensions, caps.Experimental = maps.Clone(caps.Extensions), maps.Clone(caps.Experimental)
	return &q
}

// takePrior returns the agreement of Options.Prior for the first connection of the client,
// and nil for all others. It returns nil, too, if the Prior is of the session era, of a
// revision that the client may not use, or too old.
func (c *Client) takePrior() *agreement {
	c.mu.Lock()
	p := c.prior
	c.prior = nil
	c.mu.Unlock()
	if p == nil || p.At.IsZero() || time.Since(p.At) > maxPriorAge {
		return nil
	}
	f := dialect.Of(p.Revision)
	if f == nil || f.Era != dialect.StatelessEra || !slices.Contains(c.candidates, f) {
		return nil
	}
	d, err := c.dialectFor(f)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	c.lastRevision = mcp.Revision{} // until the server confirms it
	c.mu.Unlock()
	return &agreement{dialect: d, server: p.Server, capabilities: p.Capabilities, instructions: p.Instructions, at: p.At}
}

// checkPrior is called with the error of a request. If the connection uses Options.Prior,
// the server has not answered a request there yet, and the error may be that of a server of
// the session era, it asks the server. A server of the session era gets a new connection,
// which negotiates as usual. checkPrior reports whether to send the request again there,
// because such servers refuse requests before initialize.
func (c *Client) checkPrior(ctx context.Context, k *connection, err error) (again bool) {
	switch {
	case !k.assumed.Load():
		return false
	case ctx.Err() != nil: // silence may be a refusal, too: ask for the sake of later requests
		c.goTracked(func() { c.refusesPrior(c.ctx, k) })
		return false
	case isModern(err): // mayRetry handles it
		if mcp.CodeOf(err) != mcp.CodeUnsupportedVersion {
			k.confirm()
		}
		return false
	case !mayRefuseEra(err) || !c.refusesPrior(ctx, k):
		return false
	}
	next, failed := c.currentConnection(ctx)
	return failed == nil && !next.stateless() && mcp.CodeOf(err) != mcp.CodeInternal
}

// refusesPrior sends server/discover over a connection that uses Options.Prior. It reports
// whether the server is not of the stateless era; the connection is then ended.
func (c *Client) refusesPrior(ctx context.Context, k *connection) bool {
	n := &negotiation{connection: k, probeTimeout: c.probeTimeout(connProbeTimeout)}
	if k.http {
		n.probeTimeout = c.probeTimeout(httpProbeTimeout)
	}
	err := n.discoverWithin(ctx, n.probeTimeout)
	if err == nil {
		k.confirm()
		return false
	}
	return (errors.Is(err, errLegacy) || errors.Is(err, errProbeFatal)) && c.renegotiate(k)
}

// confirm records that the server has answered in the revision that the client assumed.
func (k *connection) confirm() {
	if !k.assumed.Swap(false) {
		return
	}
	c := k.client
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastRevision = k.dialect().Facts.Revision
}

// isModern reports whether err is certainly of a server of the stateless era.
func isModern(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && e.Remote && dialect.IsModernError(&jsonrpc.Error{Code: e.Number, Data: e.Data})
}

// mayRefuseEra reports whether err may be how a server of the session era refuses a
// request without a session.
func mayRefuseEra(err error) bool {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return e.Remote
	}
	if e, ok := errors.AsType[*httpclient.StatusError](err); ok {
		return slices.Contains([]int{400, 404, 405, 406, 415}, e.Status)
	}
	_, violation := errors.AsType[*dialect.ProtocolError](err)
	return violation
}
