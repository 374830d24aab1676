package dialect

import "fmt"

// ProtocolError reports a response that violates the protocol.
type ProtocolError struct{ Err error }

func (e *ProtocolError) Error() string { return e.Err.Error() }

// Unwrap returns the violation.
func (e *ProtocolError) Unwrap() error { return e.Err }

// Invalid returns a *ProtocolError with the given text, which is formatted by
// fmt.Errorf.
func Invalid(format string, args ...any) error {
	return &ProtocolError{fmt.Errorf("invalid response: "+format, args...)}
}
