package traffic

import (
	"bytes"
	"hash/maphash"
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
	arguments []byte // of a tool or prompt
	uri       []byte // of a resource, with its quotes
	code      int
	toolError bool
	asks      bool
}

// each calls f for the messages of a batch, or for the only message.
func each(data []byte, f func([]byte)) {
	data = bytes.Trim(data, " \t\r\n")
	batch := scanner{data: data}
	if !bytes.HasSuffix(data, []byte("]")) || !batch.enter('[') {
		f(data)
		return
	}
	for message := batch.element(); len(message) > 0; message = batch.element() {
		f(message)
	}
}

// read reads a message, in the revisions of both eras.
func (e *envelope) read(data []byte) {
	e.kind = Invalid
	if !bytes.HasSuffix(data, []byte("}")) {
		return
	}
	var isResult, isError bool
	s := scanner{data: data}
	for name := range s.members() {
		switch string(name) {
		case "id":
			e.id = s.value()
		case "method":
			e.method = unquoted(s.value())
		case "params":
			e.readParams(&s)
		case "result":
			isResult = true
			e.readResult(&s)
		case "error":
			isError = !bytes.HasPrefix(data[s.at:], []byte("null"))
			e.readError(&s)
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

func (e *envelope) readParams(s *scanner) {
	for name := range s.members() {
		switch string(name) {
		case "name":
			e.name = unquoted(s.value())
		case "clientInfo":
			e.readClient(s)
		case "arguments":
			e.arguments = s.value()
		case "uri":
			e.uri = s.value()
		case "requestState":
			e.state = s.value()
		case "_meta":
			e.readMeta(s)
		}
	}
}

func (e *envelope) readMeta(s *scanner) {
	for name := range s.members() {
		switch string(name) {
		case mcp.MetaTraceparent:
			e.trace = traceID(unquoted(s.value()))
		case mcp.MetaClientInfo:
			e.readClient(s)
		}
	}
}

func (e *envelope) readClient(s *scanner) {
	for name := range s.members() {
		if string(name) == "name" {
			e.client = unquoted(s.value())
		}
	}
}

// readResult reads a result. It leaves out what follows the features of a list or their contents, which can be long,
// unless there may be more to read.
func (e *envelope) readResult(s *scanner) {
	for name := range s.members() {
		switch string(name) {
		case "resultType":
			e.asks = string(unquoted(s.value())) == string(mcp.ResultInputRequired)
		case "requestState":
			e.state = s.value()
		case "isError":
			e.toolError = string(s.value()) == "true"
		case "tools", "prompts", "resources", "resourceTemplates", "contents", "messages":
			if e.id != nil && !mayHaveMore(s.data[s.at:]) {
				s.end()
			}
		}
	}
}

// mayHaveMore reports whether a part of a message may have members that readResult reads. It searches the text, which is
// much faster than to find the members. A name with an escape is not found, so a text with such escapes may have any.
func mayHaveMore(rest []byte) bool {
	for _, text := range []string{`"isError"`, `"resultType"`, `"requestState"`, `\u`} {
		if bytes.Contains(rest, []byte(text)) {
			return true
		}
	}
	return false
}

func (e *envelope) readError(s *scanner) {
	for name := range s.members() {
		if string(name) == "code" {
			e.code, _ = strconv.Atoi(string(s.value()))
		}
	}
}

// hashOfAsked returns a hash of what a request of a client asks for: a tool or prompt with its arguments, or a resource.
// It is the same for the request to the host and for that which the host sends for it to an upstream. It is 0 for
// other requests.
func (e *envelope) hashOfAsked(seed maphash.Seed, upstream string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	switch string(e.method) {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		switch {
		case upstream == "":
			_, _ = h.Write(e.name)
		case isPlainName(e.name, upstream):
			_, _ = h.WriteString(upstream)
			_, _ = h.WriteString("__")
			_, _ = h.Write(e.name)
		default:
			_, _ = h.WriteString(mcp.QualifiedName(upstream, string(e.name)))
		}
		_ = h.WriteByte(0)
		if string(e.arguments) != "{}" { // a host may send none as an empty object
			_, _ = h.Write(e.arguments)
		}
	case mcp.MethodResourcesRead:
		_, _ = h.Write(e.uri)
	default:
		return 0
	}
	_, _ = h.Write(e.method)
	return max(1, h.Sum64())
}

// isPlainName reports whether mcp.QualifiedName only joins a name to that of its server.
func isPlainName(name []byte, server string) bool {
	const longest = 64
	for _, c := range name {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return false
		}
	}
	return len(server)+len("__")+len(name) <= longest
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
