package wire

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// A node is a JSON Schema, or a part of one.
type node = map[string]any

// A form makes the schema of a value.
type form func(*generator) node

// generator writes the definitions of one revision.
type generator struct {
	facts *dialect.Facts
	// strict forbids members that exist only in other revisions, and results of
	// another type.
	strict  bool
	methods map[string]Method
	defs    map[string]node
}

// definitions is the location of the definitions in a document.
const definitions = "#/$defs/"

// params returns a reference to the definition of the params of a method.
func (g *generator) params(m Method) node {
	switch {
	case m.Params != nil:
		return g.of(reflect.TypeOf(m.Params))
	case len(m.Results) > 0:
		return g.define("RequestParams", func(g *generator) node { return metaAlone(requestMeta(g), g.facts.Era == dialect.StatelessEra) })
	}
	return g.define("NotificationParams", func(g *generator) node { return metaAlone(notificationMeta(g), false) })
}

func metaAlone(meta node, required bool) node {
	out := node{"type": "object", "properties": node{"_meta": meta}}
	if required {
		out["required"] = []string{"_meta"}
	}
	return out
}

// demands reports whether the referenced definition has required members.
func (g *generator) demands(ref node) bool {
	def := g.defs[strings.TrimPrefix(ref["$ref"].(string), definitions)]
	return def["required"] != nil || def["anyOf"] != nil
}

// has reports whether the revision has this type of result.
func (g *generator) has(result any) bool {
	switch result.(type) {
	case mcp.CreateTaskResult:
		return g.facts.TaskSupport
	case mcp.InputRequiredResult:
		return g.facts.Era == dialect.StatelessEra
	}
	return true
}

// of returns the schema of the values of a type.
func (g *generator) of(t reflect.Type) node {
	if form := written[t]; form != nil {
		return g.named(t, form)
	}
	if writesItself(t) {
		return node{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Bool:
		return node{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return node{"type": "integer"}
	case reflect.Float64:
		return node{"type": "number"}
	case reflect.String:
		return text(t)
	case reflect.Slice:
		return node{"type": "array", "items": g.of(t.Elem())}
	case reflect.Map:
		return node{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Struct:
		return g.named(t, func(g *generator) node { return g.object(t) })
	}
	return node{}
}

func text(t reflect.Type) node {
	if values := enums[t]; values != nil {
		return node{"type": "string", "enum": values}
	}
	return node{"type": "string"}
}

// writesItself reports whether a type has its own JSON encoding, which reflection
// does not show.
func writesItself(t reflect.Type) bool {
	return t == reflect.TypeFor[jsontext.Value]() ||
		t.Kind() != reflect.Pointer && (t.Implements(reflect.TypeFor[json.MarshalerTo]()) || t.Implements(reflect.TypeFor[json.Marshaler]()))
}

// named returns a reference to the definition of a struct, which is generated at its
// first use. The schemas of other types are written in place.
func (g *generator) named(t reflect.Type, form form) node {
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Interface {
		return form(g)
	}
	return g.define(nameOf(t), form)
}

func (g *generator) define(name string, form form) node {
	if _, ok := g.defs[name]; !ok {
		g.defs[name] = nil // the definition may refer to itself
		g.defs[name] = form(g)
	}
	return node{"$ref": definitions + name}
}

// nameOf returns the name of a type of package mcp; names of other types begin with
// their package.
func nameOf(t reflect.Type) string {
	if t.PkgPath() == reflect.TypeFor[mcp.Tool]().PkgPath() {
		return t.Name()
	}
	return path.Base(t.PkgPath()) + "." + t.Name()
}

// object returns the schema of a struct, made from its fields.
func (g *generator) object(t reflect.Type) node {
	properties, required := node{}, []string{}
	for _, f := range fieldsOf(t) {
		m := memberOf(nameOf(t), nameOf(f.owner), f.name)
		if f.name == "_meta" {
			m = g.metaOf(t, m)
		}
		switch {
		case m.exists == nil || m.exists(g.facts):
			properties[f.name] = g.value(f, m)
			if f.required && m.required == nil || m.required != nil && m.required(g.facts) {
				required = append(required, f.name)
			}
		case g.strict:
			properties[f.name] = false
		}
	}
	out := node{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	return out
}

// value returns the schema of one member.
func (g *generator) value(f field, m member) node {
	if m.form != nil {
		return m.form(g)
	}
	schema := g.of(f.typ)
	if f.required && f.typ.Kind() == reflect.Pointer {
		return node{"anyOf": []any{schema, node{"type": "null"}}}
	}
	return schema
}

// field is one member as its Go type declares it.
type field struct {
	owner    reflect.Type
	name     string
	typ      reflect.Type
	required bool
}

// fieldsOf returns the fields of a struct and of its embedded structs.
func fieldsOf(t reflect.Type) (fields []field) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields = append(fields, fieldsOf(f.Type)...)
		case name == "" || name == "-":
		default:
			optional := strings.Contains(options, "omitzero") || strings.Contains(options, "omitempty")
			fields = append(fields, field{t, name, f.Type, !optional})
		}
	}
	return fields
}
