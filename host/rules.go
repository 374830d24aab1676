package host

import (
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

// Rules say which tools of an upstream may be called, and which calls need the consent of
// their caller. Patterns match whole names of the upstream: '*' matches any characters,
// '?' matches one, every other character matches itself.
type Rules struct {
	// Allow are the tools that clients may see. Empty means all.
	Allow []string
	// Deny are tools that clients may not see although Allow matches them.
	Deny []string
	// Confirm are the rules on consent. The first one that matches decides. If none
	// matches, no consent is needed.
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
	// Destructive applies to all tools except those whose approved definition says that
	// they are not destructive.
	Destructive When = "destructive"
	Always      When = "always"
)

// Verdict is the result of applying the rules to a tool.
type Verdict int

// The verdicts.
const (
	// Allow permits calls.
	Allow Verdict = iota
	// Confirm permits calls to which the caller consents.
	Confirm
	// Deny hides the tool. Callers get the same error as for an unknown tool.
	Deny
)

// Verdict applies the rules to a tool, by the name and the annotations that the upstream
// gave it. Annotations cannot override Allow and Deny, and they avoid a question only
// under a rule that says Destructive.
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

// Check returns an error for an invalid rule.
func (r *Rules) Check() error {
	for _, rule := range r.Confirm {
		if !slices.Contains([]When{Never, Destructive, Always}, rule.When) {
			return fmt.Errorf("confirm %q: found %q, want %q, %q or %q", rule.Tools, rule.When, Never, Destructive, Always)
		}
	}
	return nil
}

// AuditsArguments reports whether the arguments of calls of a tool are recorded as text.
func (s *Settings) AuditsArguments(tool string) bool { return matchesAny(s.AuditArguments, tool) }

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// MatchPattern reports whether a pattern matches a whole text, as in Rules.
func MatchPattern(pattern, text string) bool { return matches(pattern, text) }

// matches compares in linear time. After a mismatch it backtracks to the last '*' only,
// which then matches one character more.
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
