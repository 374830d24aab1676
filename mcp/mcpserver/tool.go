package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// ToolHandler handles one call of a tool with raw arguments, which are valid under the
// tool's input schema. The result is an *mcp.CallToolResult, or another result type that
// tools/call may have. An *mcp.Error is a protocol error. The text of any other error is
// sent to the model.
//
// A handler that returns an *mcp.InputRequiredResult gets the answers in p.InputResponses.
// It must use them only if Request.Round is not 0, because answers in a request without
// requestState are those that the client chose to send, see [mcp.InputResponseParams].
type ToolHandler func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error)

// ToolOption is an option of a tool.
type ToolOption interface{ tool(t *tool) }

// tool is a registered tool.
type tool struct {
	common
	def        mcp.Tool
	call       ToolHandler
	typed      bool // the author's function gets the arguments alone
	unchecked  bool // the handler validates the arguments
	durable    bool
	input      *jsonschema.Validator
	addMissing func(jsontext.Value) jsontext.Value // nil when the arguments are used as they are
	output     *jsonschema.Validator               // nil when the tool has no output schema
	mirrors    []dialect.Mirror
	timeout    time.Duration
	slots      *limit.Gate[limit.Owner] // of Limit; nil when unlimited
	rate       ownerRate
	wraps      []func(ToolHandler) ToolHandler
	perform    ToolHandler // a whole call with valid arguments, wraps folded in
}

func (t *tool) Key() string     { return t.def.Name }
func (t *tool) Definition() any { return &t.def }

// Tool registers a tool whose arguments and result are Go types. The input schema is
// inferred from In, a struct, and its tags; arguments are validated against it before h
// runs. Out determines the form of the result: a string becomes text; an mcp.Content,
// mcp.Contents or *mcp.CallToolResult is sent as it is; any other type becomes structured
// content, with a schema that is inferred from Out, and its JSON also becomes text. An
// *mcp.Error of h is a protocol error. The text of any other error is sent to the model.
//
// A result that is nil, or not valid under the output schema, is a mistake of the author. The
// caller gets an internal error with an incident id, and the log has the reason, with this id,
// unless Options.AllowInvalidResults sends the result nevertheless.
//
// h runs on several goroutines at once. Tool panics when the name is registered already,
// when h is nil, and when a type, tag, name or option is not valid; the message says what
// to write instead.
func (s *Server) Tool[In, Out any](name, description string, h func(context.Context, In) (Out, error), opts ...ToolOption) {
	t, err := s.typedTool(name, description, h)
	if err == nil {
		err = s.addTool(t, opts, false)
	}
	if err != nil {
		panic(fmt.Sprintf("tool %q: %v", name, err))
	}
}

// AddTool registers a tool with its definition and a handler of raw arguments. The
// definition is copied. An empty input schema accepts any object. Arguments are validated
// against the schema unless there is the option [AllowInvalidArguments]. AddTool panics as
// Tool does, and for a schema with a pattern that is not in RE2 syntax, which would not be
// checked: [AllowInvalidArguments] registers such an input schema, [Proxied] such an output
// schema.
func (s *Server) AddTool(def mcp.Tool, h ToolHandler, opts ...ToolOption) {
	if err := s.addTool(&tool{def: def, call: h}, opts, false); err != nil {
		panic(fmt.Sprintf("tool %q: %v", def.Name, err))
	}
}

// ReplaceTool registers a tool as Tool does, in place of the tool of that name, if there
// is one. Handler and options are the new ones; a tool that EnableTool switched off stays
// off. Calls that are running go on with the old tool. Clients are notified when the
// definition differs, or when one of the two tools has the option Visible. ReplaceTool
// returns the error that Tool would panic with, and changes nothing then.
func (s *Server) ReplaceTool[In, Out any](name, description string, h func(context.Context, In) (Out, error), opts ...ToolOption) error {
	t, err := s.typedTool(name, description, h)
	if err == nil {
		err = s.addTool(t, opts, true)
	}
	if err != nil {
		return fmt.Errorf("tool %q: %w", name, err)
	}
	return nil
}

// SetTool registers a tool as AddTool does, in place of the tool of that name, if there is
// one, as ReplaceTool does for Tool. It returns the error that AddTool would panic with.
func (s *Server) SetTool(def mcp.Tool, h ToolHandler, opts ...ToolOption) error {
	if err := s.addTool(&tool{def: def, call: h}, opts, true); err != nil {
		return fmt.Errorf("tool %q: %w", def.Name, err)
	}
	return nil
}

// RemoveTool removes a tool and reports whether it was registered. Running calls of it
// continue.
func (s *Server) RemoveTool(name string) bool {
	s.workers.setDurable(name, false)
	return s.features.Remove(registry.Tools, name)
}

// EnableTool enables or disables a tool and reports whether that was a change. A
// disabled tool is unknown to clients.
func (s *Server) EnableTool(name string, on bool) bool {
	return s.features.Enable(registry.Tools, name, on)
}

func (s *Server) addTool(t *tool, opts []ToolOption, replace bool) error {
	if err := s.prepareTool(t, opts); err != nil {
		return err
	}
	if !s.features.Put(registry.Tools, t, replace) {
		return errors.New("registered already; want another name, or ReplaceTool or SetTool to replace it")
	}
	s.workers.setDurable(t.def.Name, t.durable)
	s.startWorkers()
	return nil
}

// prepareTool applies the options to a tool and makes it ready to be called.
func (s *Server) prepareTool(t *tool, opts []ToolOption) error {
	t.def = copyTool(t.def)
	if err := applyOptions(opts, func(o ToolOption) { o.tool(t) }); err != nil {
		return err
	}
	t.def = copyTool(t.def)
	if err := t.check(s.dialect.NumberHeaders()); err != nil {
		return err
	}
	if check := s.options.orZero().CheckTool; check != nil {
		if err := usercode.Run(func() error { return check(copyTool(t.def)) }); err != nil {
			return fmt.Errorf("option CheckTool: %w", err)
		}
	}
	t.perform = func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) { return s.perform(ctx, t, p) }
	for _, wrap := range slices.Backward(t.wraps) {
		if err := usercode.Run(func() error { t.perform = wrap(t.perform); return nil }); err != nil {
			return fmt.Errorf("option Wrap: %w", err)
		}
		if t.perform == nil {
			return errors.New("option Wrap: the function returned nil; want a handler that calls next")
		}
	}
	return nil
}

// typedTool returns a tool that calls a typed Go function.
func (s *Server) typedTool[In, Out any](name, description string, h func(context.Context, In) (Out, error)) (*tool, error) {
	if h == nil {
		return nil, errors.New("the handler is nil")
	}
	in, err := argumentsOf(reflect.TypeFor[In](), s.options.schemas())
	if err != nil {
		return nil, withAdvice(err, "AllowInvalidArguments for AddTool, whose handler checks the arguments itself")
	}
	shape, out, err := resultEncoderOf(reflect.TypeFor[Out](), s.options.schemas())
	if err != nil {
		return nil, withAdvice(err, "Proxied for AddTool, with which neither arguments nor results are checked")
	}
	t := &tool{
		def:        mcp.Tool{Name: name, Description: description, InputSchema: in.schema, OutputSchema: out},
		typed:      true,
		input:      in.validator,
		addMissing: in.missing.add,
	}
	if out != nil {
		t.output = jsonschema.Lazy(out, nil)
	}
	t.call = func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		var args In
		if err := decodeValid("arguments", p.Arguments, &args); err != nil {
			return nil, &badArguments{name, err}
		}
		value, err := h(ctx, args)
		if err != nil {
			return nil, err
		}
		return shape(value)
	}
	return t, nil
}

// isToolName reports whether a name is 1 to 128 letters, digits, '_', '-' or '.'.
func isToolName(name string) bool {
	return len(name) >= 1 && len(name) <= 128 && !strings.ContainsFunc(name, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !letter && (r < '0' || '9' < r) && r != '_' && r != '-' && r != '.'
	})
}

// check sets missing schemas, or returns what is wrong with a tool. numbers is whether
// number arguments may be mirrored in HTTP headers.
//
// Spec: 2026-07-28 server/tools#tool-names
func (t *tool) check(numbers bool) error {
	if !isToolName(t.def.Name) {
		return errors.New("name: want 1 to 128 letters, digits, '_', '-' or '.'")
	}
	if t.call == nil {
		return errors.New("the handler is nil")
	}
	if t.typed && t.unchecked {
		return errors.New("option AllowInvalidArguments: the handler has typed arguments; use AddTool, whose handler can validate them")
	}
	if err := t.checkIcons(&t.def.Icons); err != nil {
		return err
	}
	if len(t.def.InputSchema) == 0 {
		t.def.InputSchema = jsontext.Value(`{"type":"object"}`)
	}
	makeSchemas := t.compile
	if t.proxied {
		makeSchemas = t.checkSchemas
	}
	if err := makeSchemas(); err != nil {
		return err
	}
	params, err := jsonschema.HeaderParams(t.def.InputSchema, numbers)
	if err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	for _, p := range params {
		t.mirrors = append(t.mirrors, dialect.Mirror{Name: p.Name, Path: p.Path})
	}
	return nil
}

// compile checks and compiles the schemas of the author. Inferred schemas are compiled
// already.
func (t *tool) compile() (err error) {
	if t.input == nil {
		if !isObjectSchema(t.def.InputSchema) {
			return errors.New(`input schema: want an object with "type": "object" at its root`)
		}
		compile := jsonschema.CompileStrict
		if t.unchecked {
			compile = compileLeniently
		}
		if t.input, err = compile(t.def.InputSchema); err != nil {
			return fmt.Errorf("input schema: %w", withAdvice(err, "AllowInvalidArguments, with which the handler checks the arguments itself"))
		}
	}
	if t.output == nil && len(t.def.OutputSchema) > 0 {
		if t.output, err = jsonschema.CompileStrict(t.def.OutputSchema); err != nil {
			return fmt.Errorf("output schema: %w", withAdvice(err, "Proxied, with which neither arguments nor results are checked"))
		}
	}
	return nil
}

// compileLeniently compiles a schema by which nothing is checked.
func compileLeniently(text jsontext.Value) (*jsonschema.Validator, error) {
	return jsonschema.Compile(text, nil)
}

// withAdvice adds to the error of a keyword that would not be checked which option registers the tool all the same.
func withAdvice(err error, option string) error {
	if _, ok := errors.AsType[*jsonschema.UncheckedError](err); ok {
		return fmt.Errorf("%w, or the option %s", err, option)
	}
	return err
}

var toolListing = listing{registry.Tools, func(page []registry.Feature, next *string, hints mcp.Caching) any {
	r := &mcp.ListToolsResult{NextCursor: next, Caching: hints, Tools: make([]mcp.Tool, len(page))}
	for i, f := range page {
		r.Tools[i] = f.(*tool).def
	}
	return r
}}

func (s *Server) listTools(_ context.Context, r *Request) (any, error) {
	return s.list(r, toolListing)
}
