package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

var promptsEntry = commandInfo{
	name: "prompts", does: "list the prompts",
	about:   "Arguments in brackets are optional.",
	example: "prompts",
	make:    func() command { return new(promptsCommand) },
}

type promptsCommand struct{ serverFlags }

func (v *promptsCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	p, err := v.connect(ctx, m, "", nil)
	if err != nil {
		return err
	}
	prompts, err := optionalList(p.Prompts(ctx))
	switch {
	case err != nil:
		return err
	case v.json:
		return cmp.Or(m.WriteDocument(terminal.Document{"prompts": prompts}), p.noneReachable(ctx, m))
	}
	t := terminal.Table{Head: []string{"PROMPT", "ARGUMENTS", "DESCRIPTION"}}
	for _, prompt := range prompts {
		t.Rows = append(t.Rows, []string{host.DisplayName(prompt.Name), usageOf(prompt), terminal.Brief(prompt.Description)})
	}
	return cmp.Or(m.WriteTable(t), p.noneReachable(ctx, m))
}

// usageOf shows the arguments of a prompt as they are typed.
func usageOf(p mcp.Prompt) string {
	var words []string
	for _, a := range p.Arguments {
		word := a.Name + "=…"
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
