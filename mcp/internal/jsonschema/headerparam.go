package jsonschema

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// HeaderParam is one argument of a tool that is mirrored in an HTTP header.
type HeaderParam struct {
	Name string   // what follows Mcp-Param- in the name of the header
	Path []string // the names of the properties from the root to the argument
	Type string   // string, integer, boolean or number
}

const headerKeyword = "x-mcp-header"

// maxHeaders bounds the marks of one schema: each costs a header of every call.
const maxHeaders = 64

// HeaderParams returns the arguments that an input schema marks with x-mcp-header, in the order
// of their paths. A mark is allowed on a string, integer or boolean, and if numbers is set on a
// number, that is reached from the root only by properties. It is an error if a mark is
// elsewhere, is not a token, or differs from another one only in case, and if there are more
// than 64 marks.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func HeaderParams(text jsontext.Value, numbers bool) ([]HeaderParam, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("schema: %d bytes, want at most %d", len(text), MaxBytes)
	}
	if !bytes.Contains(text, []byte(headerKeyword)) && bytes.IndexByte(text, '\\') < 0 {
		return nil, nil
	}
	doc, err := decode(text, maxNesting)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	h := headers{numbers: numbers}
	if err := h.walk(doc, nil, true); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return h.params, nil
}

type headers struct {
	numbers bool // may be marked
	params  []HeaderParam
}

// walk examines the subschema v and the subschemas inside it. plain is true if v is reached only
// by properties.
func (h *headers) walk(v any, path []string, plain bool) error {
	obj, _ := v.(map[string]any)
	if mark, ok := obj[headerKeyword]; ok {
		if err := h.take(mark, obj["type"], path, plain); err != nil {
			return fmt.Errorf("%s%s: %w", where(pointer(path)), headerKeyword, err)
		}
	}
	for _, p := range subschemas(obj) {
		plain := plain && p.keyword == "properties"
		if err := h.walk(p.value, append(slices.Clone(path), p.name), plain); err != nil {
			return err
		}
	}
	return nil
}

// take checks one mark and stores it.
func (h *headers) take(mark, typ any, path []string, plain bool) error {
	name, ok := mark.(string)
	if !ok {
		return errors.New("want a string")
	}
	if err := CheckHeaderName(name); err != nil {
		return fmt.Errorf("%s: %w", Excerpt(name), err)
	}
	if !plain || len(path) == 0 {
		return errors.New("want it on a property that is reached through properties only")
	}
	kind, _ := typ.(string)
	if kind != "string" && kind != "integer" && kind != "boolean" && !(h.numbers && kind == "number") {
		return errors.New("want it on a string, integer or boolean")
	}
	for _, p := range h.params {
		if strings.EqualFold(p.Name, name) {
			return fmt.Errorf("%s: also on %s", Excerpt(name), readable(pointer(p.Path)))
		}
	}
	if len(h.params) == maxHeaders {
		return fmt.Errorf("more than %d of them", maxHeaders)
	}
	h.params = append(h.params, HeaderParam{name, path, kind})
	return nil
}

// CheckHeaderName returns an error unless the name is a token of HTTP.
//
// RFC 9110 5.6.2
func CheckHeaderName(name string) error {
	if name == "" {
		return errors.New("want a name")
	}
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return errors.New("want letters, digits and hyphens")
		}
	}
	return nil
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
