package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

var promptsEntry = entry{
	name: "prompts", does: "list the prompts",
	about:   "Arguments in brackets are optional.",
	example: "prompts",
	make:    func() verb { return new(promptsVerb) },
}

type promptsVerb struct{ endpoint }

func (v *promptsVerb) declare(f *flag.FlagSet) { v.endpoint.declare(f) }

func (v *promptsVerb) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	c, err := v.connect(ctx, m, nil)
	if err != nil {
		return err
	}
	prompts, err := collect(c.Prompts(ctx))
	switch {
	case err != nil:
		return err
	case v.json:
		return m.writeJSON(prompts)
	}
	var rows [][]string
	for _, p := range prompts {
		rows = append(rows, []string{host.ShowName(p.Name), usageOf(p), brief(p.Description)})
	}
	return m.writeTable(rows)
}

// usageOf shows the arguments of a prompt as they are given to it.
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
