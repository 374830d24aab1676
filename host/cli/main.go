// Package cli is the command line of the host. Data goes to standard output and
// words to standard error, so that every verb can be used in a pipe; nothing
// asks. What a peer says passes one sanitiser before it reaches a terminal.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Main is one run of the program: ParseFlags, Run and Close, in this order.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Args are the name of the program, as it was started, and its arguments.
	Args []string
	// Env holds variables as os.Environ returns them.
	Env []string
	// Terminal tells that Stdout is a terminal: tables are aligned, and texts of
	// peers are cleaned of what a terminal would obey.
	Terminal bool
	// Interactive tells that Stdin and Stderr are terminals: the user can be asked.
	Interactive bool

	entry    *entry
	verb     verb
	operands []string
	closers  []func()
	answers  map[string]string // to inputs of the configuration
}

// Main does the whole run and returns the exit code. When ctx ends, the verb
// ends in an orderly way.
func (m *Main) Main(ctx context.Context) int {
	err := m.ParseFlags()
	if err == nil {
		err = m.Run(ctx)
	}
	m.Close()
	if err != nil && ctx.Err() != nil {
		err = errInterrupted
	}
	m.explain(err)
	return exitCode(err)
}

// ParseFlags finds the verb and its operands. Its error is one of usage, or
// flag.ErrHelp after help was printed.
func (m *Main) ParseFlags() error {
	args := m.Args[1:]
	if len(args) == 0 {
		m.overview(m.Stderr)
		return usagef("want a verb, such as %s up", m.program())
	}
	if m.entry = find(args[0]); m.entry == nil {
		return usagef("verb %q: unknown; %s help lists them", args[0], m.program())
	}
	m.verb = m.entry.make()
	operands, err := parseMixed(flagsOf(m.entry, m.verb), args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		m.help(m.Stdout, m.entry)
		return err
	case err != nil:
		return usagef("%v", err)
	}
	m.operands = operands
	return nil
}

// flagsOf returns the flags of a verb, which set its fields.
func flagsOf(e *entry, v verb) *flag.FlagSet {
	flags := flag.NewFlagSet(e.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	v.declare(flags)
	return flags
}

// parseMixed parses flags that stand before, between and after operands. What
// follows "--" is an operand.
func parseMixed(flags *flag.FlagSet, args []string) (operands []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		parsed := args[:len(args)-len(rest)]
		ended := len(parsed) > 0 && parsed[len(parsed)-1] == "--"
		if ended || len(rest) == 0 {
			return append(operands, rest...), nil
		}
		operands, args = append(operands, rest[0]), rest[1:]
	}
}

// Run does what the verb says, until it is done or ctx ends.
func (m *Main) Run(ctx context.Context) error { return m.verb.run(ctx, m, m.operands) }

// Close ends what Run has started. It may be called without Run.
func (m *Main) Close() {
	for i := len(m.closers) - 1; i >= 0; i-- {
		m.closers[i]()
	}
	m.closers = nil
}

// closing has Close call f, before what was given to closing earlier.
func (m *Main) closing(f func()) { m.closers = append(m.closers, f) }

// lookup returns a variable of the environment.
func (m *Main) lookup(name string) (string, bool) {
	for i := len(m.Env) - 1; i >= 0; i-- {
		if key, value, _ := strings.Cut(m.Env[i], "="); key == name {
			return value, true
		}
	}
	return "", false
}

// program is the name of the program for commands to paste.
func (m *Main) program() string { return quote(filepath.ToSlash(m.Args[0])) }

// say tells the user something, on standard error.
func (m *Main) say(format string, args ...any) {
	fmt.Fprintf(m.Stderr, format+"\n", args...)
}
