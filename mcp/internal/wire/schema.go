package wire

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// Schema is the JSON Schema of the messages of one revision. It is safe for
// concurrent use.
type Schema struct {
	facts *dialect.Facts
	// defs are the definitions, and parts are the parts of messages by their keys.
	defs  map[string]node
	parts map[string]messagePart
	// extended are the methods of extensions.
	extended map[string]bool

	mu       sync.Mutex
	compiled map[string]*jsonschema.Validator
}

// messagePart is a part of a message.
type messagePart struct {
	schema node
	// optional means that the part may be missing.
	optional bool
}

// NewSchema generates the schema of a revision and of the methods of extensions. If the
// revision defines a method itself, only the results of the extension are added. If strict is
// set, members that exist only in other revisions are invalid, although a peer would ignore
// them, and so are results of another type.
func NewSchema(f *dialect.Facts, methods map[string]Method, strict bool) *Schema {
	s := &Schema{
		facts:    f,
		parts:    make(map[string]messagePart),
		extended: make(map[string]bool),
		compiled: make(map[string]*jsonschema.Validator),
	}
	for name := range methods {
		s.extended[name] = true
	}
	g := &generator{facts: f, strict: strict, methods: methodsOf(f, methods), defs: make(map[string]node)}
	s.defs = g.defs
	for name, m := range g.methods {
		s.add(g, name, m)
	}
	s.parts[anyResult] = messagePart{schema: of[mcp.EmptyResult](g)}
	for code, data := range errorData {
		if number, ok := f.Numbers[code]; ok {
			s.parts[errorKey(number)] = messagePart{schema: record([]string{"code", "data", "message"}, node{
				"code": node{"const": number}, "message": str(g), "data": g.of(reflect.TypeOf(data)),
			})}
		}
	}
	return s
}

// methodsOf returns the methods of a revision and the extensions.
func methodsOf(f *dialect.Facts, extensions map[string]Method) map[string]Method {
	all := make(map[string]Method)
	maps.Copy(all, extensions)
	for name, m := range requests {
		if f.ClientRequests[name] || f.ServerRequests[name] {
			all[name] = Method{m.Params, slices.Concat(m.Results, extensions[name].Results)}
		}
	}
	for name, m := range notifications {
		if f.ClientNotifications[name] || f.ServerNotifications[name] {
			all[name] = m
		}
	}
	return all
}

// The keys of Schema.parts.
const anyResult = "result"

func paramsKey(method string) string { return "params of " + method }
func resultKey(method string) string { return "result of " + method }
func errorKey(number int64) string   { return fmt.Sprint("error ", number) }

func (s *Schema) add(g *generator, name string, m Method) {
	params := g.params(m)
	own := len(m.Results) == 0 && m.Params != nil // a notification with params
	s.parts[paramsKey(name)] = messagePart{params, !own && !g.demands(params)}
	var results []any
	for _, r := range m.Results {
		if g.has(r) {
			results = append(results, g.of(reflect.TypeOf(r)))
		}
	}
	if len(results) > 0 {
		s.parts[resultKey(name)] = messagePart{schema: node{"anyOf": results}}
	}
}

// knows reports whether the revision, or an extension, has the method.
func (s *Schema) knows(method string) bool {
	_, ok := s.parts[paramsKey(method)]
	return ok
}

// sends reports whether a side may send a message of the kind and method. Both
// sides may send messages of extensions.
func (s *Schema) sends(from Side, kind jsonrpc.Kind, method string) bool {
	if s.extended[method] {
		return true
	}
	return map[Side]map[jsonrpc.Kind]map[string]bool{
		Client: {jsonrpc.Request: s.facts.ClientRequests, jsonrpc.Notification: s.facts.ClientNotifications},
		Server: {jsonrpc.Request: s.facts.ServerRequests, jsonrpc.Notification: s.facts.ServerNotifications},
	}[from][kind][method]
}

// isKnown reports whether any revision has the method.
func isKnown(method string) bool {
	_, isRequest := requests[method]
	_, isNotification := notifications[method]
	return isRequest || isNotification
}

// Params validates the params of a request or notification, which may be nil.
// It does not validate params of unknown methods.
func (s *Schema) Params(method string, params jsontext.Value) error {
	return s.check(paramsKey(method), params)
}

// Result checks the result of a request.
func (s *Schema) Result(method string, result jsontext.Value) error {
	if !s.knows(method) {
		return s.check(anyResult, result)
	}
	return s.check(resultKey(method), result)
}

// Error checks the error of a response: its number, and the data of errors with that
// number.
//
// Spec: 2026-07-28 basic#error-codes
func (s *Schema) Error(e *jsonrpc.Error) error {
	const reservedFrom, reservedTo = -32768, -32000
	if e.Code >= reservedFrom && e.Code <= reservedTo && s.facts.CodeFor(e.Code) == mcp.CodeOther {
		return fmt.Errorf("error %d: %s reserves the number without a meaning", e.Code, s.facts.Revision)
	}
	raw, err := json.Marshal(node{"code": e.Code, "message": e.Message, "data": e.Data})
	if err != nil {
		return err
	}
	return s.check(errorKey(e.Code), raw)
}

func (s *Schema) check(key string, value jsontext.Value) error {
	sh, ok := s.parts[key]
	switch {
	case !ok || value == nil && sh.optional:
		return nil
	case value == nil:
		return fmt.Errorf("%s: missing", key)
	}
	v, err := s.validator(key, sh)
	if err == nil {
		err = v.Validate(value)
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", key, s.facts.Revision, err)
	}
	return nil
}

func (s *Schema) validator(key string, sh messagePart) (*jsonschema.Validator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.compiled[key]; v != nil {
		return v, nil
	}
	text, err := json.Marshal(s.document(sh.schema), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	v, err := jsonschema.Compile(text, nil)
	if err != nil {
		return nil, err
	}
	s.compiled[key] = v
	return v, nil
}

// document returns a schema with the definitions that it needs.
func (s *Schema) document(root node) node {
	used := make(node)
	s.gather(root, used)
	doc := maps.Clone(root)
	if len(used) > 0 {
		doc["$defs"] = used
	}
	return doc
}

// gather adds the definitions that a part of a schema refers to.
func (s *Schema) gather(v any, used node) {
	switch v := v.(type) {
	case node:
		if ref, ok := v["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, definitions)
			if used[name] == nil {
				used[name] = s.defs[name]
				s.gather(s.defs[name], used)
			}
		}
		for _, part := range v {
			s.gather(part, used)
		}
	case []any:
		for _, part := range v {
			s.gather(part, used)
		}
	}
}

// Strict returns the strict schema of a revision without extensions. It is
// generated once.
func Strict(f *dialect.Facts) *Schema {
	s, _ := strict.LoadOrStore(f, sync.OnceValue(func() *Schema { return NewSchema(f, nil, true) }))
	return s.(func() *Schema)()
}

var strict sync.Map // of *dialect.Facts to func() *Schema
