package mcpserver

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// CompleteArg is the option that sets the completion (completion/complete) of an argument
// of a prompt or a variable of a resource template. Without it, the values of an enum of a
// typed prompt or template complete by their beginning. Registration fails if the feature
// has no argument or variable of that name. CompleteArg panics if c is nil.
func CompleteArg(name string, c Completer) CompletionOption {
	if c == nil {
		panic(fmt.Sprintf("mcpserver.CompleteArg: argument %q: the Completer is nil; leave the option out", name))
	}
	return completeArg{name: name, c: c}
}

// CompleteQuery is the option that completes an argument as CompleteArg does, from a database or
// another source with more values than are sent: query returns at most limit of them, and the
// client is told that there are others, but not how many. CompleteQuery panics if query is nil.
func CompleteQuery(name string, query func(ctx context.Context, c CompletionRequest, limit int) ([]string, error)) CompletionOption {
	if query == nil {
		panic(fmt.Sprintf("mcpserver.CompleteQuery: argument %q: the function is nil; leave the option out", name))
	}
	return completeArg{name: name, limited: true, c: func(ctx context.Context, c CompletionRequest) ([]string, error) {
		return query(ctx, c, maxCompletions+1)
	}}
}

// CompleteWith is the option that sets the completion (completion/complete) of all
// arguments of a prompt, or variables of a resource template, that have no CompleteArg.
// Only the first 100 values are sent. CompleteWith panics if c is nil.
func CompleteWith(c RawCompleter) CompletionOption {
	if c == nil {
		panic("mcpserver.CompleteWith: the RawCompleter is nil; leave the option out")
	}
	return completeWith(c)
}

type completeWith RawCompleter

func (w completeWith) resource(r *resource) { r.completeAny = RawCompleter(w) }
func (w completeWith) prompt(p *prompt)     { p.completeAny = RawCompleter(w) }

// CompletionOption is an option of prompts and resource templates.
type CompletionOption interface {
	ResourceOption
	PromptOption
}

type completeArg struct {
	name    string
	limited bool // c returns some of the values
	c       Completer
}

func (a completeArg) resource(r *resource) { a.add(&r.common) }
func (a completeArg) prompt(p *prompt)     { a.add(&p.common) }

func (a completeArg) add(c *common) {
	if c.completers == nil {
		c.completers = make(map[string]Completer)
	}
	c.completers[a.name] = a.c
	if a.limited && c.limited == nil {
		c.limited = make(map[string]bool)
	}
	if a.limited || c.limited[a.name] {
		c.limited[a.name] = a.limited
	}
}

// maxCompletions is the largest number of values in one result.
//
// Spec: 2026-07-28 server/utilities/completion
const maxCompletions = 100

// complete handles completion/complete.
func (s *Server) complete(ctx context.Context, r *Request) (any, error) {
	snap := s.features.Snapshot()
	if !snap.Completes() {
		return nil, undeclared(r.method)
	}
	var p mcp.CompleteParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	f, err := featureToComplete(snap, r, &p)
	if err != nil {
		return nil, err
	}
	if err := r.RequireScopes(f.Scopes...); err != nil {
		return nil, err
	}
	found, err := f.complete(ctx, &p)
	if err != nil {
		return nil, err
	}
	if len(found.Values) > maxCompletions {
		found.Values, found.HasMore = found.Values[:maxCompletions], true
	}
	return &mcp.CompleteResult{Completion: found}, nil
}

// complete calls the Completer of the argument, or else that of CompleteWith, or else
// completes the values of its enum. Without all of them it returns no values.
func (c *common) complete(ctx context.Context, p *mcp.CompleteParams) (found mcp.Completion, err error) {
	byName := c.completers[p.Argument.Name]
	if byName == nil && c.completeAny == nil {
		byName = c.enums[p.Argument.Name]
	}
	switch {
	case byName != nil:
		r := CompletionRequest{Argument: p.Argument.Name, Value: p.Argument.Value}
		if p.Context != nil {
			r.Others = p.Context.Arguments
		}
		found.Values, err = byName(ctx, r)
		if !c.limited[p.Argument.Name] {
			found.Total = new(int64(len(found.Values)))
		}
	case c.completeAny != nil:
		var raw *mcp.Completion
		if raw, err = c.completeAny(ctx, p); raw != nil {
			found = *raw
		}
	}
	return found, err
}

// featureToComplete returns the feature that the argument belongs to: a prompt, a template,
// or a resource, which a template may serve.
func featureToComplete(s *registry.Snapshot, r *Request, p *mcp.CompleteParams) (*common, error) {
	if p.Argument.Name == "" {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "completion: argument: want the name of one")
	}
	switch p.Ref.Type {
	case mcp.RefPrompt:
		f, ok := lookup[*prompt](s, r, registry.Prompts, p.Ref.Name)
		if !ok {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "completion: prompt %q: unknown", cleanText(p.Ref.Name, 128))
		}
		return &f.common, nil
	case mcp.RefResource:
		if f, ok := lookup[*resource](s, r, registry.Templates, p.Ref.URI); ok {
			return &f.common, nil
		}
		if f := resourceFor(s, r, p.Ref.URI); f != nil {
			return &f.common, nil
		}
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "completion: resource %q: unknown", cleanText(p.Ref.URI, 128))
	}
	return nil, mcp.Errorf(mcp.CodeInvalidParams, "completion: ref type %q: want %s or %s", cleanText(string(p.Ref.Type), 64), mcp.RefPrompt, mcp.RefResource)
}
