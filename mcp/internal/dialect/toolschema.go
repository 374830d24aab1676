package dialect

import (
	"encoding/json/jsontext"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// structures reports whether tool output with the schema can be sent as
// structured content: before 2026-07-28 the root of the schema must have type
// object.
func (f *Facts) structures(schema jsontext.Value) bool {
	switch f.Structured {
	case NoStructured:
		return false
	case AnyStructured:
		return true
	}
	return string(rawjson.Member(schema, "type")) == `"object"`
}

// schema converts the schema of a tool to the revision. Before 2026-07-28 the
// schema of a property must be an object, so true and false are written as
// equivalent objects.
//
// Spec: 2025-11-25 schema#tool
func (f *Facts) schema(schema jsontext.Value) jsontext.Value {
	if f.Structured == AnyStructured || !anyBoolean(rawjson.Member(schema, "properties")) {
		return schema
	}
	return changed(schema, func(name string, value jsontext.Value) jsontext.Value {
		if name != "properties" {
			return value
		}
		return changed(value, func(_ string, property jsontext.Value) jsontext.Value {
			switch property.Kind() {
			case 't':
				return jsontext.Value(`{}`)
			case 'f':
				return jsontext.Value(`{"not":{}}`)
			}
			return property
		})
	})
}

func anyBoolean(properties jsontext.Value) bool {
	for _, property := range rawjson.Members(properties) {
		if kind := property.Kind(); kind == 't' || kind == 'f' {
			return true
		}
	}
	return false
}

// changed returns an object with other values, in the same order.
func changed(object jsontext.Value, change func(name string, value jsontext.Value) jsontext.Value) jsontext.Value {
	out := jsontext.Value{'{'}
	for name, value := range rawjson.Members(object) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, string(name))
		out = append(append(out, ':'), change(string(name), value)...)
	}
	return append(out, '}')
}
