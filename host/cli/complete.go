package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

var completeEntry = commandInfo{
	name: "complete", operands: "PROMPT|TEMPLATE KEY=TEXT...", does: "complete an argument of a prompt or resource template",
	about: `The last argument, of a prompt or a resource template, is completed; the ones
before it are fixed. Each value is a line.`,
	example: "complete demo/review language=G",
	make:    func() command { return new(completeCommand) },
}

type completeCommand struct{ serverFlags }

func (v *completeCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) < 2 {
		return usagef("found %d operands, want a prompt or a template, and KEY=TEXT", len(operands))
	}
	params := &mcp.CompleteParams{Context: &mcp.CompleteContext{Arguments: make(map[string]string)}}
	for _, pair := range operands[1:] {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return usagef("found %q, want KEY=VALUE", pair)
		}
		if earlier := params.Argument; earlier.Name != "" {
			params.Context.Arguments[earlier.Name] = earlier.Value
		}
		params.Argument = mcp.CompleteArgument{Name: name, Value: value}
	}
	p, err := v.connect(ctx, m, keyIn(operands[0]), nil)
	if err != nil {
		return err
	}
	if params.Ref, err = p.reference(ctx, m, operands[0]); err != nil {
		return err
	}
	completion, err := p.Complete(ctx, params)
	switch {
	case err != nil:
		return err
	case v.json:
		return m.WriteDocument(terminal.Document{"completion": completion})
	}
	for _, value := range completion.Values {
		if err := m.WriteLine("%s", value); err != nil {
			return err
		}
	}
	if completion.HasMore {
		m.Info("there are more")
	}
	return nil
}

// reference returns the reference of a completion: a template if one has this text, else
// a prompt.
func (p *serverConn) reference(ctx context.Context, m *Main, written string) (mcp.Reference, error) {
	templates, err := optionalList(p.Templates(ctx))
	if err != nil {
		return mcp.Reference{}, err
	}
	if slices.ContainsFunc(templates, func(t mcp.ResourceTemplate) bool { return t.URITemplate == written }) {
		return mcp.ResourceRef(written), nil
	}
	prompt, err := p.promptNamed(ctx, m, written)
	return mcp.PromptRef(prompt.Name), err
}
