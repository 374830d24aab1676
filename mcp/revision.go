package mcp

import "fmt"

// Revision is a revision of the protocol. Its values are the variables V20241105,
// V20250326, V20250618, V20251125 and V20260728, and DraftV1. It is opaque: revisions can be
// compared for equality and printed, but they have no order, because a later
// revision need not have every feature of an earlier one. The zero Revision is
// no revision.
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
