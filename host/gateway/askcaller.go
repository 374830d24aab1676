package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// declareCapabilities makes a client declare the capabilities of the connection's caller that the
// upstream may use. The connection relays the questions of the server to that link.Caller, whose
// client decides what its user sees.
func (u *upstream) declareCapabilities(o *mcpclient.Options, caps link.Capabilities, conn *link.Conn) {
	caps = u.relayed(caps)
	o.Ask.AllowSecretFields = true // relayedQuestion decides
	if caps.Form {
		o.ElicitForm = askCallerFunc[mcp.ElicitParams, mcp.ElicitResult](u, conn, mcp.MethodElicit)
	}
	if caps.URL {
		elicitURL := askCallerFunc[mcp.ElicitParams, mcp.ElicitResult](u, conn, mcp.MethodElicit)
		o.ElicitURL = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if err := u.elicitedURLs.add(conn.Session, conn.Owner, p); err != nil {
				return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: %v", mcp.MethodElicit, err)
			}
			return elicitURL(ctx, p)
		}
	}
	if caps.Sample {
		o.Sample = askCallerFunc[mcp.CreateMessageParams, mcp.CreateMessageResult](u, conn, mcp.MethodCreateMessage)
	}
	if caps.Tools {
		o.Capabilities.Sampling = &mcp.SamplingCapability{Tools: new(mcp.Capability)}
	}
	if caps.Roots {
		askRoots := askCallerFunc[mcp.EmptyParams, mcp.ListRootsResult](u, conn, mcp.MethodRootsList)
		o.Capabilities.Roots = &mcp.RootsCapability{ListChanged: caps.RootChanges}
		o.Ask.RootsInterval = -1 // the roots may be on another machine
		o.Roots = func(ctx context.Context) ([]mcp.Root, error) {
			answer, err := askRoots(ctx, new(mcp.EmptyParams))
			return answer.Roots, err
		}
	}
}

// askCallerFunc returns a function that relays a question of the upstream to the caller of a
// connection. The answer is never nil.
func askCallerFunc[Params, Answer any](u *upstream, conn *link.Conn, method string) func(context.Context, *Params) (*Answer, error) {
	return func(ctx context.Context, p *Params) (*Answer, error) {
		answer := new(Answer)
		relayed, err := u.relayedQuestion(method, p)
		if err == nil {
			err = conn.Ask(ctx, method, relayed, answer)
		}
		return answer, err
	}
}
