// Package jsontest compares and takes apart JSON values in tests.
package jsontest

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strconv"
	"testing"
)

// At returns the part of a value that a JSON pointer names, in canonical form, or ""
// when there is none.
//
// Spec: RFC 6901 4, RFC 8785
func At(t *testing.T, raw jsontext.Value, pointer string) string {
	t.Helper()
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch raw.Kind() {
		case '{':
			raw = Decode[map[string]jsontext.Value](t, raw)[token]
		case '[':
			items := Decode[[]jsontext.Value](t, raw)
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(items) {
				return ""
			}
			raw = items[i]
		default:
			return ""
		}
	}
	if raw == nil {
		return ""
	}
	return Canonical(t, raw)
}

// Decode returns a value as a T. The test fails at once if it is none.
func Decode[T any](t *testing.T, raw jsontext.Value) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// Canonical returns a value in canonical form. Numbers keep their digits.
//
// Spec: RFC 8785
func Canonical(t *testing.T, raw jsontext.Value) string {
	t.Helper()
	v := raw.Clone()
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		t.Fatalf("canonicalize %s: %v", raw, err)
	}
	return string(v)
}

// Equal fails the test unless two values are equal in canonical form.
func Equal(t *testing.T, got jsontext.Value, want string) {
	t.Helper()
	if g, w := Canonical(t, got), Canonical(t, jsontext.Value(want)); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}
