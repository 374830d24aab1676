package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

var promptEntry = commandInfo{
	name: "prompt", operands: "NAME [KEY=VALUE...]", does: "get a prompt with its arguments",
	about:   "A name is written SERVER/PROMPT, or SERVER__PROMPT as in the protocol.",
	example: "prompt demo/summarize text='A long story.'",
	make:    func() command { return new(promptCommand) },
}

type promptCommand struct{ serverFlags }

func (v *promptCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) == 0 {
		return usagef("want the name of a prompt; %s prompts lists them", m.program())
	}
	p, err := v.connect(ctx, m, keyIn(operands[0]), nil)
	if err != nil {
		return err
	}
	prompt, err := p.promptNamed(ctx, m, operands[0])
	if err != nil {
		m.recordHidden(err, host.ActionGet, operands[0])
		return err
	}
	args, err := promptArguments(prompt, operands[1:])
	if err != nil {
		return usagef("%s: %w", host.DisplayName(prompt.Name), err)
	}
	w := m.StartProgress("getting %s", host.DisplayName(prompt.Name))
	p.questions.during(w)
	result, err := p.GetPrompt(ctx, prompt.Name, args)
	w.Stop()
	switch {
	case err != nil:
		return p.afterQuestions(&callError{err, prompt.Name})
	case v.json:
		return m.WriteDocument(terminal.Document{"result": result})
	}
	files := &fileWriter{}
	for _, message := range result.Messages {
		if err := m.WriteLine("%s:", message.Role); err != nil {
			return err
		}
		if err := m.writeContent(message.Content, files); err != nil {
			return err
		}
	}
	return nil
}

// promptArguments parses words of the form key=value, and checks them against the prompt.
func promptArguments(p mcp.Prompt, pairs []string) (map[string]string, error) {
	args := make(map[string]string)
	names := make([]string, len(p.Arguments))
	for i, a := range p.Arguments {
		names[i] = a.Name
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || !slices.Contains(names, name) {
			return nil, fmt.Errorf("found %q, want %s%s", pair, usageOf(p), didYouMean(name, names))
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
