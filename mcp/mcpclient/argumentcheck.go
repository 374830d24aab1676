package mcpclient

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// CheckArguments checks arguments against the input schema of a tool before they are
// sent, as the server does on receipt. Nil means no arguments. If the arguments are
// invalid, the error is an *ArgumentsError. Any other error means that they cannot be
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
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("tool %q: input schema: %w", t.Name, err)
	}
	faults := make([]ArgumentFault, len(invalid.Violations))
	for i, v := range invalid.Violations {
		faults[i] = ArgumentFault{jsontext.Pointer(v.Pointer), v.Message}
	}
	return &ArgumentsError{faults, invalid.More}
}

// ArgumentsError reports arguments that do not satisfy the input schema of their
// tool.
type ArgumentsError struct {
	// Faults holds the first violations, ordered by pointer: at least one and at
	// most ten.
	Faults []ArgumentFault
	// More is the number of violations that Faults leaves out.
	More int
}

// ArgumentFault is one violation of a tool's input schema.
type ArgumentFault struct {
	// Pointer locates the invalid value in the arguments. It is empty for the
	// arguments as a whole.
	Pointer jsontext.Pointer
	// Message says what was found and what would be right. It has no control
	// characters.
	Message string
}

// Error lists the faults, one per line.
func (e *ArgumentsError) Error() string {
	lines := make([]string, 0, len(e.Faults)+1)
	for _, f := range e.Faults {
		place := f.Pointer
		if place == "" {
			place = "arguments"
		}
		lines = append(lines, fmt.Sprintf("%s: %s", place, f.Message))
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}
