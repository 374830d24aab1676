package doctor

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpcheck"
)

// checkLint reports what the author of the server should change in what the server shows: one result for
// each rule, with its first finding.
func checkLint(_ context.Context, e *examination) {
	if e.surface == nil {
		e.skip("the features could not be listed")
		return
	}
	found := mcpcheck.Lint(*e.surface)
	count := make(map[mcpcheck.Rule]int)
	for _, f := range found {
		count[f.Rule]++
	}
	for _, f := range found {
		n := count[f.Rule]
		if n == 0 {
			continue // the rule was reported
		}
		count[f.Rule] = 0
		id, times := LintNote, ""
		if f.Fault {
			id = LintFault
		}
		if n > 1 {
			times = fmt.Sprintf(" (%d times)", n)
		}
		place := f.Feature
		if f.Place != "" {
			place += " " + f.Place
		}
		e.warn(id, e.lintCommand(), "%s%s: %s: %s", f.Rule, times, place, f.Text)
	}
	if len(found) == 0 {
		e.pass("nothing to change in what the server shows")
	}
}

// lintCommand is the command that shows all findings of a server that can be checked by itself, and the
// definitions of another one.
func (e *examination) lintCommand() string {
	switch t := e.commandTarget(); {
	case e.configured():
		return e.opts.command("tools", e.upstream.Key, "--json")
	case t != nil:
		return e.opts.command(append([]string{"check", "--"}, e.commandWords()...)...)
	}
	return e.opts.command("check", e.upstream.Target.String())
}
