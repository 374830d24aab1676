package mcp

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strconv"
)

// ProgressParams are the params of notifications/progress.
//
// Spec: 2026-07-28 basic/patterns/progress
type ProgressParams struct {
	// ProgressToken is the token of the request that the notification is for.
	ProgressToken ProgressToken `json:"progressToken"`
	// Progress increases with every notification, even if the total is unknown.
	Progress float64 `json:"progress"`
	// Total is the final value of Progress, or zero if it is unknown.
	Total float64 `json:"total,omitzero"`
	// Message describes the present step for users.
	Message string `json:"message,omitzero"`
	Meta    Meta   `json:"_meta,omitempty"`
}

// ProgressToken identifies a request in progress notifications: a string or an
// integer that the sender of the request chooses. It is opaque to the receiver.
// Tokens can be compared with ==; "1" differs from 1. The zero ProgressToken is
// no token.
type ProgressToken struct {
	// text is the token as JSON, a string in its shortest form.
	text string
}

// StringProgressToken returns the token s, which must be valid UTF-8.
func StringProgressToken(s string) (ProgressToken, error) {
	quoted, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return ProgressToken{}, fmt.Errorf("progress token: %w", err)
	}
	return ProgressToken{string(quoted)}, nil
}

// IntProgressToken returns the token n.
func IntProgressToken(n int64) ProgressToken {
	return ProgressToken{strconv.FormatInt(n, 10)}
}

// IsZero reports whether t is no token.
func (t ProgressToken) IsZero() bool { return t == ProgressToken{} }

// String returns the token as JSON, and the empty string for no token.
func (t ProgressToken) String() string { return t.text }

// MarshalJSONTo writes the token. The zero ProgressToken is an error.
func (t ProgressToken) MarshalJSONTo(enc *jsontext.Encoder) error {
	if t.IsZero() {
		return errors.New("progress token: got none, want a string or an integer")
	}
	return enc.WriteValue(jsontext.Value(t.text))
}

// UnmarshalJSONFrom reads a string, or an integer without fraction and
// exponent.
func (t *ProgressToken) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case jsontext.KindString:
		s, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return err
		}
		*t, err = StringProgressToken(string(s))
		return err
	case jsontext.KindNumber:
		if isPlainInteger(raw) {
			*t = ProgressToken{string(raw)}
			return nil
		}
	}
	return fmt.Errorf("progress token: got %s, want a string or an integer", raw)
}

// isPlainInteger reports whether a JSON number has neither fraction nor
// exponent.
func isPlainInteger(number jsontext.Value) bool {
	for _, c := range number {
		if c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
