// Package cli is the command line of the host. Data goes to standard output and messages
// to standard error, so every command can be used in a pipe. Without a terminal nothing
// is asked. Package terminal prints and asks, and sanitizes text of servers.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/policy"
	"github.com/fondaco/fondaco/host/storage"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/host/terminal"
)

// Main is one run of the program: ParseFlags, Run and Close, in this order.
type Main struct {
	terminal.IO
	// Args are the name of the program, as it was started, and its arguments.
	Args []string

	entry    *commandInfo
	command  command
	operands []string
	// givenFlags are the names of the flags that the command line has, without dashes.
	givenFlags    []string
	policy        *policy.Policy         // nil without a managed policy
	policyVersion supervisor.FileVersion // of the file when it was read
	closers       []func()
	// running returns the servers whose programs have not ended; nil without a host in this process.
	running        atomic.Pointer[func() []string]
	answering      sync.Mutex        // held while the user is asked for an input
	inputsAsked    bool              // guarded by answering: the user is asked for no further input
	briefNotes     bool              // the notes about a configuration are counted, not printed
	answers        map[string]string // guarded by answering: to inputs of the configuration
	storeURL       string            // what --store says, set before the first use of storage; empty without the flag
	kept           *storage.Storage  // nil before the first use of storage
	recordDecision auditFunc         // nil before the first use of commandAudit
	secrets        knownSecrets
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
	flags.Visit(func(f *flag.Flag) { m.givenFlags = append(m.givenFlags, f.Name) })
	switch {
	case errors.Is(err, flag.ErrHelp):
		m.help(m.Stdout, m.entry)
		return err
	case err != nil:
		return flagError(err, flags)
	}
	m.operands = operands
	if v, ok := m.command.(interface{ takeCommand(words []string) }); ok {
		v.takeCommand(rest)
		return nil
	}
	m.operands = append(m.operands, rest...)
	return nil
}

// flagError returns an error of parsing flags with the flag as users write it.
func flagError(err error, flags *flag.FlagSet) error {
	if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
		return usagef("flag %s: unknown%s", dashed(name), didYouMean("--"+name, flagNames(flags)))
	}
	if name, empty := strings.CutPrefix(err.Error(), "flag needs an argument: -"); empty {
		return usagef("flag %s: found nothing after it, want a value", dashed(name))
	}
	flags.VisitAll(func(f *flag.Flag) {
		value, bad := strings.CutSuffix(strings.TrimPrefix(err.Error(), "invalid value "), " for flag -"+f.Name+": parse error")
		if !bad {
			return
		}
		want := "a number"
		if g, ok := f.Value.(flag.Getter); ok {
			if _, ok := g.Get().(time.Duration); ok {
				want = "a duration such as 30s"
			}
		}
		err = fmt.Errorf("flag %s: found %s, want %s", dashed(f.Name), value, want)
	})
	return usagef("%w", err)
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
		m.Quiet = v.isQuiet()
	}
	if err := m.loadPolicy(); err != nil {
		return err
	}
	m.warnOfAuthorities()
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

// program is the name of the program for commands to paste.
func (m *Main) program() string { return host.ShellQuote(filepath.ToSlash(m.Args[0])) }

// storage returns what the user keeps, until Close.
func (m *Main) storage() *storage.Storage {
	if m.kept == nil {
		m.kept = storage.New(storage.Options{Env: m.Getenv, Address: m.storeURL, Keys: m.sharedKeys, Policy: m.policy, Message: m.Message, Logger: m.logger()})
		m.onClose(m.kept.Close)
	}
	return m.kept
}
