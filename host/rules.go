package host

import (
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

// Rules say which tools of an upstream may be called, and which calls need the
// consent of their caller. Patterns match whole names as the upstream has them:
// '*' stands for any characters, '?' for one, everything else for itself.
type Rules struct {
	// Allow are the tools that clients may know of. Empty means all.
	Allow []string
	// Deny are those of them that they may not know of after all.
	Deny []string
	// Confirm are rules on consent. The first one that matches decides; without
	// one nothing needs consent.
	Confirm []ConfirmRule
}

// ConfirmRule says when calls of the tools that a pattern matches need consent.
type ConfirmRule struct {
	Tools string
	When  When
}

// When says when calls need consent.
type When string

// The values of When.
const (
	Never When = "never"
	// Destructive is for tools that may destroy something: all but those whose
	// definition, which was approved, says that they do not.
	Destructive When = "destructive"
	Always      When = "always"
)

// Verdict is what the rules say of a tool.
type Verdict int

// The verdicts.
const (
	// Allow lets calls pass.
	Allow Verdict = iota
	// Confirm lets calls pass to which the caller consents.
	Confirm
	// Deny hides the tool: it cannot be told from one that does not exist.
	Deny
)

// Verdict returns what the rules say of a tool, by the name and the annotations
// that the upstream gave it. What a tool says of itself never gets it past Allow
// and Deny, and spares it a question only under a rule that says Destructive.
func (r *Rules) Verdict(t *mcp.Tool) Verdict {
	if len(r.Allow) > 0 && !matchesAny(r.Allow, t.Name) || matchesAny(r.Deny, t.Name) {
		return Deny
	}
	for _, rule := range r.Confirm {
		if !matches(rule.Tools, t.Name) {
			continue
		}
		if rule.When == Never || rule.When == Destructive && !t.Annotations.Destructive() {
			return Allow
		}
		return Confirm
	}
	return Allow
}

// Check reports a rule that makes no sense.
func (r *Rules) Check() error {
	for _, rule := range r.Confirm {
		if !slices.Contains([]When{Never, Destructive, Always}, rule.When) {
			return fmt.Errorf("confirm %q: found %q, want %q, %q or %q", rule.Tools, rule.When, Never, Destructive, Always)
		}
	}
	return nil
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// matches goes through both texts once, and on a mismatch back to the last '*'
// alone, which then takes one character more.
func matches(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, taken := -1, 0
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, taken = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case star >= 0:
			taken++
			i, j = star+1, taken
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
