package jsonschema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// applicator is a keyword whose value holds subschemas.
type applicator struct {
	keyword string
	form    form
	inPlace bool // the subschemas are applied to the same value as the schema
}

// form is the arrangement of the subschemas in the value of a keyword. A keyword may allow
// several forms: items of draft-07 is one schema or a list.
type form int

const (
	single form = iota // one schema, or a list of them
	listed             // a list of schemas
	named              // an object of schemas
)

// applicators lists the keywords of both dialects, in the order in which they are walked. A
// keyword that the dialect of a schema does not have is walked as well, which at most
// overestimates the cost.
var applicators = []applicator{
	{"$defs", named, false},
	{"definitions", named, false},
	{"allOf", listed, true},
	{"anyOf", listed, true},
	{"oneOf", listed, true},
	{"not", single, true},
	{"if", single, true},
	{"then", single, true},
	{"else", single, true},
	{"dependentSchemas", named, true},
	{"dependencies", named, true},
	{"properties", named, false},
	{"patternProperties", named, false},
	{"additionalProperties", single, false},
	{"unevaluatedProperties", single, false},
	{"propertyNames", single, false},
	{"prefixItems", listed, false},
	{"items", single, false},
	{"additionalItems", single, false},
	{"unevaluatedItems", single, false},
	{"contains", single, false},
	{"contentSchema", single, false},
}

// place is the location of a subschema in its parent.
type place struct {
	applicator
	name  string // the member or index under the keyword, "" for form single
	value any
}

// pointer returns the JSON Pointer of the place, given that of the parent.
func (p place) pointer(parent string) string {
	at := parent + "/" + p.keyword
	if p.name != "" || p.form == named {
		at += "/" + escapePointer(p.name)
	}
	return at
}

// subschemas lists the direct subschemas of a schema object, in a fixed order. It omits values
// that cannot be schemas, because the metaschema refuses them.
func subschemas(obj map[string]any) []place {
	var places []place
	for _, a := range applicators {
		switch v := obj[a.keyword].(type) {
		case bool:
			places = append(places, place{a, "", v})
		case map[string]any:
			if a.form != named {
				places = append(places, place{a, "", v})
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if isSchema(v[name]) {
					places = append(places, place{a, name, v[name]})
				}
			}
		case []any:
			a.form = listed
			for i, sub := range v {
				if isSchema(sub) {
					places = append(places, place{a, strconv.Itoa(i), sub})
				}
			}
		}
	}
	return places
}

func isSchema(v any) bool {
	switch v.(type) {
	case bool, map[string]any:
		return true
	}
	return false
}

// escapePointer escapes one token of a JSON Pointer.
//
// RFC 6901 3
func escapePointer(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}
