package mcpclient

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// ValidationError reports a value that does not satisfy its JSON Schema.
type ValidationError struct {
	// Subject is the kind of the value: "arguments" or "content".
	Subject string
	// Violations holds the first violations, ordered by pointer: at least one and at
	// most ten.
	Violations []Violation
	// More is the number of violations that Violations leaves out.
	More int
}

// Violation is one violation of a JSON Schema.
type Violation struct {
	// Pointer locates the invalid part in the value. It is empty for the value as a
	// whole.
	Pointer jsontext.Pointer
	// Message says what was found and what would be right. It has no control
	// characters.
	Message string
}

// newValidationError returns the error of a value that was validated, or nil if err is not about the value.
func newValidationError(subject string, err error) *ValidationError {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil
	}
	violations := make([]Violation, len(invalid.Violations))
	for i, v := range invalid.Violations {
		violations[i] = Violation{jsontext.Pointer(v.Pointer), v.Message}
	}
	return &ValidationError{subject, violations, invalid.More}
}

// Error lists the violations, one per line.
func (e *ValidationError) Error() string {
	lines := make([]string, 0, len(e.Violations)+1)
	for _, v := range e.Violations {
		place := string(v.Pointer)
		if place == "" {
			place = e.Subject
		}
		lines = append(lines, fmt.Sprintf("%s: %s", place, v.Message))
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}
