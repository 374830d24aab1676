package host

import "github.com/fondaco/fondaco/mcp"

// Trust says which definitions of an upstream wait for the user before clients see them.
type Trust string

// The values of Trust, the strictest first.
const (
	// TrustAsk: all definitions wait, those of the first list, too.
	TrustAsk Trust = "ask"
	// TrustBaseline: what the upstream lists at first is approved with it. Later new and
	// changed definitions wait.
	TrustBaseline Trust = "baseline"
	// TrustAuto: only definitions with findings wait.
	TrustAuto Trust = "auto"
)

// Trust returns the trust in the definitions of the upstream: that of its settings, else
// TrustAsk for a project's file and TrustBaseline for the user's own.
func (u *Upstream) Trust() Trust {
	switch {
	case u.Settings.Trust != "":
		return u.Settings.Trust
	case u.Origin.Project != "":
		return TrustAsk
	}
	return TrustBaseline
}

// DefinitionKind is a kind of definitions whose texts a model reads.
type DefinitionKind string

// The kinds of definitions. The name of instructions is empty; that of a template is its URI
// template.
const (
	KindInstructions DefinitionKind = "instructions"
	KindTool         DefinitionKind = "tool"
	KindPrompt       DefinitionKind = "prompt"
	KindTemplate     DefinitionKind = "resource template"
)

// Listing is what an upstream has listed over one connection.
type Listing struct {
	// Surface has the definitions, without the concrete resources.
	mcp.Surface
	// Version is that which the upstream says of itself.
	Version string
	// Unread are the kinds whose list could not be read.
	Unread []DefinitionKind
	// Capabilities names those of the clients that see the definitions. Empty means that
	// all clients see them.
	Capabilities string
	// Session means that only the caller of the connection sees the definitions, because
	// the upstream has added them in its session.
	Session bool
	// Initial has the names of what the upstream listed first after it had started, by kind.
	// What it lists besides was added while it ran. A kind without an entry is listed for the
	// first time.
	Initial map[DefinitionKind]map[string]bool
	// Others are the tools of the other upstreams by key.
	Others map[string][]string
}

// Added reports whether the upstream has added a definition while it ran.
func (l *Listing) Added(kind DefinitionKind, name string) bool {
	initial := l.Initial[kind]
	return initial != nil && !initial[name]
}

// Admitted is the part of a listing that clients may see.
type Admitted struct {
	mcp.Surface
	// Waiting are the definitions that wait for the user, in order of kind and name.
	Waiting []WaitingDefinition
	// Findings are those of new definitions that do not wait.
	Findings []WaitingDefinition
}

// WaitingDefinition is a definition that clients do not see until the user approves it.
type WaitingDefinition struct {
	Kind DefinitionKind `json:"kind"`
	Name string         `json:"name,omitzero"`
	// Change says how it differs from what was approved.
	Change DefinitionChange `json:"change"`
	// OldName is the name of a renamed definition before.
	OldName string `json:"oldName,omitzero"`
	// Findings are suspicious texts in it, described for people.
	Findings []string `json:"findings,omitempty"`
}

// DefinitionChange says how a definition differs from what was approved.
type DefinitionChange string

// The changes of definitions.
const (
	DefinitionAdded   DefinitionChange = "new"
	DefinitionChanged DefinitionChange = "changed"
	DefinitionRenamed DefinitionChange = "renamed"
	DefinitionRemoved DefinitionChange = "removed"
)
