package config

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth limits how deep values nest.
const maxDepth = 64

var byteOrderMark = []byte("\xef\xbb\xbf")

// errDepth is returned for values that nest too deep.
var errDepth = fmt.Errorf("values nest deeper than %d", maxDepth)

// parseJSONC parses JSON with comments and trailing commas.
func (s *source) parseJSONC() (*node, *Diagnostic) {
	if len(bytes.TrimSpace(s.text())) == 0 {
		return nil, s.diagnostic(0, "", "found nothing, want an object")
	}
	root, err := readJSONC(s.text())
	if err != nil {
		return nil, s.syntaxError(err)
	}
	return nodeOf(root, len(s.content)-len(s.text())), nil
}

// text is the content without a byte order mark.
func (s *source) text() []byte { return bytes.TrimPrefix(s.content, byteOrderMark) }

// syntaxError returns the position of a syntax error, which the library gives only in its
// text.
func (s *source) syntaxError(err error) *Diagnostic {
	f := s.diagnostic(0, "", "%s", strings.TrimPrefix(err.Error(), "hujson: "))
	var line, column int
	if n, _ := fmt.Sscanf(f.Text, "line %d, column %d: ", &line, &column); n == 2 {
		f.Line, f.Column = line, column
		_, f.Text, _ = strings.Cut(f.Text, ": ")
	}
	return f
}

// readJSONC parses a text after checking its depth, because the library's recursion is
// not limited.
func readJSONC(text []byte) (hujson.Value, error) {
	if depthOf(text) > maxDepth {
		return hujson.Value{}, errDepth
	}
	return hujson.Parse(text)
}

// depthOf returns how deep brackets nest outside of strings and comments.
func depthOf(text []byte) int {
	depth, deepest := 0, 0
	for _, p := range scan(text, jsonQuotes) {
		for _, c := range p.bare {
			switch c {
			case '{', '[':
				depth++
				deepest = max(deepest, depth)
			case '}', ']':
				depth--
			}
		}
	}
	return deepest
}

// nodeOf converts a value of the library, which starts at an offset of the content.
func nodeOf(v hujson.Value, offset int) *node {
	n := &node{start: offset + v.StartOffset, end: offset + v.EndOffset}
	switch v := v.Value.(type) {
	case *hujson.Object:
		n.kind = kindObject
		for _, m := range v.Members {
			n.members = append(n.members, member{
				name:  m.Name.Value.(hujson.Literal).String(),
				start: offset + m.Name.StartOffset,
				value: nodeOf(m.Value, offset),
			})
		}
	case *hujson.Array:
		n.kind = kindArray
		for _, e := range v.Elements {
			n.elements = append(n.elements, nodeOf(e, offset))
		}
	case hujson.Literal:
		n.text = v.String()
		n.kind = map[hujson.Kind]kind{'"': kindString, '0': kindNumber, 'n': kindNull}[v.Kind()]
		if n.kind == "" {
			n.kind = kindBoolean
		}
	}
	return n
}
