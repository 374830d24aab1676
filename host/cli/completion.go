package cli

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var completionEntry = entry{
	name: "completion", operands: "bash|zsh|fish", does: "write the script that completes words in a shell",
	about: `Verbs, flags, servers, tools, prompts, resources and arguments are completed. It
asks the host that runs, and starts nothing.
  bash   source <(fondaco completion bash)
  zsh    source <(fondaco completion zsh)
  fish   fondaco completion fish | source`,
	example: "completion bash",
	make:    func() verb { return new(completionVerb) },
}

type completionVerb struct{ line []string }

func (*completionVerb) declare(*flag.FlagSet) {}

// takeCommand takes the line that a shell wants to complete: the words after the
// name of the program, up to the one that is being written.
func (v *completionVerb) takeCommand(words []string) { v.line = words }

//go:embed completion
var scripts embed.FS

func (v *completionVerb) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) == 0 && v.line != nil {
		for _, candidate := range m.candidates(ctx, v.line) {
			if err := m.writeLine("%s", candidate); err != nil {
				return err
			}
		}
		return nil
	}
	shells := []string{"bash", "zsh", "fish"}
	if len(operands) != 1 || !slices.Contains(shells, operands[0]) {
		return usagef("found %q, want one of %s%s", strings.Join(operands, " "), strings.Join(shells, ", "), didYouMean(strings.Join(operands, " "), shells))
	}
	script, err := scripts.ReadFile("completion/" + operands[0])
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(m.Stdout, string(script))
	return err
}

// completionTime is how long the user waits for candidates at most.
const completionTime = 2 * time.Second

// candidates returns what the last word of a line could become. What cannot be
// found out is left out: a shell has no place for words about that.
func (m *Main) candidates(ctx context.Context, line []string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	if len(line) == 0 {
		line = []string{""}
	}
	before, typed := line[:len(line)-1], line[len(line)-1]
	var known []string
	switch {
	case len(before) == 0:
		for _, e := range append(verbs, helpEntry) {
			known = append(known, e.name)
		}
	case strings.HasPrefix(typed, "-"):
		if e := find(before[0]); e != nil {
			known = flagNames(flagsOf(e, e.make()))
		}
	default:
		known = m.operandsOf(ctx, before, typed)
	}
	known = slices.DeleteFunc(known, func(c string) bool { return !strings.HasPrefix(c, typed) })
	slices.Sort(known)
	return slices.Compact(known)
}

// operandsOf returns what can stand where the word is being typed.
func (m *Main) operandsOf(ctx context.Context, before []string, typed string) (known []string) {
	switch verb := before[0]; verb {
	case helpEntry.name:
		return m.candidates(ctx, nil)
	case completionEntry.name:
		return []string{"bash", "zsh", "fish"}
	case serversEntry.name, approveEntry.name:
		return m.serverNames(ctx)
	case authEntry.name:
		if len(before) == 1 {
			return authActions
		}
		return m.serverNames(ctx)
	}
	p := m.hostThatRuns(ctx)
	if p == nil {
		return nil
	}
	defer p.Close()
	named := slices.DeleteFunc(slices.Clone(before[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	switch verb := before[0]; {
	case verb == toolsEntry.name:
		return append(m.serverNames(ctx), p.toolNames(ctx)...)
	case verb == callEntry.name && len(named) == 0:
		return p.toolNames(ctx)
	case verb == callEntry.name:
		return p.argumentsOfTool(ctx, m, named[0], typed)
	case verb == promptEntry.name || verb == completeEntry.name:
		return p.promptWords(ctx, m, named, typed)
	case verb == readEntry.name || verb == watchEntry.name:
		resources, _ := listOf(p.Resources(ctx))
		for _, r := range resources {
			known = append(known, r.URI)
		}
	}
	return known
}

// hostThatRuns connects to the host that runs, or returns nil.
func (m *Main) hostThatRuns(ctx context.Context) *place {
	p := &place{questions: &questions{to: m}}
	o := &mcpclient.Options{Logger: m.silent()}
	r, err := m.theRunning(ctx)
	if r == nil || err != nil {
		return nil
	}
	c, err := mcpclient.Connect(ctx, r.lead(p, o), o)
	if err != nil {
		return nil
	}
	p.Client = c
	return p
}

// serverNames returns those of the host that runs, else those of the configuration.
func (m *Main) serverNames(ctx context.Context) (names []string) {
	if r, err := m.theRunning(ctx); r != nil && err == nil {
		for _, s := range r.status.Upstreams {
			names = append(names, s.Key)
		}
		return names
	}
	if path := config.Find(m.lookup); path != "" {
		if c, err := config.Load(path, &config.Options{Env: m.lookup, Ask: pretend}); err == nil {
			for _, u := range c.Upstreams {
				names = append(names, u.Key)
			}
		}
	}
	return names
}

func (p *place) toolNames(ctx context.Context) (names []string) {
	tools, _ := listOf(p.Tools(ctx))
	for _, t := range tools {
		names = append(names, host.DisplayName(t.Name))
	}
	return names
}

// argumentsOfTool returns the arguments of a tool, as KEY=, and of one that takes
// one of a few values these.
func (p *place) argumentsOfTool(ctx context.Context, m *Main, written, typed string) (known []string) {
	tool, err := p.toolNamed(ctx, m, written)
	if err != nil {
		return nil
	}
	args, err := readArguments(tool.InputSchema)
	if err != nil {
		return nil
	}
	key, _, settled := strings.Cut(typed, "=")
	for _, a := range args.list {
		if !settled {
			known = append(known, a.name+"=")
			continue
		}
		if a.name == key {
			for _, value := range a.values() {
				known = append(known, key+"="+value)
			}
		}
	}
	return known
}

// promptWords returns prompts, then the arguments of the one that is named, then
// what its server knows of their values.
func (p *place) promptWords(ctx context.Context, m *Main, named []string, typed string) (known []string) {
	if len(named) == 0 {
		prompts, _ := listOf(p.Prompts(ctx))
		for _, prompt := range prompts {
			known = append(known, host.DisplayName(prompt.Name))
		}
		return known
	}
	prompt, err := p.promptNamed(ctx, m, named[0])
	if err != nil {
		return nil
	}
	key, value, settled := strings.Cut(typed, "=")
	if !settled {
		for _, a := range prompt.Arguments {
			known = append(known, a.Name+"=")
		}
		return known
	}
	completion, err := p.Complete(ctx, &mcp.CompleteParams{Ref: mcp.PromptRef(prompt.Name), Argument: mcp.CompleteArgument{Name: key, Value: value}})
	if err != nil {
		return nil
	}
	for _, value := range completion.Values {
		known = append(known, key+"="+value)
	}
	return known
}
