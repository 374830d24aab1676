package cli

import (
	"errors"
	"flag"
	"fmt"
	"strings"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2 // a mistake in the command or the configuration; nothing was sent
	exitUnreachable = 4 // nothing answers at the endpoint
	exitTool        = 5 // the tool answered that it failed
	exitInterrupted = 130
)

// exitCodes is the line about them that help ends with.
const exitCodes = `0 done, 1 failed, 2 wrong command or configuration,
  4 nothing answers, 5 the tool failed, 130 interrupted`

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

// usagef returns an error in the command: what was found and what would be right.
func usagef(format string, args ...any) error {
	return &codedError{exitUsage, fmt.Errorf(format, args...)}
}

func exitCode(err error) int {
	switch coded, ok := errors.AsType[*codedError](err); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errTool):
		return exitTool
	case ok:
		return coded.code
	}
	return exitFailed
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
	m.say("%s: %s", name, strings.ReplaceAll(clean(err.Error()), "\n", "\n  "))
	if exitCode(err) == exitUsage && m.entry != nil {
		m.say("%s %s --help shows how it is used", m.program(), m.entry.name)
	}
}
