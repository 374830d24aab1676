package schema

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is one member of the JSON object that a Go struct stands for.
type field struct {
	name      string
	tagged    bool // the name comes from the tag
	goPath    string
	typ       reflect.Type
	tag       reflect.StructTag
	index     []int
	omittable bool // left out when zero or empty, or reached through a nil pointer
	quoted    bool // a number inside a JSON string
}

// structFields returns the members of a struct in the order in which encoding/json/v2
// writes them. others is the type of the values of further members, if the struct has a
// field for them (`json:",embed"` on a map or a jsontext.Value), otherwise nil.
func structFields(t reflect.Type) (fields []field, others reflect.Type, err error) {
	if err := checkTags(t); err != nil {
		return nil, nil, err
	}
	type level struct {
		typ     reflect.Type
		prefix  field
		descend bool // the first sight of the type: look at what it embeds
	}
	queue := []level{{t, field{}, true}}
	seen := map[reflect.Type]bool{t: true}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for i := range at.typ.NumField() {
			f, embed, skip := parseField(at.typ.Field(i), at.prefix, i)
			inner := indirect(f.typ)
			switch {
			case skip:
			case !embed:
				fields = append(fields, f)
			case inner == valueType:
				others = cmp.Or(others, valueType)
			case inner.Kind() == reflect.Map:
				others = cmp.Or(others, inner.Elem())
			case at.descend:
				queue = append(queue, level{inner, f, !seen[inner]})
				seen[inner] = true
			}
		}
	}
	return dominant(fields), others, nil
}

// checkTags returns the error of encoding/json/v2 for the struct and its json tags, so that
// this package has no rules of its own for them.
func checkTags(t reflect.Type) error {
	err := json.Unmarshal([]byte("{}"), reflect.New(t).Interface())
	if e, ok := errors.AsType[*json.SemanticError](err); ok && e.Err != nil {
		return fmt.Errorf("%s: %w", t, e.Err)
	}
	return err
}

// parseField reads the json tag of a field that checkTags accepted.
func parseField(sf reflect.StructField, prefix field, i int) (f field, embed, skip bool) {
	tag, hasTag := sf.Tag.Lookup("json")
	if tag == "-" || !sf.IsExported() && !sf.Anonymous {
		return field{}, false, true
	}
	name, options, _ := strings.Cut(tag, ",")
	f = field{
		name:      cmp.Or(name, sf.Name),
		tagged:    name != "",
		goPath:    strings.TrimPrefix(prefix.goPath+"."+sf.Name, "."),
		typ:       sf.Type,
		tag:       sf.Tag,
		index:     append(slices.Clone(prefix.index), i),
		omittable: prefix.omittable,
	}
	embed = sf.Anonymous && name == ""
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitzero", "omitempty":
			f.omittable = true
		case "string":
			f.quoted = true
		case "embed":
			embed = embed || hasTag
		}
	}
	if embed && sf.Type.Kind() == reflect.Pointer {
		f.omittable = true
	}
	return f, embed, false
}

// dominant returns at most one field per name, by the rules of Go embedding: the field at the
// shallowest depth; of several there, the only one whose name comes from a tag; otherwise
// none. The fields are in depth-first order.
func dominant(fields []field) []field {
	byName := make(map[string][]field)
	for _, f := range fields {
		byName[f.name] = append(byName[f.name], f)
	}
	var kept []field
	for _, same := range byName {
		slices.SortFunc(same, func(a, b field) int {
			return cmp.Or(cmp.Compare(len(a.index), len(b.index)), -compareBool(a.tagged, b.tagged))
		})
		if len(same) == 1 || len(same[0].index) != len(same[1].index) || same[0].tagged != same[1].tagged {
			kept = append(kept, same[0])
		}
	}
	slices.SortFunc(kept, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return kept
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// indirect removes one pointer, as Go embedding does.
func indirect(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

var valueType = reflect.TypeFor[jsontext.Value]()
