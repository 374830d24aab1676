package cli

import (
	"context"
	"errors"
	"flag"

	"github.com/fondaco/fondaco/host/config"
)

var setEntry = commandInfo{
	name: "set", operands: "NAME [URL | -- COMMAND...]", does: "set variables, headers, the command or URL of a server in the configuration",
	about: `The rest of the server, and of the file, is unchanged, and so are your rules and
grants. The server has changed then: it waits for your approval. --env KEY passes
on the environment variable KEY instead of writing its value into the file.
Below version control a text that looks like a secret is refused; ${env:NAME} and
${input:ID} are not.`,
	example: "set issues --header 'Authorization: Bearer ${ISSUES_TOKEN}'",
	make:    func() command { return new(setCommand) },
}

type setCommand struct {
	serverTexts
	command []string // what follows --, nil without --
}

func (v *setCommand) takeCommand(words []string) { v.command = words }

// serverTexts are flags with variables and headers of a server.
type serverTexts struct {
	path         string
	env, headers list
	token        string
}

func (v *serverTexts) declare(f *flag.FlagSet) {
	declareConfig(f, &v.path)
	f.Var(&v.env, "env", "set a variable, `KEY=VALUE`; may be repeated")
	f.Var(&v.headers, "header", "send a header, `KEY: VALUE`; may be repeated")
	f.StringVar(&v.token, "token", "", "send the bearer token `TOKEN`, or that in @FILE")
}

// readToken turns the token into a header.
func (v *serverTexts) readToken() error {
	if v.token == "" {
		return nil
	}
	token := requestHeaders{token: v.token, references: true}
	header, err := token.read("")
	if err == nil {
		v.headers = append(v.headers, "Authorization: "+header.Get("Authorization"))
	}
	return err
}

func (v *setCommand) run(_ context.Context, m *Main, operands []string) error {
	switch {
	case len(operands) == 0, len(operands) > 2, len(operands) == 2 && v.command != nil:
		return usagef("found %d operands, want the name of one server, and a URL or a command after --", len(operands))
	case len(operands) == 2 && !config.IsServerURL(operands[1]):
		return usagef("found %q, want a URL such as https://example.com/mcp, or a command after --", operands[1])
	case len(operands) == 1 && len(v.command) == 0 && len(v.env) == 0 && len(v.headers) == 0 && v.token == "":
		return usagef("want a URL, a command after --, --env, --header or --token, with what is to be set")
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
	change, s, err := config.Set(path, operands[0], append(operands[1:], command...), v.env, v.headers)
	if err != nil {
		return unknownInFile(err)
	}
	if err := checkSecretPlace(path, s); err != nil {
		return err
	}
	if _, err := change.Write(""); err != nil {
		return err
	}
	m.Message("changed %s in %s; it waits for your approval: %s", s.Name, path, m.approveCommand(s.Name, v.path))
	return nil
}

// unknownInFile adds a suggestion to the error for a name that no server of a file has.
func unknownInFile(err error) error {
	if unknown, ok := errors.AsType[*config.UnknownServerError](err); ok {
		return usagef("server %q: unknown%s; it is not in %s", unknown.Name, didYouMean(unknown.Name, unknown.Names), unknown.Path)
	}
	return &codedError{exitUsage, err}
}
