package dialect

import (
	"encoding/json/v2"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxQuoted = 128 // bytes of a peer's own words that an error repeats

// clip shortens a peer's text for use in an error, without control characters.
func clip(s string) string { return clean(s, maxQuoted) }

// clean is like clip for a text of another length.
func clean(s string, max int) string {
	if len(s) > max {
		cut := max
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// reason returns why a value could not be decoded, without Go's type names.
func reason(err error) string {
	if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONKind != 0 {
		return strings.TrimPrefix(clip(string(e.JSONPointer))+": unexpected "+kindName(byte(e.JSONKind)), ": ")
	}
	return clip(err.Error())
}

// reasonBelow is like reason for a value inside of another one, whose JSON pointer precedes the
// text.
func reasonBelow(err error) string {
	if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONKind != 0 {
		return clip(string(e.JSONPointer)) + ": unexpected " + kindName(byte(e.JSONKind))
	}
	return ": " + clip(err.Error())
}

// escapePointer writes a name as a token of a JSON pointer.
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func kindName(kind byte) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return "value"
}
