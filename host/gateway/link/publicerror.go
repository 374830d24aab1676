package link

import "fmt"

// PublicError is an error of the host itself, whose text callers may see.
type PublicError struct{ text string }

func (e *PublicError) Error() string { return e.text }

// PublicErrorf returns a PublicError.
func PublicErrorf(format string, args ...any) error {
	return &PublicError{fmt.Sprintf(format, args...)}
}

// errEvicted is the error of a call whose connection was closed for another owner.
var errEvicted = PublicErrorf("the call was ended for another client, because this one has most of the connections to the server")
