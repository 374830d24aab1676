package link

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Caller identifies who has a connection of its own: a session or, in the stateless era,
// a principal with the capabilities that its request declares.
type Caller struct {
	Principal    mcp.Principal
	Session      *mcpserver.Session // or nil
	Capabilities Capabilities       // in the stateless era each request declares them
}

// CallerOf returns the caller of a request.
func CallerOf(r *mcpserver.Request) Caller {
	return Caller{Principal: r.Principal(), Session: r.Session(), Capabilities: CapabilitiesOf(r)}
}

// Capabilities are the client capabilities that a caller has and the host relays. A
// connection declares those of its caller. Sampling with the context of servers is not
// among them: the client sees all upstreams as one server, and no upstream may read what
// another one sent.
type Capabilities struct {
	Form, URL     bool
	Sample, Tools bool
	Roots         bool
	RootChanges   bool // roots.listChanged
}

// CapabilitiesOf returns the capabilities that the sender of a request has declared, as
// far as its revision defines them.
func CapabilitiesOf(r *mcpserver.Request) Capabilities {
	return CapabilitiesIn(r.Revision(), r.Capabilities())
}

// CapabilitiesIn returns declared capabilities as far as a revision defines them.
func CapabilitiesIn(r mcp.Revision, declared mcp.ClientCapabilities) Capabilities {
	can := CapabilitiesFrom(declared)
	if !r.HasURLElicitation() {
		can.Form, can.URL = r.HasElicitation() && declared.Elicitation != nil, false
	}
	can.Tools = can.Tools && r.HasSamplingTools()
	return can
}

// CapabilitiesFrom returns declared capabilities, whatever the revision.
func CapabilitiesFrom(c mcp.ClientCapabilities) Capabilities {
	return Capabilities{
		Form:        c.Elicitation.CanForm(),
		URL:         c.Elicitation.CanURL(),
		Sample:      c.Sampling != nil,
		Tools:       c.Sampling != nil && c.Sampling.Tools != nil,
		Roots:       c.Roots != nil,
		RootChanges: c.Roots != nil && c.Roots.ListChanged,
	}
}

// Lacks reports whether need contains a capability that the caller does not have.
func (have Capabilities) Lacks(need Capabilities) bool {
	return need.Form && !have.Form || need.URL && !have.URL ||
		need.Sample && !have.Sample || need.Tools && !have.Tools || need.Roots && !have.Roots
}

// ForLists returns the capabilities on which lists of servers may depend.
func (have Capabilities) ForLists() Capabilities {
	have.RootChanges = false
	return have
}

// Names names the capabilities on which lists may depend.
func (have Capabilities) Names() string {
	var names []string
	for name, has := range map[string]bool{
		"elicitation": have.Form, "elicitation of URLs": have.URL, "sampling": have.Sample, "sampling with tools": have.Tools, "roots": have.Roots,
	} {
		if has {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return cmp.Or(strings.Join(names, ", "), "none")
}
