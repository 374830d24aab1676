package mcpserver

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// badArguments reports arguments that a tool cannot be called with. It says nothing
// that its caller does not know, so it is never masked.
type badArguments struct {
	tool string
	err  error
}

func (e *badArguments) Error() string {
	return fmt.Sprintf("invalid arguments for tool %q: %v", e.tool, e.err)
}

func (e *badArguments) Unwrap() error { return e.err }

// validateArguments holds arguments against their schema.
func validateArguments(v *jsonschema.Validator, raw jsontext.Value) error {
	if v.Admits(raw) {
		return nil
	}
	err := v.Validate(raw)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		invalid.Subject = "arguments"
	}
	return err
}

// decodeArguments decodes arguments that satisfy their schema. JSON Schema takes
// 1.0 and 1e2 for integers and Go does not, so when it comes to that they are
// written out.
func decodeArguments(raw jsontext.Value, out any) error {
	err := json.Unmarshal(raw, out)
	if err == nil {
		return nil
	}
	plain, ok := plainIntegers(raw)
	if ok {
		err = json.Unmarshal(plain, out)
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("arguments%s: %s", e.JSONPointer, unfit(e))
	}
	return err
}

// unfit says why a value does not fit its Go type, in words that tell nothing of Go.
func unfit(e *json.SemanticError) string {
	reason := "does not fit"
	if e.Err != nil {
		reason = e.Err.Error()
	}
	if len(e.JSONValue) == 0 {
		return reason
	}
	return fmt.Sprintf("%s, got %s", reason, cleanText(string(e.JSONValue), 64))
}

// plainIntegers writes the integers with a point or an exponent in digits alone,
// as far as they are exact in every JSON implementation. It reports false when
// there are none.
func plainIntegers(raw jsontext.Value) (jsontext.Value, bool) {
	var plain bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(raw)), jsontext.NewEncoder(&plain)
	changed := false
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return plain.Bytes(), changed
		}
		if n, ok := plainInteger(token); ok {
			token, changed = jsontext.Int(n), true
		}
		if err != nil || enc.WriteToken(token) != nil {
			return nil, false
		}
	}
}

const maxExactInteger = 1<<53 - 1

func plainInteger(token jsontext.Token) (int64, bool) {
	if token.Kind() != '0' || !strings.ContainsAny(token.String(), ".eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(token.String(), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxExactInteger {
		return 0, false
	}
	return int64(f), true
}
