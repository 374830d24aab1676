package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// ToolHandler does one call of a tool with raw arguments, which have passed the
// tool's input schema. The result is an *mcp.CallToolResult, or another result
// type that a call may have. An error is read by the model, but for *mcp.Error,
// which is a protocol error.
type ToolHandler func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error)

// ToolOption is an option of a tool.
type ToolOption interface{ tool(t *tool) }

// tool is a registered tool.
type tool struct {
	common
	def      mcp.Tool
	call     ToolHandler
	input    *jsonschema.Validator
	complete func(jsontext.Value) jsontext.Value // nil when the arguments are taken as they are
	output   *jsonschema.Validator               // nil when the tool has no output schema
	mirrors  []dialect.Mirror
	timeout  time.Duration
	slots    *limit.Slots  // nil when unlimited
	bucket   *limit.Bucket // nil when unlimited
	wraps    []func(ToolHandler) ToolHandler
	perform  ToolHandler // a whole call with valid arguments, wraps folded in
}

func (t *tool) key() string     { return t.def.Name }
func (t *tool) definition() any { return &t.def }

// Tool registers a tool whose arguments and result are Go types. The input
// schema is inferred from In, a struct, and its tags; arguments are validated
// against it before h runs. What becomes of the result depends on Out: a string
// is text; content of the vocabulary, one or several, is taken as it is, and so
// is an *mcp.CallToolResult; everything else is structured content under a
// schema inferred from Out, and its JSON as text. An error of h is a result that
// the model can read, but for *mcp.Error, which is a protocol error.
//
// Tool panics when the tool is registered already or a type, tag or name makes
// no sense; the message says what to write instead.
func (s *Server) Tool[In, Out any](name, description string, h func(context.Context, In) (Out, error), opts ...ToolOption) {
	t, err := typedTool(name, description, h)
	if err == nil {
		err = s.addTool(t, opts, false)
	}
	if err != nil {
		panic(fmt.Sprintf("tool %q: %v", name, err))
	}
}

// AddTool registers a tool with its definition and a handler of raw arguments.
// An empty input schema takes any object. It panics like Tool.
func (s *Server) AddTool(def mcp.Tool, h ToolHandler, opts ...ToolOption) {
	if err := s.addTool(&tool{def: def, call: h}, opts, false); err != nil {
		panic(fmt.Sprintf("tool %q: %v", def.Name, err))
	}
}

// ReplaceTool is Tool in place of the tool of that name, if there is one: handler
// and options are the new ones, and what EnableTool has set stays. Calls that are running go on with the old one. Clients hear of it
// when the definition differs, or when one of the two has the option Visible.
// ReplaceTool returns the error that Tool would panic with, and changes nothing
// then.
func (s *Server) ReplaceTool[In, Out any](name, description string, h func(context.Context, In) (Out, error), opts ...ToolOption) error {
	t, err := typedTool(name, description, h)
	if err == nil {
		err = s.addTool(t, opts, true)
	}
	if err != nil {
		return fmt.Errorf("tool %q: %w", name, err)
	}
	return nil
}

// SetTool is AddTool in place of the tool of that name, if there is one, as
// ReplaceTool is for Tool. It returns the error that AddTool would panic with.
func (s *Server) SetTool(def mcp.Tool, h ToolHandler, opts ...ToolOption) error {
	if err := s.addTool(&tool{def: def, call: h}, opts, true); err != nil {
		return fmt.Errorf("tool %q: %w", def.Name, err)
	}
	return nil
}

// RemoveTool removes a tool and reports whether there was one. Calls that are
// running go on.
func (s *Server) RemoveTool(name string) bool { return s.features.remove(kindTools, name) }

// EnableTool switches a tool on or off and reports whether that changed
// anything. A tool that is off is unknown to clients.
func (s *Server) EnableTool(name string, on bool) bool {
	return s.features.enable(kindTools, name, on)
}

func (s *Server) addTool(t *tool, opts []ToolOption, replace bool) error {
	t.def = copyTool(t.def)
	for _, o := range opts {
		o.tool(t)
	}
	t.def = copyTool(t.def)
	if err := t.check(s.dialect.NumberHeaders()); err != nil {
		return err
	}
	t.perform = func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) { return s.perform(ctx, t, p) }
	for _, wrap := range slices.Backward(t.wraps) {
		t.perform = wrap(t.perform)
	}
	if !s.features.put(kindTools, t, replace) {
		return errors.New("registered already; want another name, or ReplaceTool or SetTool to replace it")
	}
	return nil
}

// isToolName reports whether a name is 1 to 128 letters, digits, '_', '-' or '.'.
func isToolName(name string) bool {
	return len(name) >= 1 && len(name) <= 128 && !strings.ContainsFunc(name, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !letter && (r < '0' || '9' < r) && r != '_' && r != '-' && r != '.'
	})
}

// check makes a tool complete, or says what is wrong with it. Numbers says whether
// arguments that are numbers may be mirrored in headers.
//
// Spec: 2026-07-28 server/tools#tool-names
func (t *tool) check(numbers bool) error {
	if !isToolName(t.def.Name) {
		return errors.New("name: want 1 to 128 letters, digits, '_', '-' or '.'")
	}
	if t.call == nil {
		return errors.New("the handler is nil")
	}
	if err := checkIcons(t.def.Icons); err != nil {
		return err
	}
	if len(t.def.InputSchema) == 0 {
		t.def.InputSchema = jsontext.Value(`{"type":"object"}`)
	}
	if err := t.compile(); err != nil {
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

// compile checks and compiles the schemas that are the author's own. Inferred
// ones have been compiled on the way.
func (t *tool) compile() (err error) {
	if t.input == nil {
		if !isObjectSchema(t.def.InputSchema) {
			return errors.New(`input schema: want an object with "type": "object" at its root`)
		}
		if t.input, err = jsonschema.Compile(t.def.InputSchema, nil); err != nil {
			return fmt.Errorf("input schema: %w", err)
		}
	}
	if t.output == nil && len(t.def.OutputSchema) > 0 {
		if t.output, err = jsonschema.Compile(t.def.OutputSchema, nil); err != nil {
			return fmt.Errorf("output schema: %w", err)
		}
	}
	return nil
}

var toolListing = listing{kindTools, func(page []feature, next *string, hints mcp.Caching) any {
	r := &mcp.ListToolsResult{NextCursor: next, Caching: hints, Tools: make([]mcp.Tool, len(page))}
	for i, f := range page {
		r.Tools[i] = f.(*tool).def
	}
	return r
}}

func (s *Server) listTools(_ context.Context, r *Request) (any, error) {
	return s.list(r, toolListing)
}

// callTool does tools/call: a malformed request is a protocol error, arguments
// that break the schema are an answer that the model can read.
//
// Spec: 2026-07-28 server/tools#calling-tools
func (s *Server) callTool(ctx context.Context, r *Request) (any, error) {
	snap := s.features.snapshot()
	if !snap.declared[kindTools] {
		return nil, undeclared(r.Method)
	}
	p, err := r.call.ToolCall()
	if err != nil {
		return nil, err
	}
	t, ok := lookup[*tool](snap, kindTools, p.Name, r.Identity())
	if !ok {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "tool %q: unknown", cleanText(p.Name, 128))
	}
	if err := r.RequireScopes(t.scopes...); err != nil {
		return nil, err
	}
	if p.Task != nil && s.takesTasks(r.call.Facts) && t.def.TaskSupport() == mcp.TaskForbidden {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "tool %q: cannot be called as a task", p.Name)
	}
	if len(p.Arguments) == 0 {
		p.Arguments = jsontext.Value("{}")
	}
	if p.Arguments.Kind() != '{' {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "tool %q: arguments: want an object", p.Name)
	}
	if err := r.call.CheckParams(t.mirrors, p.Arguments); err != nil {
		return nil, err
	}
	if t.complete != nil {
		p.Arguments = t.complete(p.Arguments)
	}
	if err := validateArguments(t.input, p.Arguments); err != nil {
		return s.toolError(ctx, r.call, p.Name, &badArguments{p.Name, err}), nil
	}
	return t.perform(ctx, &p)
}

// takesTasks reports whether the server has declared that calls of tools may ask to
// be tasks. Where it has not, the wish is ignored.
//
// Spec: 2025-11-25 basic/utilities/tasks#tool-level-negotiation
func (s *Server) takesTasks(f *dialect.Facts) bool {
	return f.TaskSupport && s.capabilities(f).Tasks.Takes(mcp.MethodToolsCall)
}

// perform runs the handler of a tool, with as many rounds as it asks for, and
// makes of what it returned what its caller gets.
func (s *Server) perform(ctx context.Context, t *tool, p *mcp.CallToolParams) (result mcp.Result, err error) {
	defer contain(&err)
	r := From(ctx)
	result, err = r.runHandler(ctx, &p.InputResponseParams, func(ctx context.Context) (mcp.Result, error) { return s.run(ctx, t, p) })
	if err == nil {
		err = t.checkResult(result)
	}
	return s.outcome(ctx, r, t, result, err)
}

// outcome turns what a tool returned into what its caller gets.
func (s *Server) outcome(ctx context.Context, r *Request, t *tool, result mcp.Result, err error) (mcp.Result, error) {
	if err == nil {
		return withText(result), nil
	}
	if _, ok := errors.AsType[*panicked](err); ok {
		return nil, err
	}
	if _, ok := errors.AsType[*badResult](err); ok {
		return nil, err
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Remote {
		if e.Code != mcp.CodeMissingCapability || r.call.Facts.Numbers[e.Code] != 0 {
			return nil, err
		}
	}
	return s.toolError(ctx, r.call, t.def.Name, err), nil
}

func isObjectSchema(raw jsontext.Value) bool {
	var root struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(raw, &root) == nil && root.Type == "object"
}
