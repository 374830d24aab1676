package mcpclient

import (
	"encoding/json/jsontext"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// CheckArguments checks arguments against the input schema of a tool before they are
// sent, as the server does on receipt. Nil means no arguments. If the arguments are
// invalid, the error is a *ValidationError. Any other error means that they cannot be
// checked: the schema is invalid, too costly, or refers to another document.
//
// Spec: 2026-07-28 server/tools#calling-tools
func CheckArguments(t mcp.Tool, arguments jsontext.Value) error {
	if arguments == nil {
		arguments = jsontext.Value("{}")
	}
	v, err := jsonschema.Compile(t.InputSchema, nil)
	if err == nil {
		err = v.Validate(arguments)
	}
	if err == nil {
		return nil
	}
	if invalid := newValidationError("arguments", err); invalid != nil {
		return invalid
	}
	return fmt.Errorf("tool %q: input schema: %w", t.Name, err)
}
