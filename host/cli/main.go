// Package cli is the command line of the host. Data goes to standard output and messages
// to standard error, so every command can be used in a pipe. Without a terminal nothing
// is asked. Text of a server is sanitized by clean before it reaches a terminal.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
)

// Main is one run of the program: ParseFlags, Run and Close, in this order.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Args are the name of the program, as it was started, and its arguments.
	Args []string
	// Env holds variables as os.Environ returns them.
	Env []string
	// Terminal reports that Stdout is a terminal: tables are aligned, and text of servers
	// is sanitized.
	Terminal bool
	// Drawing reports that Stderr is a terminal: progress is drawn in place.
	Drawing bool
	// Interactive reports that Stdin and Stderr are terminals: the user can be asked.
	Interactive bool

	entry    *commandInfo
	command  command
	operands []string
	closers  []func()
	answers  map[string]string // to inputs of the configuration
	messages messages
}

// Main runs the program and returns the exit code. When ctx ends, the command shuts down.
func (m *Main) Main(ctx context.Context) int {
	err := m.ParseFlags()
	if err == nil {
		err = m.Run(ctx)
	}
	m.Close()
	if err != nil && ctx.Err() != nil {
		err = errInterrupted
	}
	m.printError(err)
	return exitCode(err)
}

// ParseFlags finds the command and its operands. Its error is a usage error, or
// flag.ErrHelp after help was printed.
func (m *Main) ParseFlags() error {
	args := m.Args[1:]
	if len(args) == 0 {
		m.overview(m.Stderr)
		return usagef("want a command, such as %s up", m.program())
	}
	if m.entry = find(args[0]); m.entry == nil {
		return m.unknownCommand(args[0])
	}
	m.command = m.entry.make()
	flags := flagsOf(m.entry, m.command)
	operands, rest, err := parseMixed(flags, args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		m.help(m.Stdout, m.entry)
		return err
	case err != nil:
		return usagef("%v%s", err, didYouMean(undefined(err), flagNames(flags)))
	}
	m.operands = operands
	if v, ok := m.command.(interface{ takeCommand(words []string) }); ok {
		v.takeCommand(rest)
		return nil
	}
	m.operands = append(m.operands, rest...)
	return nil
}

// undefined returns the name of the flag in an error, with its dashes.
func undefined(err error) string {
	_, name, _ := strings.Cut(err.Error(), "not defined: -")
	return "--" + name
}

func flagNames(flags *flag.FlagSet) (names []string) {
	flags.VisitAll(func(f *flag.Flag) { names = append(names, dashed(f.Name)) })
	return names
}

// dashed returns a flag as users write it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// didYouMean returns what follows an unknown name in a message: a similar known name in
// parentheses, or nothing.
func didYouMean(written string, known []string) string {
	if best := host.Suggest(written, known); best != "" {
		return fmt.Sprintf(" (did you mean %s?)", best)
	}
	return ""
}

// flagsOf returns the flags of a command, which set its fields.
func flagsOf(e *commandInfo, v command) *flag.FlagSet {
	flags := flag.NewFlagSet(e.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	v.declare(flags)
	return flags
}

// parseMixed parses flags before, between and after operands. rest is what follows "--",
// nil only without "--".
func parseMixed(flags *flag.FlagSet, args []string) (operands, rest []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, nil, err
		}
		left := flags.Args()
		parsed := args[:len(args)-len(left)]
		if len(parsed) > 0 && parsed[len(parsed)-1] == "--" {
			return operands, append([]string{}, left...), nil
		}
		if len(left) == 0 {
			return operands, nil, nil
		}
		operands, args = append(operands, left[0]), left[1:]
	}
}

// Run runs the command until it is done or ctx ends.
func (m *Main) Run(ctx context.Context) error {
	if v, ok := m.command.(interface{ isQuiet() bool }); ok {
		m.messages.quiet = v.isQuiet()
	}
	if v, ok := m.command.(interface{ limit() time.Duration }); ok && v.limit() > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, v.limit(), &timeoutError{v.limit()})
		defer cancel()
	}
	return m.command.run(ctx, m, m.operands)
}

// timeoutError reports that a command took longer than its --timeout.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("not finished after %v; --timeout sets another time", e.limit)
}

// Unwrap returns context.DeadlineExceeded, which decides the exit code.
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// Close ends what Run has started. It may be called without Run.
func (m *Main) Close() {
	for i := len(m.closers) - 1; i >= 0; i-- {
		m.closers[i]()
	}
	m.closers = nil
}

// onClose makes Close call f, before the functions of earlier calls.
func (m *Main) onClose(f func()) { m.closers = append(m.closers, f) }

// getenv returns an environment variable.
func (m *Main) getenv(name string) (string, bool) {
	for i := len(m.Env) - 1; i >= 0; i-- {
		if key, value, _ := strings.Cut(m.Env[i], "="); key == name {
			return value, true
		}
	}
	return "", false
}

// program is the name of the program for commands to paste.
func (m *Main) program() string { return quote(filepath.ToSlash(m.Args[0])) }
