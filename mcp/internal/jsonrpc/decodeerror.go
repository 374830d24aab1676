package jsonrpc

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// DecodeError says why a text was refused, in a form that can be answered.
type DecodeError struct {
	// Code is CodeParse or CodeInvalidRequest.
	Code int64
	// Reason is one sentence for the peer. Its quotes of the peer's input are short and
	// printable.
	Reason string
	// Kind is the probable kind of the message: a malformed request is answered, a
	// malformed response is not.
	Kind Kind
	// ID is the id of the message if it could be recognized in spite of the error. The peer has
	// assigned the id of a request, this side that of a response.
	ID ID
	// JSONRPC says that the member jsonrpc was recognized. An object without it may be a line of
	// a log.
	JSONRPC bool
	// Result says that a result was recognized that is not empty.
	Result bool
	// Excerpt is the beginning of the text, quoted. It is empty in the errors of Next.
	Excerpt string
	// Next is the error of the next message with an id, if the text has several, as a batch
	// has. At most 100 are linked.
	Next *DecodeError
}

func (e *DecodeError) Error() string { return "decode: " + e.Reason }

// invalidf returns the error for JSON that is not a message or over a limit.
func invalidf(format string, args ...any) *DecodeError {
	return &DecodeError{Code: CodeInvalidRequest, Reason: fmt.Sprintf(format, args...)}
}

// parseErrorf returns the error for a text that is not strict JSON.
func parseErrorf(format string, args ...any) *DecodeError {
	return &DecodeError{Code: CodeParse, Reason: fmt.Sprintf(format, args...)}
}

// parseError describes an error of a [jsontext.Decoder].
func parseError(err error) *DecodeError {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.EOF):
		return parseErrorf("the text is empty")
	case !ok:
		return parseErrorf("the text is not strict JSON")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return parseErrorf("member name %s occurs twice in one object (byte %d)",
			excerpt(syntax.JSONPointer.LastToken()), syntax.ByteOffset)
	}
	return parseErrorf("the text is not strict JSON: %v (byte %d)", syntax.Err, syntax.ByteOffset)
}

// excerpt quotes the first 64 runes of a peer's input and escapes what does not
// print, so that a reason stays short and cannot forge a line of a log.
func excerpt[Text ~[]byte | ~string](input Text) string {
	const maxRunes = 64
	s := string(input[:min(len(input), (maxRunes+1)*utf8.UTFMax)])
	n := 0
	for i := range s {
		if n++; n > maxRunes {
			return strconv.Quote(s[:i]) + "…"
		}
	}
	return strconv.Quote(s)
}

// describe names a value for a reason; nil is an absent member.
func describe(text []byte) string {
	if text == nil {
		return "none"
	}
	return excerpt(text)
}
