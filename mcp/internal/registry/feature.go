package registry

import (
	"reflect"
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

// Kind is one of the four sets of features that a server offers.
type Kind uint8

// The kinds of features.
const (
	Tools Kind = iota
	Resources
	Templates
	Prompts
	Kinds // their number
)

// Feature is a tool, resource, resource template or prompt of a server. Features embed Access
// and are immutable after registration: a change replaces the feature.
type Feature interface {
	// Key names the feature among those of its kind: a name, a URI or a URI template.
	Key() string
	// Definition returns a pointer to the definition of the feature in lists.
	Definition() any
	// Completes reports whether arguments of the feature can be completed.
	Completes() bool

	VisibleTo(who *mcp.Identity) bool
	Restricted() bool
	access() *Access
}

// Normalized is a Feature with a key that may have equals. It is found by each of them that is not the key of
// another feature.
type Normalized interface {
	// NormalKey is what all equals of the key have in common.
	NormalKey() string
}

// Access says which callers may see a feature and which may use it.
type Access struct {
	// Visible reports whether an identity, which is never nil, may see the feature. If Visible
	// is nil, all may.
	Visible func(*mcp.Identity) bool
	// Scopes are the scopes that a caller needs to use the feature.
	Scopes []string

	hides bool // hidden from callers without the scopes
	size  int  // bytes of the encoded definition
}

func (a *Access) access() *Access { return a }

// VisibleTo reports whether a caller may see the feature. It depends only on the caller's
// identity.
func (a *Access) VisibleTo(who *mcp.Identity) bool {
	if a.hides && !Granted(who, a.Scopes) {
		return false
	}
	if a.Visible == nil {
		return true
	}
	if who == nil {
		return a.Visible(new(mcp.Identity))
	}
	return a.Visible(who)
}

// Restricted reports whether VisibleTo can be false.
func (a *Access) Restricted() bool { return a.Visible != nil || a.hides && len(a.Scopes) > 0 }

// Private reports whether some callers may not use the feature.
func (a *Access) Private() bool { return a.Restricted() || len(a.Scopes) > 0 }

// Granted reports whether a caller has all of the scopes. The local user has every scope.
func Granted(who *mcp.Identity, scopes []string) bool {
	if len(scopes) == 0 {
		return true
	}
	return who != nil && (who.Principal == mcp.PrincipalLocal || !slices.ContainsFunc(scopes, func(scope string) bool {
		return !slices.Contains(who.Scopes, scope)
	}))
}

// looksLike reports whether two features are certainly equal in lists of all clients. It returns
// false for features with a Visible function, because functions cannot be compared.
func looksLike(a, b Feature) bool {
	x, y := a.access(), b.access()
	return x.Visible == nil && y.Visible == nil && slices.Equal(x.Scopes, y.Scopes) &&
		a.Completes() == b.Completes() && reflect.DeepEqual(a.Definition(), b.Definition())
}
