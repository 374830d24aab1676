package jsonrpc

import (
	"encoding/json/jsontext"
	"fmt"
	"strconv"
	"strings"
)

// ID identifies a request among those of one sender. It is a string or an
// integer and keeps the text it was written as. The zero ID means that there
// is none. IDs are compared by [ID.Key], never by ==, which does not compile.
type ID struct {
	_   [0]func()
	raw string
}

// NumberID returns the ID for an integer.
func NumberID(n int64) ID { return ID{raw: strconv.FormatInt(n, 10)} }

// StringID returns the ID for a string. Invalid UTF-8 in s becomes U+FFFD.
func StringID(s string) ID {
	// The error reports only the replacement that is documented above.
	raw, _ := jsontext.AppendQuote(nil, s)
	return ID{raw: string(raw)}
}

// ParseID returns the ID whose JSON text is raw, without white space around it.
// It takes strings and integers in their plain form, that is without fraction,
// exponent, leading zeros or negative zero, of at most 256 bytes.
func ParseID(raw []byte) (ID, error) {
	switch {
	case len(raw) > maxIDSize:
		return ID{}, fmt.Errorf("parse id: %d bytes exceed the limit of %d", len(raw), maxIDSize)
	case len(raw) > 0 && raw[0] == '"':
		var text [maxIDSize]byte
		if _, err := jsontext.AppendUnquote(text[:0], raw); err != nil {
			return ID{}, fmt.Errorf("parse id: found %s, want a JSON string", describe(raw))
		}
	case !isPlainInteger(raw):
		return ID{}, fmt.Errorf("parse id: found %s, want a string or a plain integer", describe(raw))
	}
	return ID{raw: string(raw)}, nil
}

// Raw returns the JSON text of the id as it was written, "" for the zero ID.
func (id ID) Raw() string { return id.raw }

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// Key returns a canonical form for use as a map key. Two ids have the same key
// exactly if they have the same type and the same decoded value: "a" equals
// "\u0061", and "1" differs from 1. The key of the zero ID is "".
func (id ID) Key() string {
	if !strings.HasPrefix(id.raw, `"`) {
		return id.raw // Plain integers have one form.
	}
	if !strings.Contains(id.raw, `\`) {
		return id.raw[:len(id.raw)-1]
	}
	key, _ := jsontext.AppendUnquote([]byte{'"'}, id.raw) // An ID holds a valid string.
	return string(key)
}

// NumberKey is Key, except that a number in a string has the key of the number. It is for
// the responses to requests whose ids are all numbers, which some servers echo as strings.
func (id ID) NumberKey() string { return strings.TrimPrefix(id.Key(), `"`) }

// String returns the JSON text for people to read, "null" for the zero ID.
func (id ID) String() string {
	if id.IsZero() {
		return "null"
	}
	return id.raw
}

// isPlainInteger reports whether text is an integer in the only form that every
// parser writes back unchanged.
func isPlainInteger(text []byte) bool {
	if len(text) == 1 && text[0] == '0' {
		return true
	}
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	if len(text) == 0 || text[0] == '0' {
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
