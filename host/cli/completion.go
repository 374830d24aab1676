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

var completionEntry = commandInfo{
	name: "completion", operands: "bash|zsh|fish", does: "print a shell completion script",
	about: `It completes commands, flags, servers, tools, prompts, resources and arguments.
It asks the running host, and starts nothing.
  bash   source <(fondaco completion bash)
  zsh    source <(fondaco completion zsh)
  fish   fondaco completion fish | source`,
	example: "completion bash",
	make:    func() command { return new(completionCommand) },
}

type completionCommand struct{ line []string }

func (*completionCommand) declare(*flag.FlagSet) {}

// takeCommand takes the command line to complete: the words after the name of the
// program, up to the one at the cursor.
func (v *completionCommand) takeCommand(words []string) { v.line = words }

//go:embed completion
var scripts embed.FS

func (v *completionCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) == 0 && v.line != nil {
		for _, candidate := range m.candidates(ctx, v.line) {
			if err := m.WriteLine("%s", candidate); err != nil {
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

// completionTime limits the time for candidates.
const completionTime = 2 * time.Second

// candidates returns the completions of the last word. Failures are ignored, because a
// shell cannot show them.
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
		for _, e := range append(commands, helpEntry) {
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

// operandsOf returns the possible operands at the position of the cursor.
func (m *Main) operandsOf(ctx context.Context, before []string, typed string) (known []string) {
	switch name := before[0]; name {
	case helpEntry.name:
		return m.candidates(ctx, nil)
	case completionEntry.name:
		return []string{"bash", "zsh", "fish"}
	case serversEntry.name, approveEntry.name, setEntry.name, removeEntry.name, doctorEntry.name:
		return m.serverNames(ctx)
	case rootsEntry.name:
		if len(before) == 1 {
			return append(m.serverNames(ctx), rootsActions...)
		}
		return m.serverNames(ctx)
	case authEntry.name:
		if len(before) == 1 {
			return authActions
		}
		return m.serverNames(ctx)
	}
	p := m.connectRunning(ctx)
	if p == nil {
		return nil
	}
	defer p.Close()
	named := slices.DeleteFunc(slices.Clone(before[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	switch name := before[0]; {
	case name == toolsEntry.name:
		return append(m.serverNames(ctx), p.toolNames(ctx)...)
	case name == callEntry.name && len(named) == 0:
		return p.toolNames(ctx)
	case name == callEntry.name:
		return p.argumentsOfTool(ctx, m, named[0], typed)
	case name == promptEntry.name || name == completeEntry.name:
		return p.promptWords(ctx, m, named, typed)
	case name == readEntry.name || name == watchEntry.name:
		resources, _ := optionalList(p.Resources(ctx))
		for _, r := range resources {
			known = append(known, r.URI)
		}
	}
	return known
}

// connectRunning connects to the running host, or returns nil.
func (m *Main) connectRunning(ctx context.Context) *serverConn {
	p := new(serverConn)
	p.questions = &elicitor{to: m, from: p}
	o := &mcpclient.Options{Logger: m.discardLogger()}
	r, err := m.runningHost(ctx)
	if r == nil || err != nil {
		return nil
	}
	c, err := mcpclient.Connect(ctx, r.connectTo(p, o), o)
	if err != nil {
		return nil
	}
	p.Client = c
	return p
}

// serverNames returns the servers of the running host, else those of the configuration.
func (m *Main) serverNames(ctx context.Context) (names []string) {
	if r, err := m.runningHost(ctx); r != nil && err == nil {
		for _, s := range r.status.Upstreams {
			names = append(names, s.Key)
		}
		return names
	}
	if path := config.Find(m.Getenv); path != "" {
		if c, err := config.Load(path, &config.Options{Env: m.Getenv, Ask: placeholder}); err == nil {
			for _, u := range c.Upstreams {
				names = append(names, u.Key)
			}
		}
	}
	return names
}

func (p *serverConn) toolNames(ctx context.Context) (names []string) {
	tools, _ := optionalList(p.Tools(ctx))
	for _, t := range tools {
		names = append(names, host.DisplayName(t.Name))
	}
	return names
}

// argumentsOfTool returns the arguments of a tool as KEY=, and as KEY=VALUE if few values
// are allowed.
func (p *serverConn) argumentsOfTool(ctx context.Context, m *Main, written, typed string) (known []string) {
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

// promptWords returns prompts, then the arguments of the given prompt, then its server's
// completions of their values.
func (p *serverConn) promptWords(ctx context.Context, m *Main, named []string, typed string) (known []string) {
	if len(named) == 0 {
		prompts, _ := optionalList(p.Prompts(ctx))
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
