package config

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Error is a fault in a file, and where it is.
type Error struct {
	Path         string
	Line, Column int // from 1, in bytes
	// Pointer is the member that is at fault.
	Pointer jsontext.Pointer
	// Problem says what was found and what would be right.
	Problem string
}

func (e *Error) Error() string {
	at := fmt.Sprintf("%s:%d:%d: ", e.Path, e.Line, e.Column)
	if e.Pointer != "" {
		at += string(e.Pointer) + ": "
	}
	return at + e.Problem
}

// fault reports a problem at an offset of the content.
func (p *parser) fault(offset int64, at jsontext.Pointer, format string, args ...any) {
	before := p.content[:min(max(int(offset), 0), len(p.content))]
	p.faults = append(p.faults, &Error{
		Path:    p.config.Path,
		Line:    bytes.Count(before, []byte("\n")) + 1,
		Column:  len(before) - bytes.LastIndexByte(before, '\n'),
		Pointer: at,
		Problem: fmt.Sprintf(format, args...),
	})
}

// syntaxFault reports why the decoder of the whole content could not go on.
func (p *parser) syntaxFault(dec *jsontext.Decoder, err error) {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		p.fault(e.ByteOffset, e.JSONPointer, "%s", strings.TrimPrefix(e.Err.Error(), "jsontext: "))
		return
	}
	p.fault(dec.InputOffset()-1, dec.StackPointer(), "%v", err)
}

// valueFault reports why a value that starts at an offset and stands at a place
// cannot be what is wanted there.
func (p *parser) valueFault(offset int64, at jsontext.Pointer, err error) {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		p.fault(offset+e.ByteOffset, at+e.JSONPointer, "found %s, want %s", article(kindName(e.JSONKind)), article(typeName(e.GoType)))
		return
	}
	p.fault(offset, at, "%v", err)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindBeginObject:
		return "object"
	case jsontext.KindBeginArray:
		return "array"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "boolean"
	}
	return k.String()
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	}
	return t.Kind().String()
}

func article(noun string) string {
	switch {
	case noun == "null":
		return noun
	case strings.ContainsRune("aeiou", rune(noun[0])):
		return "an " + noun
	}
	return "a " + noun
}
