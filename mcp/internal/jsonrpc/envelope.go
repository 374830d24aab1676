package jsonrpc

import (
	"bytes"
	"encoding/json/jsontext"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// envelope holds the texts of the members that JSON-RPC defines, nil for those
// that are absent. It is checked after the whole text was read.
type envelope struct {
	kind        jsontext.Kind // of the whole value: '{' for every message
	version     jsontext.Value
	id          jsontext.Value
	method      jsontext.Value
	params      jsontext.Value
	result      jsontext.Value
	errorObject jsontext.Value
	other       jsontext.Value // the last member that is none of these
}

// read reads the members of the next value.
func (e *envelope) read(s *scanner) *DecodeError {
	e.kind = s.next()
	if e.kind != '{' {
		_, err := s.value()
		return err
	}
	return s.object(e.member)
}

// member returns the place for the member with that name.
func (e *envelope) member(name []byte) *jsontext.Value {
	switch string(name) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.errorObject
	}
	return &e.other
}

// messageKind returns the probable kind of the message, by its members.
func (e *envelope) messageKind() Kind {
	calls, answers := e.method != nil, e.result != nil || e.errorObject != nil
	switch {
	case calls == answers:
		return Invalid
	case answers:
		return Response
	case e.id == nil:
		return Notification
	}
	return Request
}

// message checks the envelope and returns its message.
func (e *envelope) message(limits Limits) (Message, *DecodeError) {
	if e.kind != '{' {
		return e.refuse("a message is an object, not %v", e.kind)
	}
	if text, ok := stringValue(e.version); !ok || text != "2.0" {
		return e.refuse(`member jsonrpc must be "2.0", found %s`, describe(e.version))
	}
	switch e.messageKind() {
	case Request, Notification:
		return e.call()
	case Response:
		return e.response(limits)
	}
	return e.refuse("a message has either a method, or a result, or an error")
}

// call checks a request or a notification.
func (e *envelope) call() (Message, *DecodeError) {
	method, ok := stringValue(e.method)
	if !ok || method == "" {
		return e.refuse("member method must be a string that is not empty, found %s", describe(e.method))
	}
	if e.params.Kind() == 'n' {
		e.params = nil
	}
	if e.params != nil && e.params.Kind() != '{' {
		return e.refuse("member params must be an object, found %s", describe(e.params))
	}
	m := Message{Kind: e.messageKind(), Method: method, Params: e.params}
	if m.Kind == Notification {
		return m, nil
	}
	id, err := ParseID(e.id)
	if err != nil {
		return e.refuse("%v", err)
	}
	m.ID = id
	return m, nil
}

// response checks a result or an error. Only an error may lack an id, because its sender may
// have been unable to read the id of the request.
func (e *envelope) response(limits Limits) (Message, *DecodeError) {
	e.dropNull()
	if e.result != nil && e.errorObject != nil {
		return e.refuse("a response has either a result or an error, not both")
	}
	if e.params != nil {
		return e.refuse("a response has no params")
	}
	m := Message{Kind: Response, Result: e.result}
	if e.errorObject != nil {
		object, err := decodeErrorObject(e.errorObject, limits)
		if err != nil {
			return e.refuse("member error: %s", err.Reason)
		}
		m.Error = object
		if e.id == nil || e.id.Kind() == 'n' {
			return m, nil
		}
	}
	id, err := ParseID(e.id)
	if err != nil {
		return e.refuse("%v", err)
	}
	m.ID = id
	return m, nil
}

// dropNull drops the null of a response that has both members, as many libraries encode it:
// there is an error only if it is not null.
func (e *envelope) dropNull() {
	switch {
	case e.result == nil || e.errorObject == nil:
	case e.errorObject.Kind() == 'n':
		e.errorObject = nil
	case e.result.Kind() == 'n':
		e.result = nil
	}
}

// refuse returns the error for an invalid envelope.
func (e *envelope) refuse(format string, args ...any) (Message, *DecodeError) {
	err := invalidf(format, args...)
	err.Kind = e.messageKind()
	err.ID, _ = ParseID(e.id)
	err.JSONRPC = e.version != nil
	err.Result = e.result != nil && !isEmpty(e.result)
	return Message{}, err
}

// isEmpty reports whether a value is null or an object without members.
func isEmpty(value jsontext.Value) bool {
	return value.Kind() == 'n' || value.Kind() == '{' && len(bytes.Trim(value, "{} \t\r\n")) == 0
}

// stringValue returns the string that text stands for; ok is false if text is
// nil or another kind of value.
func stringValue(text jsontext.Value) (s string, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return "", false
	}
	return string(rawjson.Unquote(text)), true
}
