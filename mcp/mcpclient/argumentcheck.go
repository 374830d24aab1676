package mcpclient

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// CheckArguments holds arguments against the input schema of a tool, as its
// server will, so that mistakes are found before anything is sent. Nil stands for
// no arguments. The error is an *ArgumentsError when the arguments are wrong;
// another one says that they cannot be checked, because the schema is invalid,
// too costly or refers elsewhere, and that is no fault of the arguments.
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
	// Faults holds the first of them, ordered by pointer: at least one and at most
	// ten.
	Faults []ArgumentFault
	// More counts those beyond.
	More int
}

// ArgumentFault is one thing that is wrong with arguments.
type ArgumentFault struct {
	// Pointer leads to the part of the arguments; it is empty for the whole.
	Pointer jsontext.Pointer
	// Message says what was found and what would be right. It holds no control
	// characters.
	Message string
}

// Error lists the faults, a line each.
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
