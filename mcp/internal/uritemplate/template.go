// Package uritemplate expands URI templates of all four levels of RFC 6570 and
// matches URIs against them.
//
// # Matching
//
// RFC 6570 defines expansion only. A URI matches a template here if expansion
// could have written it, with these choices where that leaves room:
//
//   - Literals match as expansion writes them, byte for byte.
//   - In {x} and {+x} every variable is there and is not empty. In expressions
//     that begin with a character of their own, as {/x} and {?x}, any variable
//     may be absent, and is then absent from the result as well.
//   - Values are percent-decoded. A value of {x} holds a "/", "?" or "#" only if
//     that was encoded; {+x} takes them as they are. Other reserved characters
//     and characters beyond ASCII, which careless writers do not encode, are
//     taken as they are everywhere, except for what separates values.
//   - A value is always text: URIs whose decoded values are not UTF-8, or that
//     hold characters no URI may hold, match nothing.
//   - Named variables keep the order of the template. The names of an exploded
//     {?x*} are its own, so that lists match and associative arrays do not.
//   - Where several readings are possible, the first variable takes as much as
//     the rest of the template permits. A variable that occurs more than once
//     has to have the same value everywhere in that reading.
//
// Segments like ".." have no meaning here: they are data, and what a value may
// name is for its user to check after decoding.
//
// The time to match grows at most with the length of the URI times that of the
// template, whatever the two contain.
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

// part is a literal, in the form in which it is expanded, or an expression.
type part struct {
	literal    string
	expression *expression // nil for a literal
}

// expression is what stands between braces.
type expression struct {
	operator  *operator
	variables []*variable
}

// variable is one variable of one expression, with its modifier.
type variable struct {
	name    string
	explode bool
	prefix  int // greatest number of characters, 0 for all
}

// Parse reads a template of at most 8 KiB and 64 variables. The error says what
// is wrong and at which byte.
func Parse(text string) (*Template, error) {
	parts, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse template %.80q: %w", text, err)
	}
	return &Template{text: text, parts: parts, program: compile(parts)}, nil
}

// String returns the text that was parsed.
func (t *Template) String() string { return t.text }

// Vars returns the names of the variables in the order in which they first
// occur, each once.
func (t *Template) Vars() []string {
	var names []string
	for v := range variables(t.parts) {
		if !slices.Contains(names, v.name) {
			names = append(names, v.name)
		}
	}
	return names
}
