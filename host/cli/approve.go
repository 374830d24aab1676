package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
)

var approveEntry = entry{
	name: "approve", operands: "[SERVER | SERVER/TOOL]", does: "let a program start, or a changed tool be offered",
	about: `It shows the whole program, or what has changed of the tool, and asks. Without a
terminal --yes is needed. Without a name it lists what waits for approval.
Without --config it is about the servers of the host that runs, which takes
notice by itself, or else of the user's own configuration.`,
	example: "approve files",
	make:    func() verb { return new(approveVerb) },
}

type approveVerb struct {
	output
	hosting
}

func (v *approveVerb) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.hosting.config, "config", "", "of the servers of `FILE`")
	f.BoolVar(&v.yes, "yes", false, "approve without being asked")
}

// waiting is one thing that waits for approval.
type waiting struct {
	upstream *host.Upstream
	program  *consent.Program // nil: it is a tool
	tool     host.Withheld
}

func (w *waiting) name() string {
	if w.program != nil {
		return w.upstream.Key
	}
	return w.upstream.Key + "/" + w.tool.Tool
}

func (v *approveVerb) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 1 {
		return usagef("found %d names, want one or none", len(operands))
	}
	if r, err := m.theRunning(ctx); err == nil && r != nil && v.hosting.config == "" {
		v.hosting.config = r.status.Config
	}
	if err := v.openBook(m); err != nil {
		return err
	}
	all, err := v.waiting()
	switch {
	case err != nil:
		return err
	case len(operands) == 0:
		return v.list(m, all)
	}
	i := slices.IndexFunc(all, func(w waiting) bool { return w.name() == operands[0] })
	if i < 0 {
		return v.nothingWaits(m, operands[0], all)
	}
	return v.settle(ctx, m, &all[i])
}

// waiting returns what waits for approval, in the order of the configuration. A
// program that is not there does not.
func (v *approveVerb) waiting() ([]waiting, error) {
	var all []waiting
	for i := range v.upstreams {
		u := &v.upstreams[i]
		p, isProgram, err := v.book.ProgramOf(u)
		if isProgram && err == nil {
			approved, err := v.book.Approved(u, p)
			if err != nil {
				return nil, err
			}
			if !approved {
				all = append(all, waiting{upstream: u, program: &p})
			}
		}
		withheld, err := v.book.Withheld(u)
		if err != nil {
			return nil, err
		}
		for _, w := range withheld {
			all = append(all, waiting{upstream: u, tool: w})
		}
	}
	return all, nil
}

// list writes what waits.
func (v *approveVerb) list(m *Main, all []waiting) error {
	t := table{head: []string{"NAME", "WHAT"}}
	var items []any
	for _, w := range all {
		if w.program != nil {
			t.rows = append(t.rows, []string{w.name(), w.program.String()})
			items = append(items, document{"name": w.name(), "program": w.program})
			continue
		}
		t.rows = append(t.rows, []string{w.name(), "the tool has changed"})
		items = append(items, document{"name": w.name(), "tool": w.tool})
	}
	if v.json {
		return m.writeDocument(document{"waiting": append([]any{}, items...)})
	}
	if len(all) == 0 {
		m.note("nothing waits for approval")
	}
	return m.writeTable(t)
}

// nothingWaits says why a name cannot be approved.
func (v *approveVerb) nothingWaits(m *Main, written string, all []waiting) error {
	key, _, isTool := strings.Cut(written, "/")
	i := slices.IndexFunc(v.upstreams, func(u host.Upstream) bool { return u.Key == key })
	var names []string
	for _, w := range all {
		names = append(names, w.name())
	}
	if i < 0 {
		for _, u := range v.upstreams {
			names = append(names, u.Key)
		}
		return usagef("server %q: unknown%s; it is not in %s", key, didYouMean(written, names), v.path)
	}
	if _, _, err := v.book.ProgramOf(&v.upstreams[i]); err != nil && !isTool {
		return coded(exitUnreachable, "%w", err)
	}
	if better := didYouMean(written, names); better != "" {
		return usagef("nothing of %q waits for approval%s", written, better)
	}
	m.note("%s: nothing waits for approval", written)
	return nil
}

// settle shows what waits, asks, and approves it.
func (v *approveVerb) settle(ctx context.Context, m *Main, w *waiting) error {
	if w.program != nil {
		m.showProgram(w.upstream, *w.program)
	} else {
		m.say("\nThe tool %s has changed since it was approved:\n\n%s", w.name(), strings.TrimRight(w.tool.Diff, "\n"))
	}
	if !v.yes {
		if !m.Interactive {
			return coded(exitConsent, "nobody can answer without a terminal; --yes approves it as it is shown")
		}
		answer, err := m.ask(ctx, "\nApprove it? [y/N]")
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case !isYes(answer):
			return coded(exitConsent, "%s is not approved", w.name())
		}
	}
	if err := v.approveOne(w); err != nil {
		return err
	}
	m.note("%s is approved", w.name())
	return nil
}

func (v *approveVerb) approveOne(w *waiting) error {
	if w.program != nil {
		return v.approve(w.upstream, *w.program, "by the user")
	}
	if err := v.book.ApproveTool(w.upstream, w.tool); err != nil {
		return err
	}
	v.decided(host.Decision{
		Time: time.Now(), Upstream: w.upstream.Key, Action: host.ActionApprove, Name: w.tool.Tool, Outcome: host.OutcomeDone, Reason: "by the user",
	})
	return nil
}
