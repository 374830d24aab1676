package config

import (
	"bytes"
	"errors"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML parses TOML. The library's decoder validates the text, and its parser, which
// gives positions, provides the nodes.
func (s *source) parseTOML() (*node, *Diagnostic) {
	var discarded map[string]any
	if err := toml.Unmarshal(s.text(), &discarded); err != nil {
		f := s.diagnostic(0, "", "%v", err)
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			f.Line, f.Column = e.Position()
		}
		return nil, f
	}
	t := tables{offset: len(s.content) - len(s.text()), root: &node{kind: kindObject}}
	t.current = t.root
	t.parser.Reset(s.text())
	for t.parser.NextExpression() {
		t.add(t.parser.Expression())
	}
	if err := t.parser.Error(); err != nil {
		return nil, s.diagnostic(0, "", "%v", err)
	}
	return t.root, nil
}

// tables builds nodes from the expressions of a valid file.
type tables struct {
	parser  unstable.Parser
	offset  int // of the parser's text in the content
	root    *node
	current *node // the table that keys belong to
}

func (t *tables) add(e *unstable.Node) {
	switch e.Kind {
	case unstable.KeyValue:
		t.set(t.current, e)
	case unstable.Table:
		t.current = t.table(t.root, t.keys(e))
	case unstable.ArrayTable:
		keys := t.keys(e)
		last := keys[len(keys)-1]
		parent := t.table(t.root, keys[:len(keys)-1])
		list := parent.member(last.name)
		if list == nil {
			list = &node{kind: kindArray, start: last.start, end: last.start}
			parent.members = append(parent.members, member{last.name, last.start, list})
		}
		t.current = &node{kind: kindObject, start: last.start, end: last.start}
		list.elements = append(list.elements, t.current)
	}
}

// keys returns the parts of a dotted key.
func (t *tables) keys(e *unstable.Node) (keys []member) {
	for it := e.Key(); it.Next(); {
		k := it.Node()
		keys = append(keys, member{name: string(k.Data), start: t.offset + int(k.Raw.Offset)})
	}
	return keys
}

// table returns the table of a dotted key, and creates missing ones. For an array of
// tables it is the last one.
func (t *tables) table(from *node, keys []member) *node {
	for _, k := range keys {
		next := from.member(k.name)
		if next == nil {
			next = &node{kind: kindObject, start: k.start, end: k.start}
			from.members = append(from.members, member{k.name, k.start, next})
		}
		if next.kind == kindArray && len(next.elements) > 0 {
			next = next.elements[len(next.elements)-1]
		}
		from = next
	}
	return from
}

func (t *tables) set(in *node, e *unstable.Node) {
	keys := t.keys(e)
	last := keys[len(keys)-1]
	parent := t.table(in, keys[:len(keys)-1])
	parent.members = append(parent.members, member{last.name, last.start, t.value(e.Value(), last.start)})
}

// value converts a value. Arrays and inline tables have no position of their own, and get
// that of their key.
func (t *tables) value(v *unstable.Node, start int) *node {
	n := &node{start: start, end: start, text: string(v.Data)}
	if v.Raw.Length > 0 {
		n.start = t.offset + int(v.Raw.Offset)
		n.end = n.start + int(v.Raw.Length)
	}
	switch v.Kind {
	case unstable.String:
		n.kind = kindString
	case unstable.Bool:
		n.kind = kindBoolean
	case unstable.Integer, unstable.Float:
		n.kind = kindNumber
	case unstable.Array:
		n.kind = kindArray
		for it := v.Children(); it.Next(); {
			n.elements = append(n.elements, t.value(it.Node(), n.start))
		}
	case unstable.InlineTable:
		n.kind = kindObject
		for it := v.Children(); it.Next(); {
			t.set(n, it.Node())
		}
	default:
		n.kind = kindTime
	}
	return n
}

// tomlString writes a string of TOML.
func tomlString(s string) string {
	text, err := toml.Marshal(map[string]string{"s": s})
	if err != nil {
		return `""`
	}
	return string(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("s = "))))
}
