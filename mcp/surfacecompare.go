package mcp

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"slices"
)

// SurfaceChange is one difference between two surfaces of a server.
type SurfaceChange struct {
	// Subject is the feature, such as `tool "add"`, or "instructions".
	Subject string
	// Member locates the difference in its definition, such as
	// /inputSchema/properties/a/type. It is empty for the feature as a whole.
	Member jsontext.Pointer
	// Text says what has changed.
	Text string
	// Breaking reports whether a client or model that works with the old surface can fail
	// with the new one. All other changes are compatible.
	Breaking bool
}

// String returns the verdict, breaking or compatible, and what has changed where.
func (c SurfaceChange) String() string {
	verdict := "compatible"
	if c.Breaking {
		verdict = "breaking"
	}
	if c.Member == "" {
		return fmt.Sprintf("%s: %s: %s", verdict, c.Subject, c.Text)
	}
	return fmt.Sprintf("%s: %s: %s: %s", verdict, c.Subject, c.Member, c.Text)
}

// Compare returns what changed from s to newer: of each feature by name or URI, in their
// order. It returns nil if and only if both have the same fingerprint. It fails if a raw
// member is not valid JSON.
//
// Breaking are: a feature, property or argument that is removed; arguments that were valid
// and no longer are; results that were not possible and now are; a hint of the annotations
// that promises less, such as a tool that is no longer read-only; another MIME type; and a
// change of a schema that Compare cannot judge, such as that of a $ref. Texts, icons and
// metadata are compatible.
func (s Surface) Compare(newer Surface) ([]SurfaceChange, error) {
	d := new(surfaceDiff)
	if s.Instructions != newer.Instructions {
		d.add("instructions", "", false, "changed")
	}
	older, newer := s.Sorted(), newer.Sorted()
	compareFeatures(d, "tool", older.Tools, newer.Tools, func(t Tool) string { return t.Name })
	compareFeatures(d, "prompt", older.Prompts, newer.Prompts, func(p Prompt) string { return p.Name })
	compareFeatures(d, "resource", older.Resources, newer.Resources, func(r Resource) string { return r.URI })
	compareFeatures(d, "resource template", older.Templates, newer.Templates, func(t ResourceTemplate) string { return t.URITemplate })
	return d.changes, d.err
}

// surfaceDiff collects changes.
type surfaceDiff struct {
	subject string
	changes []SurfaceChange
	err     error // the first
}

func (d *surfaceDiff) add(subject string, member jsontext.Pointer, breaking bool, format string, args ...any) {
	d.changes = append(d.changes, SurfaceChange{subject, member, fmt.Sprintf(format, args...), breaking})
}

// here adds a change of the current subject.
func (d *surfaceDiff) here(member jsontext.Pointer, breaking bool, format string, args ...any) {
	d.add(d.subject, member, breaking, format, args...)
}

// compareFeatures compares two sorted lists of one kind.
func compareFeatures[Def any](d *surfaceDiff, kind string, older, newer []Def, key func(Def) string) {
	was, is := byKey(older, key), byKey(newer, key)
	for _, k := range slices.Sorted(maps.Keys(mergedKeys(was, is))) {
		for i := range max(len(was[k]), len(is[k])) {
			d.subject = fmt.Sprintf("%s %q", kind, k)
			if i > 0 {
				d.subject += fmt.Sprintf(" (listed again, %d)", i+1)
			}
			switch {
			case i >= len(is[k]):
				d.here("", true, "removed")
			case i >= len(was[k]):
				d.here("", false, "added")
			default:
				d.compareDefinitions(was[k][i], is[k][i])
			}
		}
	}
}

// byKey returns the definitions by name or URI. A server may list several of one name, and
// none of them may hide a change of another.
func byKey[Def any](defs []Def, key func(Def) string) map[string][]Def {
	m := make(map[string][]Def, len(defs))
	for _, def := range defs {
		m[key(def)] = append(m[key(def)], def)
	}
	return m
}

func mergedKeys[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// compareDefinitions compares two definitions member by member.
func (d *surfaceDiff) compareDefinitions(before, after any) {
	was, err1 := objectOf(before)
	is, err2 := objectOf(after)
	for _, err := range []error{err1, err2} {
		if err != nil && d.err == nil {
			d.err = fmt.Errorf("compare %s: %w", d.subject, err)
		}
	}
	if d.err != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(mergedKeys(was, is))) {
		a, b := was[name], is[name]
		if bytes.Equal(a, b) {
			continue
		}
		member, known := jsontext.Pointer("").AppendToken(name), len(d.changes)
		switch name {
		case "inputSchema":
			d.compareSchemas(member, a, b, true)
		case "outputSchema":
			d.compareOutputSchemas(member, a, b)
		case "annotations":
			d.compareAnnotations(member, a, b)
		case "arguments":
			d.compareArguments(member, a, b)
		case "mimeType":
			d.here(member, a != nil, "%s", changeText(a, b))
		default:
			d.here(member, false, "%s", changeText(a, b))
		}
		if len(d.changes) == known {
			d.here(member, false, "the order has changed")
		}
	}
}

// compareOutputSchemas compares schemas of results, which need not exist.
func (d *surfaceDiff) compareOutputSchemas(member jsontext.Pointer, a, b jsontext.Value) {
	switch {
	case a == nil:
		d.here(member, false, "added")
	case b == nil:
		d.here(member, true, "removed")
	default:
		d.compareSchemas(member, a, b, false)
	}
}

// compareAnnotations compares the hints of a tool with their defaults, and other members as
// texts.
func (d *surfaceDiff) compareAnnotations(member jsontext.Pointer, a, b jsontext.Value) {
	was, is := parseObject(a), parseObject(b)
	hints := map[string]struct{ byDefault, promise bool }{
		"readOnlyHint":    {false, true},
		"destructiveHint": {true, false},
		"idempotentHint":  {false, true},
		"openWorldHint":   {true, false},
	}
	for _, name := range slices.Sorted(maps.Keys(mergedKeys(was, is))) {
		if bytes.Equal(was[name], is[name]) {
			continue
		}
		h, isHint := hints[name]
		if !isHint {
			d.here(member.AppendToken(name), false, "%s", changeText(was[name], is[name]))
			continue
		}
		before, after := boolOf(was[name], h.byDefault), boolOf(is[name], h.byDefault)
		d.here(member.AppendToken(name), before != after && after != h.promise, "was %v, is %v", before, after)
	}
}

// compareArguments compares the arguments of a prompt.
func (d *surfaceDiff) compareArguments(member jsontext.Pointer, a, b jsontext.Value) {
	was, is := argumentsByName(a), argumentsByName(b)
	for _, name := range slices.Sorted(maps.Keys(mergedKeys(was, is))) {
		before, after, at := was[name], is[name], member.AppendToken(name)
		required, requires := boolOf(before["required"], false), boolOf(after["required"], false)
		switch {
		case after == nil:
			d.here(at, true, "removed")
		case before == nil && requires:
			d.here(at, true, "added, and required")
		case before == nil:
			d.here(at, false, "added")
		case required != requires:
			d.here(at, requires, "required: was %v, is %v", required, requires)
		case !maps.EqualFunc(before, after, func(x, y jsontext.Value) bool { return bytes.Equal(x, y) }):
			d.here(at, false, "text changed")
		}
	}
}
