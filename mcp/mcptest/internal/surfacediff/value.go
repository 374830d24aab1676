package surfacediff

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
)

// changeText says how a JSON value has changed. Nil is an absent one.
func changeText(was, is jsontext.Value) string {
	switch {
	case was == nil:
		return "added " + string(is)
	case is == nil:
		return "removed " + string(was)
	}
	return "was " + string(was) + ", is " + string(is)
}

// parseObject returns the members of a JSON object, and none of another value.
func parseObject(raw jsontext.Value) map[string]jsontext.Value {
	members := make(map[string]jsontext.Value)
	if raw.Kind() == '{' {
		_ = json.Unmarshal(raw, &members) // valid: it is canonical
	}
	return members
}

// setOf returns the elements of a JSON array, or another value as the only element.
func setOf(raw jsontext.Value) map[string]bool {
	set := make(map[string]bool)
	if raw == nil {
		return set
	}
	elements := []jsontext.Value{raw}
	if raw.Kind() == '[' {
		elements = nil
		_ = json.Unmarshal(raw, &elements)
	}
	for _, e := range elements {
		set[string(e)] = true
	}
	return set
}

func boolOf(raw jsontext.Value, byDefault bool) bool {
	switch string(raw) {
	case "true":
		return true
	case "false":
		return false
	}
	return byDefault
}
