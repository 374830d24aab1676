package jsonschema

import (
	"encoding/json/jsontext"
	"errors"
)

// member is one member of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// members is a JSON object in the order of its text.
type members []member

// UnmarshalJSONFrom reads an object.
func (ms *members) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		return errors.New("want an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		m.value = value.Clone()
		*ms = append(*ms, m)
	}
	_, err := dec.ReadToken()
	return err
}

// MarshalJSONTo writes the object.
func (ms members) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range ms {
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := enc.WriteValue(m.value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}
