package cli

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var configEntry = commandInfo{
	name: "config", operands: "path|check|show", does: "find, check or show the configuration",
	about: `path prints the path of the configuration. check reads it and prints all
errors with their positions; it starts and asks nothing. show prints its
servers: name, state, transport, target, and the names of variables or headers.
Values of variables and headers are never shown.`,
	example: "config check --config mcp.json",
	make:    func() command { return new(configCommand) },
}

type configCommand struct {
	output
	path   string
	strict bool
}

func (v *configCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	declareConfig(f, &v.path)
	f.BoolVar(&v.strict, "strict", false, "fail on unknown members, too")
}

// declareConfig declares the flag --config.
func declareConfig(f *flag.FlagSet, path *string) {
	f.StringVar(path, "config", "", "use `FILE`; default fondaco/mcp.json in ~/.config")
}

func (v *configCommand) run(_ context.Context, m *Main, operands []string) error {
	if len(operands) != 1 {
		return usagef("want one of path, check and show")
	}
	path, err := m.configPath(v.path)
	if err != nil {
		return err
	}
	switch operands[0] {
	case "path":
		if v.json {
			return m.WriteDocument(terminal.Document{"path": path})
		}
		return m.WriteLine("%s", path)
	case "check":
		return v.check(m, path)
	case "show":
		return v.show(m, path)
	}
	return usagef("found %q, want path, check or show%s", operands[0], didYouMean(operands[0], []string{"path", "check", "show"}))
}

// configPath returns the path that --config names, else that of the host's own
// configuration, which need not exist.
func (m *Main) configPath(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if path := config.DefaultPath(m.Getenv); path != "" {
		return path, nil
	}
	return "", usagef("no directory for the configuration: set $HOME, or use --config FILE")
}

// check prints the errors and warnings of a file. Inputs count as given.
func (v *configCommand) check(m *Main, path string) error {
	c, err := m.readConfig(path, false, placeholder)
	if err != nil {
		return err
	}
	problems := len(c.Errors)
	if v.strict {
		problems += len(c.Warnings) - len(c.Disabled)
	}
	if v.json {
		if err := m.WriteDocument(v.checked(c, path)); err != nil {
			return err
		}
	}
	m.Message("%s: servers: %d, switched off: %d, broken: %d", path, len(c.Upstreams), len(c.Disabled), len(c.Broken))
	if problems > 0 {
		return &codedError{exitUsage, errors.New("the configuration has errors")}
	}
	return nil
}

// checked is the JSON form of a check.
func (v *configCommand) checked(c *config.Config, path string) terminal.Document {
	servers, errs, notes := []string{}, []string{}, []string{}
	for i := range c.Upstreams {
		servers = append(servers, c.Upstreams[i].Key)
	}
	for _, e := range c.Errors {
		errs = append(errs, e.Error())
	}
	for _, w := range c.Warnings {
		notes = append(notes, w.Error())
	}
	return terminal.Document{
		"path": path, "servers": servers, "disabled": append([]string{}, c.Disabled...), "broken": append([]string{}, c.Broken...),
		"errors": errs, "notes": notes,
	}
}

// placeholder is the value of an input whose value is not used.
func placeholder(in config.Input) (string, error) {
	if len(in.Options) > 0 {
		return in.Options[0], nil
	}
	return "x", nil
}

// shownServer is the JSON form of a server of the configuration.
type shownServer struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Reached   string   `json:"reached,omitzero"`
	Target    string   `json:"target,omitzero"`
	Variables []string `json:"variables,omitempty"`
	Headers   []string `json:"headers,omitempty"`
}

func (v *configCommand) show(m *Main, path string) error {
	c, err := m.readConfig(path, false, placeholder)
	if err != nil {
		return err
	}
	shown := []shownServer{}
	for i := range c.Upstreams {
		shown = append(shown, showUpstream(&c.Upstreams[i]))
	}
	for _, name := range c.Disabled {
		shown = append(shown, shownServer{Name: name, State: "disabled"})
	}
	for _, name := range c.Broken {
		shown = append(shown, shownServer{Name: name, State: "broken"})
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"path": path, "servers": shown})
	}
	t := terminal.Table{Head: []string{"SERVER", "STATE", "REACHED", "TARGET", "NAMES"}}
	for _, s := range shown {
		t.Rows = append(t.Rows, []string{s.Name, s.State, s.Reached, s.Target, strings.Join(append(s.Variables, s.Headers...), " ")})
	}
	return m.WriteTable(t)
}

// showUpstream describes a server without possible secrets: a command without its
// arguments, and the origin of a URL.
func showUpstream(u *host.Upstream) shownServer {
	s := shownServer{Name: u.Key, State: "on", Reached: u.Transport, Target: config.RedactURL(u.Target.String())}
	if t, ok := u.Target.(*mcpclient.CommandTarget); ok {
		s.Target = t.Path
		for name := range t.Env {
			s.Variables = append(s.Variables, name)
		}
	}
	for name := range u.Header {
		s.Headers = append(s.Headers, name)
	}
	slices.Sort(s.Variables)
	slices.Sort(s.Headers)
	return s
}
