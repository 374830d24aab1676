package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

var helpEntry = entry{
	name: "help", operands: "[VERB]", does: "show what a verb does",
	about:   "Without a verb it lists all of them.",
	example: "help call",
	make:    func() verb { return new(helpVerb) },
}

type helpVerb struct{}

func (*helpVerb) declare(*flag.FlagSet) {}

func (*helpVerb) run(_ context.Context, m *Main, operands []string) error {
	if len(operands) == 0 {
		m.overview(m.Stdout)
		return nil
	}
	e := find(operands[0])
	if e == nil {
		return usagef("verb %q: unknown; %s help lists them", operands[0], m.program())
	}
	m.help(m.Stdout, e)
	return nil
}

// overview lists the verbs.
func (m *Main) overview(w io.Writer) {
	fmt.Fprintf(w, "fondaco brings many MCP servers to MCP clients behind one endpoint.\n\nusage: %s VERB [OPERANDS] [FLAGS]\n\n", m.program())
	for _, e := range append(verbs, helpEntry) {
		fmt.Fprintf(w, "  %-28s %s\n", e.name+" "+e.operands, e.does)
	}
	fmt.Fprintf(w, "\n%s VERB --help shows flags and an example.\n", m.program())
}

// help shows one verb, on one screen.
func (m *Main) help(w io.Writer, e *entry) {
	fmt.Fprintf(w, "usage: %s %s [FLAGS]\n\n%s.\n%s\n", m.program(), strings.TrimSpace(e.name+" "+e.operands), capitalize(e.does), e.about)
	heading := "\nflags:\n"
	flagsOf(e, e.make()).VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(w, "%s  %-20s %s\n", heading, strings.TrimSpace("--"+f.Name+" "+value), usage)
		heading = ""
	})
	fmt.Fprintf(w, "\nexample:\n  %s %s\n\nexit codes: %s\n", m.program(), e.example, exitCodes)
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
