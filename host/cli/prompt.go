package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var promptEntry = entry{
	name: "prompt", operands: "NAME [KEY=VALUE...]", does: "get a prompt, filled in",
	about:   "A name is written UPSTREAM/PROMPT, or UPSTREAM__PROMPT as on the wire.",
	example: "prompt demo/summarize text='A long story.'",
	make:    func() verb { return new(promptVerb) },
}

type promptVerb struct{ endpoint }

func (v *promptVerb) declare(f *flag.FlagSet) { v.endpoint.declare(f) }

func (v *promptVerb) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) == 0 {
		return usagef("want the name of a prompt; %s prompts lists them", m.program())
	}
	c, err := v.connect(ctx, m, nil)
	if err != nil {
		return err
	}
	prompt, err := promptNamed(ctx, c, m, operands[0])
	if err != nil {
		return err
	}
	args, err := promptArguments(prompt, operands[1:])
	if err != nil {
		return usagef("%s: %w", host.ShowName(prompt.Name), err)
	}
	result, err := c.GetPrompt(ctx, prompt.Name, args)
	switch {
	case err != nil:
		return err
	case v.json:
		return m.writeJSON(result)
	}
	for _, message := range result.Messages {
		if err := m.writeLine("%s:", message.Role); err != nil {
			return err
		}
		if err := m.writeContent(message.Content); err != nil {
			return err
		}
	}
	return nil
}

// promptNamed returns the prompt that a person means.
func promptNamed(ctx context.Context, c *mcpclient.Client, m *Main, written string) (mcp.Prompt, error) {
	wire := host.ParseName(written)
	for p, err := range c.Prompts(ctx) {
		if err != nil {
			return mcp.Prompt{}, err
		}
		if p.Name == wire || p.Name == written {
			return p, nil
		}
	}
	return mcp.Prompt{}, usagef("prompt %q: unknown; %s prompts lists them", written, m.program())
}

// promptArguments reads words of the form key=value, and makes sure that they
// are what the prompt takes.
func promptArguments(p mcp.Prompt, pairs []string) (map[string]string, error) {
	args := make(map[string]string)
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || !slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Name == name }) {
			return nil, fmt.Errorf("found %q, want %s", pair, usageOf(p))
		}
		args[name] = value
	}
	var faults []error
	for _, a := range p.Arguments {
		if _, given := args[a.Name]; a.Required && !given {
			faults = append(faults, errors.New(missing(argument{name: a.Name, Description: a.Description, Type: []byte(`"string"`)})))
		}
	}
	return args, errors.Join(faults...)
}
