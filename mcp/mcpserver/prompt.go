package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// PromptHandler returns the messages of a prompt. The result is an *mcp.GetPromptResult, or
// another result type that prompts/get may have. The rules of
// [ToolHandler] apply to the answers in p.InputResponses.
type PromptHandler func(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error)

// PromptOption is an option of a prompt.
type PromptOption interface{ prompt(p *prompt) }

// prompt is a registered prompt.
type prompt struct {
	common
	def  mcp.Prompt
	make PromptHandler
}

func (p *prompt) Key() string     { return p.def.Name }
func (p *prompt) Definition() any { return &p.def }

// Prompt registers a prompt whose arguments are the fields of Args, a struct of strings,
// numbers and booleans with the same tags as arguments of tools. h runs on several
// goroutines at once. Prompt panics when the name is empty or registered already, when h
// is nil, and when a type or tag is not valid.
func (s *Server) Prompt[Args any](name, description string, h func(context.Context, Args) ([]mcp.PromptMessage, error), opts ...PromptOption) {
	p, err := s.typedPrompt(name, description, h)
	if err == nil {
		err = s.addPrompt(p, opts, false)
	}
	if err != nil {
		panic(fmt.Sprintf("prompt %q: %v", name, err))
	}
}

// AddPrompt registers a prompt with its definition and a handler of raw arguments. The
// definition is copied. It panics as Prompt does.
func (s *Server) AddPrompt(def mcp.Prompt, h PromptHandler, opts ...PromptOption) {
	if err := s.addPrompt(&prompt{def: def, make: h}, opts, false); err != nil {
		panic(fmt.Sprintf("prompt %q: %v", def.Name, err))
	}
}

// ReplacePrompt registers a prompt as Prompt does, in place of the prompt of that name, if
// there is one. The rules of ReplaceTool apply.
func (s *Server) ReplacePrompt[Args any](name, description string, h func(context.Context, Args) ([]mcp.PromptMessage, error), opts ...PromptOption) error {
	p, err := s.typedPrompt(name, description, h)
	if err == nil {
		err = s.addPrompt(p, opts, true)
	}
	if err != nil {
		return fmt.Errorf("prompt %q: %w", name, err)
	}
	return nil
}

// SetPrompt registers a prompt as AddPrompt does, in place of the prompt of that name, if
// there is one. It returns the error that AddPrompt would panic with.
func (s *Server) SetPrompt(def mcp.Prompt, h PromptHandler, opts ...PromptOption) error {
	if err := s.addPrompt(&prompt{def: def, make: h}, opts, true); err != nil {
		return fmt.Errorf("prompt %q: %w", def.Name, err)
	}
	return nil
}

// RemovePrompt removes a prompt and reports whether it was registered.
func (s *Server) RemovePrompt(name string) bool { return s.features.Remove(registry.Prompts, name) }

// EnablePrompt enables or disables a prompt and reports whether that was a change. A
// disabled prompt is unknown to clients.
func (s *Server) EnablePrompt(name string, on bool) bool {
	return s.features.Enable(registry.Prompts, name, on)
}

// UserMessage returns a prompt message of the role user with the given text.
func UserMessage(text string) mcp.PromptMessage {
	return mcp.PromptMessage{Role: mcp.RoleUser, Content: mcp.Text(text)}
}

func (s *Server) addPrompt(p *prompt, opts []PromptOption, replace bool) error {
	if err := p.apply(opts); err != nil {
		return err
	}
	if !s.features.Put(registry.Prompts, p, replace) {
		return errors.New("registered already; want another name, or ReplacePrompt or SetPrompt to replace it")
	}
	return nil
}

// apply applies the options to a prompt, or returns what is wrong with it.
func (p *prompt) apply(opts []PromptOption) error {
	p.def = copyPrompt(p.def)
	if err := applyOptions(opts, func(o PromptOption) { o.prompt(p) }); err != nil {
		return err
	}
	p.def = copyPrompt(p.def)
	if err := p.checkIcons(&p.def.Icons); err != nil {
		return err
	}
	var names []string
	for _, a := range p.def.Arguments {
		if slices.Contains(names, a.Name) && !p.proxied {
			return fmt.Errorf("argument %q: is defined twice", a.Name)
		}
		names = append(names, a.Name)
	}
	switch {
	case p.def.Name == "":
		return errors.New("the name is empty")
	case p.make == nil:
		return errors.New("the handler is nil")
	case !coversAll(names, p.completers):
		return fmt.Errorf("completion: want arguments of the prompt: %v", names)
	}
	return nil
}

// typedPrompt returns a prompt that calls a typed Go function.
func (s *Server) typedPrompt[Args any](name, description string, h func(context.Context, Args) ([]mcp.PromptMessage, error)) (*prompt, error) {
	if h == nil {
		return nil, errors.New("the handler is nil")
	}
	b, err := newBinder(reflect.TypeFor[Args](), s.options.schemas())
	if err != nil {
		return nil, err
	}
	def := mcp.Prompt{Name: name, Description: description}
	for _, f := range b.fields {
		def.Arguments = append(def.Arguments, mcp.PromptArgument{
			Name: f.Name, Title: f.Title, Description: f.Description, Required: f.Required,
		})
	}
	return &prompt{common: common{enums: b.completers()}, def: def, make: func(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
		var args Args
		if err := b.bind(p.Arguments, &args); err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "prompt %q: %v", name, err)
		}
		messages, err := h(ctx, args)
		return &mcp.GetPromptResult{Description: description, Messages: messages}, err
	}}, nil
}

var promptListing = listing{registry.Prompts, func(page []registry.Feature, next *string, hints mcp.Caching) any {
	r := &mcp.ListPromptsResult{NextCursor: next, Caching: hints, Prompts: make([]mcp.Prompt, len(page))}
	for i, f := range page {
		r.Prompts[i] = f.(*prompt).def
	}
	return r
}}

func (s *Server) listPrompts(_ context.Context, r *Request) (any, error) {
	return s.list(r, promptListing)
}

// getPrompt handles prompts/get.
//
// Spec: 2026-07-28 server/prompts#getting-a-prompt
func (s *Server) getPrompt(ctx context.Context, r *Request) (any, error) {
	snap := s.features.Snapshot()
	if !snap.Offers(registry.Prompts) {
		return nil, undeclared(r.method)
	}
	var params mcp.GetPromptParams
	if err := r.Decode(&params); err != nil {
		return nil, err
	}
	p, ok := lookup[*prompt](snap, r, registry.Prompts, params.Name)
	if !ok {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "prompt %q: unknown", cleanText(params.Name, 128))
	}
	if err := r.RequireScopes(p.Scopes...); err != nil {
		return nil, err
	}
	if err := p.checkArguments(params.Arguments); err != nil {
		return nil, err
	}
	result, err := r.runHandler(ctx, &params.InputResponseParams, func(ctx context.Context) (mcp.Result, error) {
		if err := r.resume(); err != nil {
			return nil, err
		}
		return p.make(ctx, &params)
	})
	if err != nil {
		return nil, err
	}
	if err := p.checkMessages(result); err != nil {
		return nil, fmt.Errorf("prompt %q: %w", params.Name, err)
	}
	return result, nil
}

func (p *prompt) checkArguments(args map[string]string) error {
	i := slices.IndexFunc(p.def.Arguments, func(a mcp.PromptArgument) bool {
		_, given := args[a.Name]
		return a.Required && !given && !p.proxied
	})
	if i < 0 {
		return nil
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "prompt %q: argument %q is missing", p.def.Name, p.def.Arguments[i].Name)
}

// checkMessages returns an error for a message without a valid role or content.
func (p *prompt) checkMessages(result mcp.Result) error {
	if err := checkNotNil(result); err != nil {
		return err
	}
	r, ok := result.(*mcp.GetPromptResult)
	if !ok || p.proxied {
		return nil
	}
	if err := checkMeta(r.Meta); err != nil {
		return err
	}
	for i, m := range r.Messages {
		if m.Role != mcp.RoleUser && m.Role != mcp.RoleAssistant {
			return fmt.Errorf("message %d: role %q: want user or assistant", i, m.Role)
		}
		if err := checkContent(m.Content); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}
