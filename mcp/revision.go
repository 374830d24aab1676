package mcp

import (
	"fmt"
	"slices"
)

// Revision is a revision of the protocol. Its values are the variables V20241105,
// V20250326, V20250618, V20251125 and V20260728, and DraftV1. It is opaque: revisions can be
// compared for equality and printed, but they have no order, because a later
// revision need not have every feature of an earlier one. What differs between them is a
// fact to ask for, such as Stateless. The zero Revision is no revision, and has no fact.
type Revision struct{ name string }

// The five published revisions. The first four are the session era
// (initialize, sessions, requests from the server); V20260728 is stateless.
var (
	V20241105 = Revision{"2024-11-05"}
	V20250326 = Revision{"2025-03-26"}
	V20250618 = Revision{"2025-06-18"}
	V20251125 = Revision{"2025-11-25"}
	V20260728 = Revision{"2026-07-28"}
)

// DraftV1 is the draft of April 2026, which was never published as a revision:
// it has sessions as in V20251125, requires the standard headers of V20260728
// on every message, and allows number arguments in headers. It is for peers
// that implement that draft. Revisions does not return it. Clients and servers
// use it only if their options list it among their revisions.
var DraftV1 = Revision{"DRAFT-2026-v1"}

// Revisions returns every published revision known to this package, oldest first.
func Revisions() []Revision {
	return []Revision{V20241105, V20250326, V20250618, V20251125, V20260728}
}

// ParseRevision returns the published revision with the given name. It reports false if this
// package knows no such revision.
func ParseRevision(name string) (Revision, bool) {
	for _, r := range Revisions() {
		if r.name == name {
			return r, true
		}
	}
	return Revision{}, false
}

// Each fact names the revisions that are the exceptions, so a revision that is published
// later has the facts of the newest one.

// Stateless reports whether the revision is of the stateless era: each request has its own
// metadata, and there are no sessions and no requests from the server.
func (r Revision) Stateless() bool {
	return r.isNoneOf(V20241105, V20250326, V20250618, V20251125, DraftV1)
}

// HasCompletionsCapability reports whether a server declares that it completes arguments.
// Before, every server may complete them.
func (r Revision) HasCompletionsCapability() bool { return r.isNoneOf(V20241105) }

// HasElicitation reports whether a server can ask for input of the user by a form.
func (r Revision) HasElicitation() bool { return r.isNoneOf(V20241105, V20250326) }

// HasURLElicitation reports whether a server can send the user to a URL, and clients
// declare the modes of elicitation that they support.
func (r Revision) HasURLElicitation() bool { return r.isNoneOf(V20241105, V20250326, V20250618) }

// HasSamplingTools reports whether a sampling request can have tools.
func (r Revision) HasSamplingTools() bool { return r.isNoneOf(V20241105, V20250326, V20250618) }

// HasFeatureMeta reports whether tools, resources, templates and prompts have _meta.
func (r Revision) HasFeatureMeta() bool { return r.isNoneOf(V20241105, V20250326) }

// HasCoreTasks reports whether tasks are part of the revision itself. Later they are an
// extension.
func (r Revision) HasCoreTasks() bool { return r == V20251125 }

// HasServerAuthorization reports whether a server without metadata is its own authorization
// server.
//
// Spec: 2025-03-26 basic/authorization
func (r Revision) HasServerAuthorization() bool { return r == V20250326 }

func (r Revision) isNoneOf(exceptions ...Revision) bool {
	return !r.IsZero() && !slices.Contains(exceptions, r)
}

// String returns the name of the revision on the wire.
func (r Revision) String() string { return r.name }

// IsZero reports whether r is no revision.
func (r Revision) IsZero() bool { return r == Revision{} }

// MarshalText writes the wire name of the revision.
func (r Revision) MarshalText() ([]byte, error) { return []byte(r.name), nil }

// UnmarshalText reads the wire name of a revision. An unknown name is an error.
func (r *Revision) UnmarshalText(text []byte) error {
	known, ok := ParseRevision(string(text))
	if !ok {
		return fmt.Errorf("revision %q: unknown, want one such as %s", text, V20260728)
	}
	*r = known
	return nil
}
