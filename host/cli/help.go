package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

var helpEntry = commandInfo{
	name: "help", operands: "[COMMAND]", does: "show the help of a command",
	about:   "Without COMMAND it lists all commands.",
	example: "help call",
	make:    func() command { return new(helpCommand) },
}

type helpCommand struct{}

func (*helpCommand) declare(*flag.FlagSet) {}

func (*helpCommand) run(_ context.Context, m *Main, operands []string) error {
	if len(operands) == 0 {
		m.overview(m.Stdout)
		return nil
	}
	e := find(operands[0])
	if e == nil {
		return m.unknownCommand(operands[0])
	}
	m.help(m.Stdout, e)
	return nil
}

// overview prints the list of commands.
func (m *Main) overview(w io.Writer) {
	fmt.Fprintf(w, "fondaco brings many MCP servers to MCP clients behind one endpoint.\n\nusage: %s COMMAND [OPERANDS] [FLAGS]\n\n", m.program())
	for _, e := range append(commands, helpEntry) {
		fmt.Fprintf(w, "  %-11s %s\n", e.name, e.does)
	}
	fmt.Fprintf(w, "\n%s COMMAND --help shows flags and an example.\n\nexit codes: %s\n", m.program(), exitCodes)
}

// help prints the help of one command.
func (m *Main) help(w io.Writer, e *commandInfo) {
	v := e.make()
	command := ""
	if _, ok := v.(interface{ limit() time.Duration }); ok {
		command = " [-- COMMAND...]"
	}
	fmt.Fprintf(w, "usage: %s %s [FLAGS]%s\n\n%s.\n", m.program(), strings.TrimSpace(e.name+" "+e.operands), command, capitalize(e.does))
	if e.about != "" {
		fmt.Fprintln(w, e.about)
	}
	heading := "\nflags:\n"
	flagsOf(e, v).VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(w, "%s  %-19s %s\n", heading, strings.TrimSpace(dashed(f.Name)+" "+value), usage)
		heading = ""
	})
	fmt.Fprintf(w, "example:\n  %s %s\n", m.program(), e.example)
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
