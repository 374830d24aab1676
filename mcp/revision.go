package mcp

import "fmt"

// Revision names one published revision of the protocol. It is opaque: two
// revisions can be compared for equality and printed, nothing else, because
// what a revision means is a matter of facts and not of order. The zero
// Revision is no revision.
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

// DraftV1 is a state of the draft in April 2026 that no revision has published:
// sessions as in V20251125 together with the standard headers of V20260728, which
// every message needs, and number arguments in headers. It is for peers of that
// time. It is none of Revisions, and is offered and served only where the options
// of a client or a server name it among their revisions.
var DraftV1 = Revision{"DRAFT-2026-v1"}

// Revisions returns every published revision known to this package, oldest first.
func Revisions() []Revision {
	return []Revision{V20241105, V20250326, V20250618, V20251125, V20260728}
}

// ParseRevision returns the published revision with the given name, and false when
// this package knows none of that name.
func ParseRevision(name string) (Revision, bool) {
	for _, r := range Revisions() {
		if r.name == name {
			return r, true
		}
	}
	return Revision{}, false
}

// String returns the name under which the revision travels on the wire.
func (r Revision) String() string { return r.name }

// IsZero reports whether r is no revision.
func (r Revision) IsZero() bool { return r == Revision{} }

// MarshalText writes the wire name of the revision.
func (r Revision) MarshalText() ([]byte, error) { return []byte(r.name), nil }

// UnmarshalText takes the wire name of a revision that this package knows.
func (r *Revision) UnmarshalText(text []byte) error {
	known, ok := ParseRevision(string(text))
	if !ok {
		return fmt.Errorf("revision %q: unknown, want one such as %s", text, V20260728)
	}
	*r = known
	return nil
}
