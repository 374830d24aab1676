package link

import (
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// PublicError is an error of the host itself, whose text callers may see.
type PublicError struct{ text string }

func (e *PublicError) Error() string { return e.text }

// PublicErrorf returns a PublicError.
func PublicErrorf(format string, args ...any) error {
	return &PublicError{fmt.Sprintf(format, args...)}
}

// errEvicted is the error of a call whose connection was closed for another owner.
var errEvicted = PublicErrorf("the call was ended for another client, because this one has most of the connections to the server")

// RecordedText returns the text of an error for the log and the audit log. What a process has
// printed is left out, because it may contain secrets that the process was given; the
// state of the upstream has it.
func RecordedText(err error) string {
	if e, ok := errors.AsType[*mcpclient.ExitError](err); ok {
		return e.Reason
	}
	if e, ok := errors.AsType[*NotReadyError](err); ok {
		return string(e.State)
	}
	if e, ok := errors.AsType[*mcpclient.CommandError](err); ok {
		err = e.Err
	}
	return host.CutText(err.Error(), MaxReason)
}
