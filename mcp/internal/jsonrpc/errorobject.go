package jsonrpc

import (
	"encoding/json/jsontext"
	"strconv"
)

// errorMembers holds the texts of the members of an error object, nil for those that
// are absent.
type errorMembers struct {
	code    jsontext.Value
	message jsontext.Value
	data    jsontext.Value
	other   jsontext.Value // the last member that is none of these
}

// decodeErrorObject reads the error member of a response, a text that has been
// scanned with the same limits.
func decodeErrorObject(text jsontext.Value, limits Limits) (*Error, *DecodeError) {
	if text.Kind() != '{' {
		return nil, invalidf("must be an object, found %s", describe(text))
	}
	s := newScanner(text, limits)
	defer s.release()
	var m errorMembers
	if err := s.object(m.member); err != nil {
		return nil, err
	}
	code, ok := integerValue(m.code)
	if !ok {
		return nil, invalidf("member code must be an integer, found %s", describe(m.code))
	}
	message, ok := stringValue(m.message)
	if !ok {
		return nil, invalidf("member message must be a string, found %s", describe(m.message))
	}
	return &Error{Code: code, Message: message, Data: m.data}, nil
}

// member returns where the member of that name is kept.
func (m *errorMembers) member(name []byte) *jsontext.Value {
	switch string(name) {
	case "code":
		return &m.code
	case "message":
		return &m.message
	case "data":
		return &m.data
	}
	return &m.other
}

// integerValue returns the integer that text stands for. Integers beyond 2^53-1
// are refused, since most parsers round them.
func integerValue(text jsontext.Value) (n int64, ok bool) {
	if !isPlainInteger(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil && -maxSafeInteger <= n && n <= maxSafeInteger
}
