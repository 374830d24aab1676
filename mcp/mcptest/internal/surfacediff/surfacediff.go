// Package surfacediff compares what two versions of a server show of themselves, as JSON, and
// judges which changes break clients. It knows the members of definitions that matter, such as
// inputSchema and annotations, and no Go type of them.
package surfacediff

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Change is one difference.
type Change struct {
	Subject  string           // the feature, such as `tool "add"`
	Member   jsontext.Pointer // locates it in the definition; empty: the feature as a whole
	Text     string           // what has changed
	Breaking bool             // a client that works with the old version can fail with the new one
}

// Diff collects changes. The zero value has none.
type Diff struct {
	subject string
	changes []Change
	err     error // the first
}

// Changes returns the changes in the order in which they were found, and the first error of
// encoding a definition.
func (d *Diff) Changes() ([]Change, error) { return d.changes, d.err }

// Text compares two texts, whose changes are compatible.
func (d *Diff) Text(subject, older, newer string) {
	if older != newer {
		d.subject = subject
		d.here("", false, "changed")
	}
}

// here adds a change of the current subject.
func (d *Diff) here(member jsontext.Pointer, breaking bool, format string, args ...any) {
	d.changes = append(d.changes, Change{d.subject, member, fmt.Sprintf(format, args...), breaking})
}

// Features compares two sorted lists of one kind, by name or URI.
func Features[Def any](d *Diff, kind string, older, newer []Def, key func(Def) string) {
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
func (d *Diff) compareDefinitions(before, after any) {
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

// objectOf returns the members of a definition in canonical form.
//
// Spec: RFC 8785, except that integers keep all digits, as in mcp.Fingerprint.
func objectOf(definition any) (map[string]jsontext.Value, error) {
	text, err := json.Marshal(definition)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(text)
	if err := value.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, err
	}
	return parseObject(value), nil
}

// compareOutputSchemas compares schemas of results, which need not exist.
func (d *Diff) compareOutputSchemas(member jsontext.Pointer, a, b jsontext.Value) {
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
func (d *Diff) compareAnnotations(member jsontext.Pointer, a, b jsontext.Value) {
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
func (d *Diff) compareArguments(member jsontext.Pointer, a, b jsontext.Value) {
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

// argumentsByName returns the arguments of a prompt.
func argumentsByName(raw jsontext.Value) map[string]map[string]jsontext.Value {
	all := make(map[string]map[string]jsontext.Value)
	var arguments []jsontext.Value
	if raw.Kind() == '[' {
		_ = json.Unmarshal(raw, &arguments)
	}
	for _, a := range arguments {
		members := parseObject(a)
		if name, err := strconv.Unquote(string(members["name"])); err == nil {
			all[name] = members
		}
	}
	return all
}
