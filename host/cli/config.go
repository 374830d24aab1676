package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var configEntry = entry{
	name: "config", operands: "path|check|show", does: "find, check or show the configuration",
	about: `path writes where the configuration is. check reads it and says all that is
wrong with it, each with its place; nothing is started or asked. show writes its
servers: name, state, how each is reached, where, and the names of its variables
or headers. No value of a variable or header is ever shown.`,
	example: "config check --config mcp.json",
	make:    func() verb { return new(configVerb) },
}

type configVerb struct {
	output
	path   string
	strict bool
}

func (v *configVerb) declare(f *flag.FlagSet) {
	v.output.declare(f)
	declareConfig(f, &v.path)
	f.BoolVar(&v.strict, "strict", false, "fail on what is unknown too")
}

// declareConfig declares the flag that names a configuration.
func declareConfig(f *flag.FlagSet, path *string) {
	f.StringVar(path, "config", "", "use `FILE`; default fondaco/mcp.json in ~/.config")
}

func (v *configVerb) run(_ context.Context, m *Main, operands []string) error {
	if len(operands) != 1 {
		return usagef("want one of path, check and show")
	}
	path, err := m.ownPath(v.path)
	if err != nil {
		return err
	}
	switch operands[0] {
	case "path":
		return m.writeLine("%s", path)
	case "check":
		return v.check(m, path)
	case "show":
		return v.show(m, path)
	}
	return usagef("found %q, want path, check or show%s", operands[0], didYouMean(operands[0], []string{"path", "check", "show"}))
}

// ownPath returns the configuration that the user names, or else the host's own,
// which need not exist.
func (m *Main) ownPath(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if path := config.DefaultPath(m.lookup); path != "" {
		return path, nil
	}
	return "", usagef("there is no place for a configuration: want $HOME set, or --config FILE")
}

// check says what is wrong with a file. Inputs that would be asked for count as
// given.
func (v *configVerb) check(m *Main, path string) error {
	c, err := m.readConfig(path, false, pretend)
	if err != nil {
		return err
	}
	problems := len(c.Errors)
	if v.strict {
		problems += len(c.Warnings) - len(c.Disabled)
	}
	m.say("%s: servers: %d, switched off: %d, broken: %d", path, len(c.Upstreams), len(c.Disabled), len(c.Broken))
	if problems > 0 {
		return &codedError{exitUsage, errors.New("the configuration has mistakes")}
	}
	return nil
}

// pretend answers for the user where an answer is not used.
func pretend(in config.Input) (string, error) {
	if len(in.Options) > 0 {
		return in.Options[0], nil
	}
	return "x", nil
}

// shownServer is what show tells of a server.
type shownServer struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Reached   string   `json:"reached,omitzero"`
	Target    string   `json:"target,omitzero"`
	Variables []string `json:"variables,omitempty"`
	Headers   []string `json:"headers,omitempty"`
}

func (v *configVerb) show(m *Main, path string) error {
	c, err := m.readConfig(path, false, pretend)
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
		return m.writeDocument(document{"path": path, "servers": shown})
	}
	t := table{head: []string{"SERVER", "STATE", "REACHED", "TARGET", "NAMES"}}
	for _, s := range shown {
		t.rows = append(t.rows, []string{s.Name, s.State, s.Reached, s.Target, strings.Join(append(s.Variables, s.Headers...), " ")})
	}
	return m.writeTable(t)
}

// showUpstream tells of a server without what may be secret: a command without its
// arguments, and of a URL its origin alone.
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

// An asker answers for an input of the configuration.
type asker = func(config.Input) (string, error)

// asker returns what asks the user, where there is somebody to ask.
func (m *Main) asker() asker {
	if !m.Interactive {
		return nil
	}
	return m.askInput
}

// loadConfig reads a configuration to run it, and says what its user should know
// of it. It fails when there is nothing left to run.
func (m *Main) loadConfig(path string, strict bool, ask asker) (*config.Config, error) {
	c, err := m.readConfig(path, strict, ask)
	if err == nil && len(c.Upstreams) == 0 && len(c.Errors) > 0 {
		return nil, &codedError{exitUsage, fmt.Errorf("%s: none of its servers can be run", path)}
	}
	return c, err
}

func (m *Main) readConfig(path string, strict bool, ask asker) (*config.Config, error) {
	c, err := config.Load(path, &config.Options{Env: m.lookup, Ask: ask, Strict: strict})
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	for _, f := range c.Errors {
		m.say("%s", f.Error())
	}
	for _, f := range c.Warnings {
		m.note("note: %s", f.Error())
	}
	return c, nil
}

// askInput asks the user for an input of the configuration, and remembers the
// answer.
func (m *Main) askInput(in config.Input) (string, error) {
	question := cmp.Or(in.Description, in.ID)
	if len(in.Options) > 0 {
		question += " (" + strings.Join(in.Options, ", ") + ")"
	}
	if in.Default != "" && !in.Password {
		question += " [" + in.Default + "]"
	}
	fmt.Fprintf(m.Stderr, "%s: ", cleanLine(question))
	answer, err := m.readAnswer(in.Password)
	if err != nil {
		return "", err
	}
	if m.answers == nil {
		m.answers = make(map[string]string)
	}
	m.answers[in.ID] = cmp.Or(answer, in.Default)
	return m.answers[in.ID], nil
}

// rememberInput answers as the user did before. A host that runs asks nothing.
func (m *Main) rememberInput(in config.Input) (string, error) {
	answer, ok := m.answers[in.ID]
	if !ok {
		return "", errors.New("it is new, and asked for when the host is started again")
	}
	return answer, nil
}

// readAnswer reads a line. Of a password nothing is seen.
func (m *Main) readAnswer(hidden bool) (string, error) {
	if f, ok := m.Stdin.(*os.File); ok && hidden && term.IsTerminal(int(f.Fd())) {
		answer, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(m.Stderr)
		return string(answer), err
	}
	line, err := readLine(m.Stdin)
	if err != nil {
		return "", fmt.Errorf("no answer: %w", err)
	}
	return line, nil
}

// maxAnswer bounds what a user says to a question.
const maxAnswer = 1 << 16

// readLine takes one line from a reader and nothing after it, which others read.
func readLine(r io.Reader) (string, error) {
	var line, next []byte = nil, make([]byte, 1)
	for len(line) < maxAnswer {
		n, err := r.Read(next)
		switch {
		case n > 0 && next[0] != '\n':
			line = append(line, next[0])
		case n > 0, err != nil && len(line) > 0:
			return strings.TrimSuffix(string(line), "\r"), nil
		case err != nil:
			return "", err
		}
	}
	return "", fmt.Errorf("more than %d bytes", maxAnswer)
}
