package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/host/storage"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The exit codes. Their meanings do not change.
const (
	exitOK          = 0
	exitInternal    = 1   // a failure of this program or machine
	exitUsage       = 2   // an error in the command or the configuration; nothing was sent
	exitSignIn      = 3   // the server requires authorization
	exitUnreachable = 4   // the server cannot be reached, or the connection was lost
	exitTool        = 5   // the tool or the server returned an error
	exitConsent     = 6   // consent or approval is missing
	exitPolicy      = 7   // the configuration denies it, or a tool has changed since it was approved
	exitTimeout     = 8   // no answer in time
	exitProtocol    = 9   // the server broke the protocol
	exitInterrupted = 130 // by Ctrl-C
)

// exitCodes are the lines about exit codes at the end of the overview.
const exitCodes = `0 done, 1 internal, 2 usage or configuration, 3 sign-in needed,
  4 unreachable, 5 tool failed, 6 consent needed, 7 policy or changed tool,
  8 timeout, 9 protocol broken, 130 interrupted`

var (
	errTool        = errors.New("the tool failed") // its text was printed
	errInterrupted = errors.New("interrupted")
)

// codedError is an error with its own exit code.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// codedErrorf returns an error with an exit code.
func codedErrorf(code int, format string, args ...any) error {
	return &codedError{code, fmt.Errorf(format, args...)}
}

// usageError is an error in the command line, about which the help of the command says more. An error in
// a file has the same exit code and is none.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// usagef returns an error in the command line: what was found and what would be right.
func usagef(format string, args ...any) error {
	return &codedError{exitUsage, &usageError{fmt.Errorf(format, args...)}}
}

// exitCode returns the exit code of an error: its own, or that of its kind.
func exitCode(err error) int {
	own, hasOwn := errors.AsType[*codedError](err)
	_, isSettings := errors.AsType[*storage.SettingsError](err)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case hasOwn:
		return own.code
	case isSettings:
		return exitUsage
	case errors.Is(err, errTool):
		return exitTool
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	}
	return exitCodeOfPeer(err)
}

// exitCodeOfPeer returns the exit code of an error that a server caused.
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

// printError prints an error for the user.
func (m *Main) printError(err error) {
	if err == nil || errors.Is(err, flag.ErrHelp) || errors.Is(err, errInterrupted) || errors.Is(err, errTool) {
		return
	}
	name := "fondaco"
	if m.entry != nil {
		name += " " + m.entry.name
	}
	m.Message("%s: %s", name, strings.ReplaceAll(err.Error(), "\n", "\n  "))
	if _, usage := errors.AsType[*usageError](err); usage && m.entry != nil {
		m.Message("%s %s --help shows how it is used", m.program(), m.entry.name)
	}
}
