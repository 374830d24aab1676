package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpcheck"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var checkEntry = commandInfo{
	name: "check", operands: "[URL]", does: "check a server against the protocol",
	about: `It uses the server in each revision, validates its messages, and sends it what
a server has to withstand: unknown methods and names, invalid and large
messages. It calls no tool. It is for the author of a server, also in CI:
the exit code is 9 if there is a fault. docs/check.md explains each check.`,
	example: "check -- ./notes-server --port 0",
	make:    func() command { return new(checkCommand) },
}

type checkCommand struct {
	serverFlags
	strict bool
}

func (v *checkCommand) declare(f *flag.FlagSet) {
	v.declareOneServer(f)
	f.BoolVar(&v.strict, "strict", false, "exit with 9 for warnings, too")
}

func (v *checkCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) == 1 && v.url == "" {
		v.url, operands = operands[0], nil
	}
	if len(v.named()) != 1 || len(operands) > 0 {
		return usagef("want one server: a URL, or a command after --")
	}
	target, err := m.typedServer(v.command, v.url, &v.headers)
	if err != nil {
		return err
	}
	o := new(mcpcheck.Options)
	if !v.json {
		o.OnResult = m.showChecked
	}
	r, err := mcpcheck.Run(ctx, *target, o)
	if r == nil {
		return unusable(err, v.url != "")
	}
	if v.json {
		for i := range r.Results {
			r.Results[i].Text = m.secrets.redactKnown(r.Results[i].Text)
		}
		if err := m.WriteDocument(terminal.Document{"server": r.Server, "revisions": r.Revisions, "results": r.Results}); err != nil {
			return err
		}
	}
	faults, warnings := 0, 0
	for _, one := range r.Results {
		switch one.Status {
		case mcpcheck.Fault:
			faults++
		case mcpcheck.Warning:
			warnings++
		}
	}
	m.Info("%s %s: checks: %d, faults: %d, warnings: %d", terminal.CleanLine(r.Server.Name), terminal.CleanLine(r.Server.Version), len(r.Results), faults, warnings)
	switch {
	case err != nil:
		return err // the time is over
	case faults > 0 || v.strict && warnings > 0:
		return &codedError{exitProtocol, errors.New("the server has faults")}
	}
	return nil
}

// unusable is the error for a server that cannot be used in any revision.
func unusable(err error, url bool) error {
	advice := ""
	if refused, ok := errors.AsType[*mcpclient.HTTPError](err); ok && url && refused.Status == http.StatusUnauthorized {
		advice = "\nThe server wants credentials: --token TOKEN or --header 'KEY: VALUE' sends them"
	}
	return codedErrorf(exitUnreachable, "%s%s", strings.TrimPrefix(err.Error(), "check: "), advice)
}

// typedServer returns the server that the user has typed, and that needs no approval: a command, or a URL if there is
// none.
func (m *Main) typedServer(command []string, url string, headers *requestHeaders) (*mcpcheck.Target, error) {
	if command != nil {
		t, err := commandTarget(command)
		if err != nil {
			return nil, err
		}
		program, _ := t.(*mcpclient.CommandTarget)
		return &mcpcheck.Target{Command: program}, m.checkDirect(t)
	}
	if !strings.Contains(url, "://") {
		return nil, usagef("found %q, want a URL such as %s, or a command after --", url, defaultURL)
	}
	header, err := headers.read("")
	if err != nil {
		return nil, err
	}
	m.secrets.configure([]host.Upstream{{Target: mcpclient.URL(url), Header: header}})
	return &mcpcheck.Target{URL: url, HTTP: mcpclient.HTTPOptions{Header: header}}, m.checkDirect(mcpclient.URL(url))
}

// showChecked prints a result: on a terminal with the page of the specification on a line of its own, else as
// a row.
func (m *Main) showChecked(r mcpcheck.Result) {
	if r.Status == mcpcheck.Skipped {
		return
	}
	r.Text = m.secrets.redactKnown(r.Text)
	if !m.Terminal {
		_ = m.WriteTable(terminal.Table{Rows: [][]string{{string(r.Status), r.Revision.String(), r.Check, r.Text, r.Spec}}})
		return
	}
	styles := map[mcpcheck.Status]terminal.Style{mcpcheck.OK: terminal.Green, mcpcheck.Warning: terminal.Yellow, mcpcheck.Fault: terminal.Red}
	fmt.Fprintf(m.Stdout, "%s %-10s %-22s %s\n", m.Paint(styles[r.Status], fmt.Sprintf("%-7s", r.Status)), r.Revision, r.Check, terminal.CleanLine(r.Text))
	if r.Status != mcpcheck.OK && r.Spec != "" {
		fmt.Fprintf(m.Stdout, "%-41s %s\n", "", m.Paint(terminal.Dim, r.Spec))
	}
}
