package mcptest

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// comparison compares messages by value, without the ignored members. These are JSON
// pointers, whose tokens may be *.
type comparison struct{ ignored [][]string }

// difference returns an error that names the first member in which two messages
// differ, or nil.
func (c *comparison) difference(want, got jsontext.Value) error { return c.compare(nil, want, got) }

func (c *comparison) compare(at []string, want, got jsontext.Value) error {
	switch {
	case c.ignores(at):
		return nil
	case want.Kind() == '{' && got.Kind() == '{':
		return c.compareObjects(at, want, got)
	case want.Kind() == '[' && got.Kind() == '[':
		return c.compareArrays(at, want, got)
	case !sameScalar(want, got):
		return fmt.Errorf("%s: got %s, want %s", pointerTo(at), orNothing(got), orNothing(want))
	}
	return nil
}

func (c *comparison) compareObjects(at []string, want, got jsontext.Value) error {
	w, g := decode[map[string]jsontext.Value](want), decode[map[string]jsontext.Value](got)
	names := slices.AppendSeq(slices.Collect(maps.Keys(w)), maps.Keys(g))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := c.compare(append(at, name), w[name], g[name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) compareArrays(at []string, want, got jsontext.Value) error {
	w, g := decode[[]jsontext.Value](want), decode[[]jsontext.Value](got)
	longest := max(len(w), len(g))
	w = append(w, make([]jsontext.Value, longest-len(w))...)
	g = append(g, make([]jsontext.Value, longest-len(g))...)
	for i := range longest {
		if err := c.compare(append(at, strconv.Itoa(i)), w[i], g[i]); err != nil {
			return err
		}
	}
	return nil
}

// ignores reports whether a pointer names the member at this place.
func (c *comparison) ignores(at []string) bool {
	return slices.ContainsFunc(c.ignored, func(pointer []string) bool {
		return slices.EqualFunc(pointer, at, func(token, name string) bool { return token == "*" || token == name })
	})
}

// sameScalar compares values of which at most one is an object or an array.
func sameScalar(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	if a == nil || b == nil || a.Canonicalize(exactly) != nil || b.Canonicalize(exactly) != nil {
		return a == nil && b == nil
	}
	return bytes.Equal(a, b)
}

// exactly keeps every digit of an integer.
var exactly = jsontext.CanonicalizeRawInts(false)

// decode decodes an array or object that is known to be one.
func decode[T any](raw jsontext.Value) (v T) {
	_ = json.Unmarshal(raw, &v)
	return v
}

func pointerTo(at []string) jsontext.Pointer {
	var p jsontext.Pointer
	for _, token := range at {
		p = p.AppendToken(token)
	}
	return p
}

func orNothing(v jsontext.Value) string {
	if v == nil {
		return "nothing"
	}
	return string(v)
}
