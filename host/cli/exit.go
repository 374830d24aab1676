package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The exit codes. They do not change their meaning.
const (
	exitOK          = 0
	exitInternal    = 1   // a failure of the program itself, or of its machine
	exitUsage       = 2   // a mistake in the command or the configuration; nothing was sent
	exitSignIn      = 3   // the server wants to know who asks
	exitUnreachable = 4   // the server is not there, or has gone
	exitTool        = 5   // the tool, or the server, answered that it failed
	exitConsent     = 6   // somebody has to consent, and has not
	exitPolicy      = 7   // the configuration denies it, or a tool has changed since it was approved
	exitTimeout     = 8   // no answer in time
	exitProtocol    = 9   // the server broke the protocol
	exitInterrupted = 130 // by Ctrl-C
)

// exitCodes are the lines about them that help ends with.
const exitCodes = `0 done, 1 internal, 2 usage or configuration, 3 sign-in needed,
  4 unreachable, 5 tool failed, 6 consent needed, 7 policy or changed tool,
  8 timeout, 9 protocol broken, 130 interrupted`

var (
	errTool        = errors.New("the tool failed") // and its words have been shown
	errInterrupted = errors.New("interrupted")
)

// codedError is an error with an exit code of its own.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// coded returns an error with an exit code.
func coded(code int, format string, args ...any) error {
	return &codedError{code, fmt.Errorf(format, args...)}
}

// usagef returns an error in the command: what was found and what would be right.
func usagef(format string, args ...any) error { return coded(exitUsage, format, args...) }

// exitCode returns the code of an error: the one that it brings, or the one of
// its kind.
func exitCode(err error) int {
	own, hasOwn := errors.AsType[*codedError](err)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case hasOwn:
		return own.code
	case errors.Is(err, errTool):
		return exitTool
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	}
	return exitCodeOfPeer(err)
}

// exitCodeOfPeer returns the code of an error that a server is the cause of.
func exitCodeOfPeer(err error) int {
	if _, refused := errors.AsType[*mcpauth.SignInError](err); refused || errors.Is(err, mcpauth.ErrSignInRequired) {
		return exitSignIn
	}
	if answer, ok := errors.AsType[*mcpclient.HTTPError](err); ok {
		if answer.Status == http.StatusUnauthorized {
			return exitSignIn
		}
		return exitUnreachable
	}
	if _, broken := errors.AsType[*mcpclient.ProtocolError](err); broken {
		return exitProtocol
	}
	if answer, ok := errors.AsType[*mcp.Error](err); ok && answer.Remote {
		return exitTool
	}
	_, lost := errors.AsType[*mcpclient.LostError](err)
	if op, ok := errors.AsType[*net.OpError](err); lost || ok && op.Op != "listen" {
		return exitUnreachable
	}
	return exitInternal
}

// explain tells the user what went wrong.
func (m *Main) explain(err error) {
	if err == nil || errors.Is(err, flag.ErrHelp) || errors.Is(err, errInterrupted) || errors.Is(err, errTool) {
		return
	}
	name := "fondaco"
	if m.entry != nil {
		name += " " + m.entry.name
	}
	m.say("%s: %s", name, strings.ReplaceAll(err.Error(), "\n", "\n  "))
	if exitCode(err) == exitUsage && m.entry != nil {
		m.say("%s %s --help shows how it is used", m.program(), m.entry.name)
	}
}
