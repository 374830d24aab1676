package cli

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"io"
)

// member is one member of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// membersOf returns the members of an object in their order. The empty text is the empty
// object.
func membersOf(object []byte) ([]member, error) {
	if len(object) == 0 {
		return nil, nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	open, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if open.Kind() != jsontext.KindBeginObject {
		return nil, errors.New("want a JSON object")
	}
	var members []member
	for dec.PeekKind() == jsontext.KindString {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		members = append(members, member{key, value.Clone()})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("want one JSON object and nothing after it")
	}
	return members, nil
}

// join builds an object from members.
func join(members []member) jsontext.Value {
	object := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			object = append(object, ',')
		}
		object, _ = jsontext.AppendQuote(object, m.name)
		object = append(append(object, ':'), m.value...)
	}
	return append(object, '}')
}
