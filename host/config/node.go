package config

import (
	"encoding/json/jsontext"
	"strconv"
)

// A node is a value of a file, in whichever language that is written.
type node struct {
	kind       kind
	start, end int      // offsets in the content; a table of TOML ends where it starts
	text       string   // a string, without its quotes; numbers and booleans as written
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

// A value is a node, and the way to it.
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

// named is a value that is reported where its name stands.
func (v value) named(m member) value {
	return value{&node{start: m.start}, v.pointer.AppendToken(m.name)}
}

// want reports whether a value is of a kind, and a fault if not.
func (s *source) want(v value, k kind) bool {
	if v.kind != k {
		s.fault(v, "found %s, want %s", v.kind, k)
	}
	return v.kind == k
}

// each calls f for the members of an object. Of members of the same name the
// second one is a fault: programs differ in which of them they take.
func (s *source) each(v value, f func(m member, v value)) {
	seen := make(map[string]int, len(v.members))
	for _, m := range v.members {
		if first, ok := seen[m.name]; ok {
			s.fault(v.named(m), "found a second %q, want one; the first is on line %d", m.name, s.line(first))
			continue
		}
		seen[m.name] = m.start
		f(m, v.of(m))
	}
}
