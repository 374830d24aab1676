package gateway

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// callerCapabilities are the client capabilities that a caller has and the host relays. A
// connection declares those of its caller. Sampling with the context of servers is not
// among them: the client sees all upstreams as one server, and no upstream may read what
// another one sent.
type callerCapabilities struct {
	form, url     bool
	sample, tools bool
	roots         bool
	rootChanges   bool // roots.listChanged
}

// capabilitiesOf returns the capabilities that the sender of a request has declared, as
// far as its revision defines them.
func capabilitiesOf(r *mcpserver.Request) callerCapabilities {
	return capabilitiesIn(r.Revision(), r.Capabilities())
}

// capabilitiesIn returns declared capabilities as far as a revision defines them.
func capabilitiesIn(r mcp.Revision, declared mcp.ClientCapabilities) callerCapabilities {
	can := capabilitiesFrom(declared)
	switch r {
	case mcp.V20241105, mcp.V20250326:
		can.form, can.url, can.tools = false, false, false
	case mcp.V20250618:
		can.form, can.url, can.tools = declared.Elicitation != nil, false, false
	}
	return can
}

func capabilitiesFrom(c mcp.ClientCapabilities) callerCapabilities {
	return callerCapabilities{
		form:        c.Elicitation.CanForm(),
		url:         c.Elicitation.CanURL(),
		sample:      c.Sampling != nil,
		tools:       c.Sampling != nil && c.Sampling.Tools != nil,
		roots:       c.Roots != nil,
		rootChanges: c.Roots != nil && c.Roots.ListChanged,
	}
}

// lacks reports whether need contains a capability that the caller does not have.
func (have callerCapabilities) lacks(need callerCapabilities) bool {
	return need.form && !have.form || need.url && !have.url ||
		need.sample && !have.sample || need.tools && !have.tools || need.roots && !have.roots
}

// declareCapabilities makes a client declare the capabilities of the connection's caller that the
// upstream may use. The connection relays the questions of the server to that caller, whose
// client decides what its user sees.
func (u *upstream) declareCapabilities(o *mcpclient.Options, caps callerCapabilities, conn *connection) {
	caps = u.relayed(caps)
	o.Ask.AllowSecretFields = true // relayedQuestion decides
	if caps.form {
		o.ElicitForm = askCallerFunc[mcp.ElicitParams, mcp.ElicitResult](u, conn, mcp.MethodElicit)
	}
	if caps.url {
		elicitURL := askCallerFunc[mcp.ElicitParams, mcp.ElicitResult](u, conn, mcp.MethodElicit)
		o.ElicitURL = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if err := u.elicitedURLs.add(conn.session, conn.owner, p); err != nil {
				return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: %v", mcp.MethodElicit, err)
			}
			return elicitURL(ctx, p)
		}
	}
	if caps.sample {
		o.Sample = askCallerFunc[mcp.CreateMessageParams, mcp.CreateMessageResult](u, conn, mcp.MethodCreateMessage)
	}
	if caps.tools {
		o.Capabilities.Sampling = &mcp.SamplingCapability{Tools: new(mcp.Capability)}
	}
	if caps.roots {
		askRoots := askCallerFunc[mcp.EmptyParams, mcp.ListRootsResult](u, conn, mcp.MethodRootsList)
		o.Capabilities.Roots = &mcp.RootsCapability{ListChanged: caps.rootChanges}
		o.Ask.RootsInterval = -1 // the roots may be on another machine
		o.Roots = func(ctx context.Context) ([]mcp.Root, error) {
			answer, err := askRoots(ctx, new(mcp.EmptyParams))
			return answer.Roots, err
		}
	}
}

// askCallerFunc returns a function that relays a question of the upstream to the caller of a
// connection. The answer is never nil.
func askCallerFunc[Params, Answer any](u *upstream, conn *connection, method string) func(context.Context, *Params) (*Answer, error) {
	return func(ctx context.Context, p *Params) (*Answer, error) {
		answer := new(Answer)
		relayed, err := u.relayedQuestion(method, p)
		if err == nil {
			err = conn.askCaller(ctx, method, relayed, answer)
		}
		return answer, err
	}
}
