package config

import (
	"encoding/json/jsontext"
	"strconv"
)

// A node is a value of a file, independent of the file's language.
type node struct {
	kind       kind
	start, end int      // offsets in the content; a TOML table ends where it starts
	text       string   // a string without quotes; numbers and booleans as written
	members    []member // of an object, in the order of the file
	elements   []*node  // of an array
}

type member struct {
	name  string
	start int // of the name
	value *node
}

type kind string

const (
	kindObject  kind = "an object"
	kindArray   kind = "an array"
	kindString  kind = "a string"
	kindNumber  kind = "a number"
	kindBoolean kind = "a boolean"
	kindNull    kind = "null"
	kindTime    kind = "a time" // in TOML
)

// member returns the member of an object with a name, or nil.
func (n *node) member(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// A value is a node with its JSON pointer.
type value struct {
	*node
	pointer jsontext.Pointer
}

func (v value) of(m member) value {
	return value{m.value, v.pointer.AppendToken(m.name)}
}

func (v value) at(i int) value {
	return value{v.elements[i], v.pointer.AppendToken(strconv.Itoa(i))}
}

// named is a value at the position of a member's name, for diagnostics.
func (v value) named(m member) value {
	return value{&node{start: m.start}, v.pointer.AppendToken(m.name)}
}

// requireKind reports whether a value has a kind. If not, it adds an error.
func (s *source) requireKind(v value, k kind) bool {
	if v.kind != k {
		s.addError(v, "found %s, want %s", v.kind, k)
	}
	return v.kind == k
}

// each calls f for the members of an object. A duplicate name is an error, because
// programs differ in which of the two they use.
func (s *source) each(v value, f func(m member, v value)) {
	seen := make(map[string]int, len(v.members))
	for _, m := range v.members {
		if first, ok := seen[m.name]; ok {
			s.addError(v.named(m), "found a second %q, want one; the first is on line %d", m.name, s.line(first))
			continue
		}
		seen[m.name] = m.start
		f(m, v.of(m))
	}
}
