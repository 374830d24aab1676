// Package uritemplate expands URI templates of all four levels of RFC 6570 and
// matches URIs against them.
//
// # Matching
//
// RFC 6570 defines only expansion. Here a URI matches a template if expansion could have
// written it. Where that is ambiguous:
//
//   - Literals match the bytes that expansion writes.
//   - In {x} and {+x} every variable has a value that is not empty. In expressions whose
//     expansion begins with a character of its own, such as {/x} and {?x}, each variable
//     may be absent, and is then absent from the result.
//   - Values are percent-decoded. A value of {x} has a "/", "?" or "#" only if it was
//     encoded; {+x} accepts them literally. Other reserved characters and characters
//     outside ASCII are accepted literally everywhere, because some programs do not
//     encode them, except those that separate values.
//   - A value is always text: URIs whose decoded values are not UTF-8, or that have
//     characters that are not allowed in a URI, do not match.
//   - Named variables must be in the order of the template. In an exploded {?x*} only the
//     name x matches, so lists match and associative arrays do not.
//   - If a URI matches in several ways, the first variable gets the longest value for which
//     the rest of the template matches. A variable that occurs more than once must then
//     have the same value everywhere.
//
// Match gives segments such as ".." no meaning. Check refuses values that would lead out of
// their place in a path.
//
// The time to match is bounded by the length of the URI times that of the template.
package uritemplate

import (
	"fmt"
	"slices"
)

const (
	maxTemplateSize = 8 << 10
	maxVariables    = 64
	maxURISize      = 64 << 10
	maxPrefix       = 9999
)

// Template is a parsed URI template. It is immutable and safe for concurrent
// use.
type Template struct {
	text    string
	parts   []part
	program program
}

// part is an expanded literal or an expression.
type part struct {
	literal    string
	segments   []segment   // of the literal, as they are compared
	expression *expression // nil for a literal
}

// expression is the content of a pair of braces.
type expression struct {
	operator  *operator
	variables []*variable
}

// variable is one variable of one expression, with its modifier.
type variable struct {
	name    string
	explode bool
	prefix  int // maximum number of characters; 0 means all
}

// Parse reads a template of at most 8 KiB and 64 variables. The error has the
// cause and its byte position.
func Parse(text string) (*Template, error) {
	parts, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse template %.80q: %w", text, err)
	}
	at := inScheme
	for i, p := range parts {
		if at = at.after(p.expression); p.expression == nil {
			parts[i].segments = at.split(normalizeEncoding(p.literal))
		}
	}
	return &Template{text: text, parts: parts, program: compile(parts)}, nil
}

// String returns the text that was parsed.
func (t *Template) String() string { return t.text }

// Explodes reports whether the template has a variable of that name with the modifier "*", whose
// value is a list.
func (t *Template) Explodes(name string) bool {
	for v := range variables(t.parts) {
		if v.name == name && v.explode {
			return true
		}
	}
	return false
}

// Vars returns the names of the variables without duplicates, in the order in which they
// first occur.
func (t *Template) Vars() []string {
	var names []string
	for v := range variables(t.parts) {
		if !slices.Contains(names, v.name) {
			names = append(names, v.name)
		}
	}
	return names
}
