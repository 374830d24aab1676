package skills

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of frontmatter, in bytes and in levels.
const (
	maxFrontmatter = 64 << 10
	maxNesting     = 32
)

// frontmatter returns the frontmatter of a SKILL.md as a JSON object.
func frontmatter(manifest []byte) (jsontext.Value, error) {
	text, err := cutFrontmatter(manifest)
	if err != nil {
		return nil, fmt.Errorf("frontmatter: %w", err)
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("frontmatter: %w", err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("frontmatter: want one YAML document")
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("frontmatter: want a YAML mapping")
	}
	var out bytes.Buffer
	if err := encode(jsontext.NewEncoder(&out), doc.Content[0], 0); err != nil {
		return nil, fmt.Errorf("frontmatter: %w", err)
	}
	return jsontext.Value(bytes.TrimSpace(out.Bytes())), nil
}

// cutFrontmatter returns the text between the lines of three hyphens.
func cutFrontmatter(manifest []byte) ([]byte, error) {
	if !utf8.Valid(manifest) {
		return nil, errors.New("want UTF-8")
	}
	rest, opened := cutFence(bytes.TrimPrefix(manifest, []byte("\uFEFF")))
	if !opened {
		return nil, errors.New("want --- on the first line")
	}
	for at := 0; at <= min(len(rest), maxFrontmatter); {
		if _, closed := cutFence(rest[at:]); closed {
			return rest[:at], nil
		}
		n := bytes.IndexByte(rest[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	return nil, fmt.Errorf("want a line --- at its end, within %d bytes", maxFrontmatter)
}

// cutFence removes a line of three hyphens from the start.
func cutFence(text []byte) (rest []byte, ok bool) {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	return rest, string(bytes.TrimRight(line, " \t\r")) == "---"
}

// encode writes a YAML node as JSON. YAML without an equivalent in JSON, such as a
// reference, is an error, because an approximation would change the author's text.
func encode(enc *jsontext.Encoder, n *yaml.Node, depth int) error {
	switch {
	case depth > maxNesting:
		return fmt.Errorf("line %d: nested deeper than %d levels", n.Line, maxNesting)
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: found an anchor or a reference, which are not supported", n.Line)
	case n.Style&yaml.TaggedStyle != 0:
		return fmt.Errorf("line %d: found a tag, which is not supported", n.Line)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return encodeMapping(enc, n, depth)
	case yaml.SequenceNode:
		return encodeSequence(enc, n, depth)
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return enc.WriteToken(jsontext.String(n.Value))
	}
	return encodePlain(enc, n)
}

func encodeMapping(enc *jsontext.Encoder, n *yaml.Node, depth int) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Tag == "!!merge" {
			return fmt.Errorf("line %d: want a string as the key", key.Line)
		}
		if err := enc.WriteToken(jsontext.String(key.Value)); err != nil { // also when it is there twice
			return fmt.Errorf("line %d: %w", key.Line, err)
		}
		if err := encode(enc, n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func encodeSequence(enc *jsontext.Encoder, n *yaml.Node, depth int) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, item := range n.Content {
		if err := encode(enc, item, depth+1); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}

var (
	decimal     = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	otherInt    = regexp.MustCompile(`^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	otherFloat  = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	notANumeral = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// encodePlain writes a scalar without quotes.
//
// Spec: YAML 1.2.2 10.3.2 (core schema)
func encodePlain(enc *jsontext.Encoder, n *yaml.Node) error {
	switch v := n.Value; {
	case v == "" || v == "~" || v == "null" || v == "Null" || v == "NULL":
		return enc.WriteToken(jsontext.Null)
	case v == "true" || v == "True" || v == "TRUE":
		return enc.WriteToken(jsontext.True)
	case v == "false" || v == "False" || v == "FALSE":
		return enc.WriteToken(jsontext.False)
	case decimal.MatchString(v):
		return enc.WriteValue(jsontext.Value(v))
	case notANumeral.MatchString(v):
		return fmt.Errorf("line %d: %s: JSON has no such number", n.Line, v)
	case otherInt.MatchString(v):
		return encodeInt(enc, n)
	case otherFloat.MatchString(v):
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		return enc.WriteToken(jsontext.Float(f))
	default:
		return enc.WriteToken(jsontext.String(v))
	}
}

func encodeInt(enc *jsontext.Encoder, n *yaml.Node) error {
	base := 10
	if len(n.Value) > 1 && (n.Value[1] == 'o' || n.Value[1] == 'x') {
		base = 0
	}
	i, err := strconv.ParseInt(n.Value, base, 64)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return enc.WriteToken(jsontext.Int(i))
}

// sameJSON reports whether two values are equal, whatever the order of members and the
// notation of strings and numbers.
func sameJSON(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}
