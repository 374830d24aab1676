package jsonschema

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
)

// decode converts JSON text to the types that the library requires: nil, bool, string, exact
// numbers, []any, map[string]any. It refuses duplicate names and invalid UTF-8 and, with a
// *placeError, values nested deeper than maxDepth and numbers that are too long.
func decode(text jsontext.Value, maxDepth int) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text))
	v, err := decodeValue(dec, maxDepth)
	if err == io.EOF {
		return nil, errors.New("no JSON value")
	}
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// placeError is the error of one value inside a JSON text.
type placeError struct {
	at     jsontext.Pointer
	reason string
}

func (e *placeError) Error() string { return where(string(e.at)) + e.reason }

func decodeValue(dec *jsontext.Decoder, maxDepth int) (any, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		literal := tok.String()
		if err := CheckNumber(literal); err != nil {
			return nil, &placeError{dec.StackPointer(), err.Error()}
		}
		return number(literal), nil
	}
	if dec.StackDepth() > maxDepth {
		return nil, &placeError{dec.StackPointer(), fmt.Sprintf("nested deeper than %d", maxDepth)}
	}
	if tok.Kind() == '[' {
		return decodeArray(dec, maxDepth)
	}
	return decodeObject(dec, maxDepth)
}

func decodeArray(dec *jsontext.Decoder, maxDepth int) (any, error) {
	values := []any{}
	for dec.PeekKind() != ']' {
		v, err := decodeValue(dec, maxDepth)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	_, err := dec.ReadToken()
	return values, err
}

func decodeObject(dec *jsontext.Decoder, maxDepth int) (any, error) {
	members := map[string]any{}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := tok.String()
		if members[name], err = decodeValue(dec, maxDepth); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return members, err
}
