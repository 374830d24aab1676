package gateway

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// abilities are what a caller can be asked for, and so what its lines declare.
// What includes the context of servers is not among them: to the client all
// upstreams are one server, and none of them is to see what another has said.
type abilities struct {
	form, url     bool
	sample, tools bool
	roots         bool
	rootChanges   bool // are told
}

// abilitiesOf returns what the sender of a request has declared, as far as its
// revision has words for it.
func abilitiesOf(r *mcpserver.Request) abilities {
	can := abilitiesIn(r.Capabilities())
	switch r.Revision() {
	case mcp.V20241105, mcp.V20250326:
		can.form, can.url, can.tools = false, false, false
	case mcp.V20250618:
		can.form, can.url, can.tools = r.Capabilities().Elicitation != nil, false, false
	}
	return can
}

func abilitiesIn(c mcp.ClientCapabilities) abilities {
	return abilities{
		form:        c.Elicitation.CanForm(),
		url:         c.Elicitation.CanURL(),
		sample:      c.Sampling != nil,
		tools:       c.Sampling != nil && c.Sampling.Tools != nil,
		roots:       c.Roots != nil,
		rootChanges: c.Roots != nil && c.Roots.ListChanged,
	}
}

// lack reports whether there is something in need that a caller cannot do.
func (can abilities) lack(need abilities) bool {
	return need.form && !can.form || need.url && !can.url ||
		need.sample && !can.sample || need.tools && !can.tools || need.roots && !can.roots
}

// declare has a client declare the abilities of the caller that a line is for,
// and the line put to that caller what the server asks. Whether a user is to see
// it is for the caller to judge.
func (u *upstream) declare(o *mcpclient.Options, can abilities, l *line) {
	o.AllowSecretFields = true
	if can.form {
		o.Elicit = putting[mcp.ElicitParams, mcp.ElicitResult](l, mcp.MethodElicit)
	}
	if can.url {
		visit := putting[mcp.ElicitParams, mcp.ElicitResult](l, mcp.MethodElicit)
		o.Visit = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			u.visits.note(p)
			return visit(ctx, p)
		}
	}
	if can.sample {
		o.Sample = putting[mcp.CreateMessageParams, mcp.CreateMessageResult](l, mcp.MethodCreateMessage)
	}
	if can.tools {
		o.Capabilities.Sampling = &mcp.SamplingCapability{Tools: new(mcp.Capability)}
	}
	if can.roots {
		o.Capabilities.Roots = &mcp.RootsCapability{ListChanged: can.rootChanges}
		o.RootsInterval = -1 // the roots are those of another machine, maybe
		o.Roots = func(ctx context.Context) ([]mcp.Root, error) {
			var answer mcp.ListRootsResult
			err := l.put(ctx, mcp.MethodRootsList, &mcp.EmptyParams{}, &answer)
			return answer.Roots, err
		}
	}
}

func putting[Params, Answer any](l *line, method string) func(context.Context, *Params) (*Answer, error) {
	return func(ctx context.Context, p *Params) (*Answer, error) {
		answer := new(Answer)
		err := l.put(ctx, method, asOurs(p), answer)
		return answer, err
	}
}
