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

// Feature is one thing that a server offers. Features embed Access and do not change
// once they are registered: another one takes their place.
type Feature interface {
	// Key names the feature among those of its kind: a name, a URI or a URI template.
	Key() string
	// Definition is what lists say of the feature, a pointer.
	Definition() any
	// Completes reports whether arguments of the feature can be completed.
	Completes() bool

	VisibleTo(who *mcp.Identity) bool
	Restricted() bool
	access() *Access
}

// Access says who may know of a feature and who may use it.
type Access struct {
	// Visible reports whether a principal may know of the feature. Nil: everybody may.
	Visible func(mcp.Principal) bool
	// Scopes are those that a caller needs to use the feature.
	Scopes []string

	hides bool // from those who were not granted the scopes
}

func (a *Access) access() *Access { return a }

// VisibleTo reports whether a caller may know of the feature. It depends on the
// caller's principal and scopes alone.
func (a *Access) VisibleTo(who *mcp.Identity) bool {
	if a.hides && !Granted(who, a.Scopes) {
		return false
	}
	if a.Visible == nil {
		return true
	}
	if who == nil {
		return a.Visible(mcp.PrincipalAnonymous)
	}
	return a.Visible(who.Principal)
}

// Restricted reports whether VisibleTo can be false.
func (a *Access) Restricted() bool { return a.Visible != nil || a.hides && len(a.Scopes) > 0 }

// Private reports whether some callers may not use the feature.
func (a *Access) Private() bool { return a.Restricted() || len(a.Scopes) > 0 }

// Granted reports whether a caller may use what needs the scopes. The user of this
// machine may use everything.
func Granted(who *mcp.Identity, scopes []string) bool {
	if len(scopes) == 0 {
		return true
	}
	return who != nil && (who.Principal == mcp.PrincipalLocal || !slices.ContainsFunc(scopes, func(scope string) bool {
		return !slices.Contains(who.Scopes, scope)
	}))
}

// looksLike reports whether no client can tell two features apart by lists. Those
// with a Visible function are not compared: it may be another.
func looksLike(a, b Feature) bool {
	x, y := a.access(), b.access()
	return x.Visible == nil && y.Visible == nil && slices.Equal(x.Scopes, y.Scopes) &&
		a.Completes() == b.Completes() && reflect.DeepEqual(a.Definition(), b.Definition())
}
