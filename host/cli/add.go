package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/terminal"
)

var addEntry = commandInfo{
	name: "add", operands: "NAME -- COMMAND... | NAME URL", does: "add a server to the configuration",
	about: `The rest of the file is unchanged. Nothing is started: "up" asks before it
starts a new program. --env KEY passes on the environment variable KEY instead
of writing its value into the file. Below version control a text that looks like
a secret is refused; ${env:NAME} and ${input:ID} are not.`,
	example: "add issues https://example.com/mcp --header 'Authorization: Bearer ${ISSUES_TOKEN}'",
	make:    func() command { return new(addCommand) },
}

type addCommand struct {
	serverTexts
	command []string // what follows --, nil without --
}

// list is the value of a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, ", ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func (v *addCommand) takeCommand(words []string) { v.command = words }

func (v *addCommand) run(ctx context.Context, m *Main, operands []string) error {
	if err := v.checkOperands(operands); err != nil {
		return err
	}
	path, err := m.configPath(v.path)
	if err != nil {
		return err
	}
	if err := v.readToken(); err != nil {
		return err
	}
	command, err := v.asTyped(m, path, v.command)
	if err != nil {
		return err
	}
	s, err := config.NewServer(operands[0], append(operands[1:], command...), v.env, v.headers)
	if err != nil {
		return usagef("%w", err)
	}
	if err := m.checkPolicy(s.Upstream()); err != nil {
		return err
	}
	if err := checkSecretPlace(path, s); err != nil {
		return err
	}
	change, taken, err := config.Add(path, []*config.Server{s})
	switch {
	case err != nil:
		return &codedError{exitUsage, err}
	case len(taken) > 0:
		return usagef("%s has a server %q already; want another name, or remove that server first", path, s.Name)
	}
	if _, err := change.Write(""); err != nil {
		return err
	}
	m.Message("added %s to %s: %s", s.Name, path, terminal.Clean(s.String()))
	m.Message("%s", m.nextAfterAdding(ctx, path, v.path, s.Name))
	return nil
}

// asTyped returns a command for a file as the shell runs it here. Programs of the user's own file start in its directory,
// so a relative path of the program becomes an absolute one, and a note names each argument that may be a relative path.
func (v *serverTexts) asTyped(m *Main, path string, command []string) ([]string, error) {
	if v.path != "" || len(command) == 0 {
		return command, nil
	}
	command = slices.Clone(command)
	if name := command[0]; filepath.Base(name) != name && !filepath.IsAbs(name) && !strings.ContainsAny(name, "$~") {
		absolute, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		command[0] = absolute
	}
	for _, arg := range command[1:] {
		if _, err := os.Stat(arg); err == nil && !filepath.IsAbs(arg) {
			m.Message("found %q in this directory, but the server starts in %s: if it is a path, want an absolute one", arg, filepath.Dir(path))
		}
	}
	return command, nil
}

// nextAfterAdding says what starts the servers that were added to a file, which flag may name. An empty name stands for
// several servers.
func (m *Main) nextAfterAdding(ctx context.Context, path, flag, name string) string {
	up, approve := m.program()+" up", m.program()+" approve"
	if name != "" {
		approve += " " + host.ShellQuote(name)
	}
	if flag != "" {
		up, approve = up+" --config "+host.ShellQuote(flag), approve+" --config "+host.ShellQuote(flag)
	}
	found, _ := m.runningHosts(ctx) // a host that cannot be asked is none that the user can use
	i := slices.IndexFunc(found, func(r *foundHost) bool { return samePath(r.status.ConfigPath, path) })
	switch {
	case i < 0:
		return up + " starts the servers of the file, and asks first"
	case found[i].status.Demonstration:
		return fmt.Sprintf("the host at %s runs the demonstration: end it, and start %s again", found[i].status.Endpoint, up)
	}
	return "the running host waits for your approval: " + approve
}

// checkSecretPlace returns an error if the file of a path is below version control, where all that
// it has may be published, and a server would have a secret in it.
func checkSecretPlace(path string, s *config.Server) error {
	places := s.LiteralSecrets()
	if len(places) == 0 {
		return nil
	}
	repository, err := repositoryOfFile(path)
	if err != nil || repository == "" {
		return err
	}
	return usagef("server %q: %s: found what looks like a secret, which %s would publish, because it is below the repository %s; "+
		"want ${env:NAME} or ${input:ID} in its place, or --config with a file elsewhere", s.Name, strings.Join(places, ", "), path, repository)
}

// checkOperands reports operands that are no name with either a URL or a command after --.
// A mistyped URL must not become the name of a program.
func (v *addCommand) checkOperands(operands []string) error {
	switch {
	case len(operands) == 0:
		return usagef("want the name of a server, and a command after -- or a URL")
	case v.command != nil && len(operands) > 1:
		return usagef("found %q before --, want the name of the server alone", operands[1])
	case v.command == nil && len(operands) > 2:
		return usagef("found %q after %q, want one URL, or a command after --", operands[2], operands[1])
	case v.command == nil && len(operands) == 2 && !config.IsServerURL(operands[1]):
		return usagef("found %q, want a URL such as https://example.com/mcp, or a command after --", operands[1])
	}
	return nil
}
