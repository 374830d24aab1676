package traffic

import (
	"bytes"
	"strconv"

	"github.com/fondaco/fondaco/mcp"
)

// envelope is what a Recorder reads of one JSON-RPC message. Its slices are parts of the message.
type envelope struct {
	kind      Kind
	method    []byte
	id        []byte
	name      []byte // of a tool or prompt
	client    []byte // the name of the client, where it says who it is
	trace     []byte
	state     []byte // the requestState, with its quotes
	code      int
	toolError bool
	asks      bool
}

// each calls f for the messages of a batch, or for the only message.
func each(data []byte, f func([]byte)) {
	data = bytes.Trim(data, " \t\r\n")
	batch, ok := in(data, '[')
	if !ok {
		f(data)
		return
	}
	for {
		message := batch.element()
		if len(message) == 0 {
			return
		}
		f(message)
	}
}

// read reads a message, in the revisions of both eras.
func (e *envelope) read(data []byte) {
	e.kind = Invalid
	members, ok := in(data, '{')
	if !ok {
		return
	}
	var isResult, isError bool
	for {
		name, value, ok := members.member()
		if !ok {
			break
		}
		switch string(unquoted(name)) {
		case "id":
			e.id = value
		case "method":
			e.method = unquoted(value)
		case "params":
			e.readParams(value)
		case "result":
			isResult = true
			e.readResult(value)
		case "error":
			isError = !bytes.Equal(value, []byte("null"))
			e.readError(value)
		}
	}
	switch {
	case len(e.method) > 0 && e.id == nil:
		e.kind = Notification
	case len(e.method) > 0:
		e.kind = Request
	case isError:
		e.kind = Error
	case isResult:
		e.kind = Result
	default:
		*e = envelope{kind: Invalid}
	}
}

func (e *envelope) readParams(params []byte) {
	members, _ := in(params, '{')
	for {
		name, value, ok := members.member()
		if !ok {
			return
		}
		switch string(unquoted(name)) {
		case "name":
			e.name = unquoted(value)
		case "clientInfo":
			e.readClient(value)
		case "requestState":
			e.state = value
		case "_meta":
			e.readMeta(value)
		}
	}
}

func (e *envelope) readMeta(meta []byte) {
	members, _ := in(meta, '{')
	for {
		name, value, ok := members.member()
		if !ok {
			return
		}
		switch string(unquoted(name)) {
		case mcp.MetaTraceparent:
			e.trace = traceID(unquoted(value))
		case mcp.MetaClientInfo:
			e.readClient(value)
		}
	}
}

func (e *envelope) readClient(info []byte) {
	members, _ := in(info, '{')
	for {
		name, value, ok := members.member()
		if !ok {
			return
		}
		if string(unquoted(name)) == "name" {
			e.client = unquoted(value)
		}
	}
}

func (e *envelope) readResult(result []byte) {
	members, _ := in(result, '{')
	for {
		name, value, ok := members.member()
		if !ok {
			return
		}
		switch string(unquoted(name)) {
		case "resultType":
			e.asks = string(unquoted(value)) == string(mcp.ResultInputRequired)
		case "requestState":
			e.state = value
		case "isError":
			e.toolError = string(value) == "true"
		}
	}
}

func (e *envelope) readError(err []byte) {
	members, _ := in(err, '{')
	for {
		name, value, ok := members.member()
		if !ok {
			return
		}
		if string(unquoted(name)) == "code" {
			e.code, _ = strconv.Atoi(string(value))
		}
	}
}

// traceID returns the trace id of a traceparent, or nil.
//
// Spec: W3C Trace Context, traceparent header field values
func traceID(parent []byte) []byte {
	const version, id = len("00-"), 32
	if len(parent) < version+id+1 || parent[version-1] != '-' || parent[version+id] != '-' {
		return nil
	}
	trace := parent[version : version+id]
	for _, c := range trace {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return nil
		}
	}
	return trace
}
