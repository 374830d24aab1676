package dialect

import "fmt"

// ProtocolError reports that the peer broke the protocol: what it sent is no
// answer to what it was asked.
type ProtocolError struct{ Err error }

func (e *ProtocolError) Error() string { return e.Err.Error() }

// Unwrap gives access to what is wrong.
func (e *ProtocolError) Unwrap() error { return e.Err }

// Invalid returns the *ProtocolError of a response. The format is that of
// fmt.Errorf.
func Invalid(format string, args ...any) error {
	return &ProtocolError{fmt.Errorf("invalid response: "+format, args...)}
}
