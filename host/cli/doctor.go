package cli

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/doctor"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/policy"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var doctorEntry = commandInfo{
	name: "doctor", operands: "[SERVER... | URL]", does: "find out why a server cannot be used",
	about: `It checks what a connection needs, from the configuration to a call, and prints
for each fault what is wrong and a command that corrects it. Without operands
it checks all servers of the configuration. It starts or contacts only what you
have approved, or what you name by a URL or a command. docs/doctor.md explains
each fault.`,
	example: "doctor notes",
	make:    func() command { return new(doctorCommand) },
}

type doctorCommand struct {
	serverFlags
	tool string
	args string
}

func (v *doctorCommand) declare(f *flag.FlagSet) {
	v.serverFlags.declare(f)
	f.StringVar(&v.tool, "tool", "", "call `TOOL`, too")
	f.StringVar(&v.args, "args", "", "arguments of --tool, a `JSON` object")
}

func (v *doctorCommand) run(ctx context.Context, m *Main, operands []string) error {
	if v.args != "" && (v.tool == "" || jsontext.Value(v.args).Kind() != jsontext.KindBeginObject || !jsontext.Value(v.args).IsValid()) {
		return usagef("--args %q: want a JSON object, with --tool", v.args)
	}
	if len(operands) == 1 && strings.Contains(operands[0], "://") && v.url == "" {
		v.url, operands = operands[0], nil
	}
	if named := v.named(); len(named) > 1 {
		return usagef("found both %s and %s, want one of them", named[0], named[1])
	}
	if v.url != "" || v.command != nil {
		if len(operands) > 0 {
			return usagef("found the server %q beside %s, want one of them", operands[0], v.named()[0])
		}
		return v.examineNamed(ctx, m)
	}
	if v.headers.given() {
		return usagef("found --token or --header without a URL, want them with one")
	}
	return v.examineConfigured(ctx, m, operands)
}

// examineNamed examines the server of the URL or the command that the user has typed.
func (v *doctorCommand) examineNamed(ctx context.Context, m *Main) error {
	u := &host.Upstream{Target: mcpclient.URL(v.url), Transport: "over HTTP"}
	if v.command != nil {
		t, err := commandTarget(v.command)
		if err != nil {
			return err
		}
		u.Target, u.Transport = t, "over stdio"
	}
	if err := m.checkDirect(u.Target); err != nil {
		return err
	}
	var err error
	if u.Header, err = v.headers.read(""); err != nil {
		return err
	}
	m.secrets.configure([]host.Upstream{*u})
	o := v.options(m)
	if tokens, err := m.storage().Tokens(); err == nil { // without a directory there are no tokens
		o.Authorizer = tokens.Authorizer
	}
	return v.finish(ctx, m, []*doctor.Report{v.examine(ctx, m, u, o, false)})
}

// examineConfigured examines servers of the configuration: those that are named, or all.
func (v *doctorCommand) examineConfigured(ctx context.Context, m *Main, names []string) error {
	h := &hostProcess{config: v.config}
	if h.findConfig(m); h.path == "" {
		return usagef("there is no configuration; want the URL of a server, or --config FILE")
	}
	c, err := config.Load(h.path, &config.Options{Env: m.Getenv, Ask: m.inputFunc()})
	if err != nil {
		return &codedError{exitUsage, err}
	}
	servers := serversOf(c, names)
	for _, name := range names {
		if !slices.ContainsFunc(servers, func(u host.Upstream) bool { return u.Key == name }) {
			var known []string
			for _, u := range servers {
				known = append(known, u.Key)
			}
			return usagef("%s has no server %q%s", h.path, name, didYouMean(name, known))
		}
	}
	h.servers.Use(c.Upstreams)
	if err := h.openUserStores(new(gateway.Options)); err != nil {
		return err
	}
	var reports []*doctor.Report
	for i := range servers {
		u := &servers[i]
		if len(names) > 0 && !slices.Contains(names, u.Key) {
			continue
		}
		o := v.options(m)
		o.Problems = problemsOf(c, u.Key)
		o.Admit = func(ctx context.Context) (*doctor.Admission, error) { return h.admission(ctx, u) }
		o.Authorizer = h.tokens.Authorizer
		reports = append(reports, v.examine(ctx, m, u, o, len(names) != 1))
	}
	if len(reports) == 0 {
		m.Info("%s has no servers; %s add adds one", h.path, m.program())
	}
	return v.finish(ctx, m, reports)
}

// serversOf returns the servers of a file: those that can be run, by their names those that are broken,
// and those that are switched off if they are among the names.
func serversOf(c *config.Config, names []string) []host.Upstream {
	all := slices.Clone(c.Upstreams)
	disabled := slices.DeleteFunc(slices.Clone(c.Disabled), func(name string) bool { return !slices.Contains(names, name) })
	for _, name := range slices.Concat(disabled, c.Broken) {
		all = append(all, host.Upstream{Key: name, Origin: host.Origin{File: c.Path}})
	}
	return all
}

// problemsOf returns what is wrong in a file with one of its servers. What concerns no single server
// is shown for each.
func problemsOf(c *config.Config, key string) (all []doctor.Problem) {
	concerns := func(d *config.Diagnostic) bool {
		server := serverOf(d)
		return server == "" || server == key
	}
	for _, d := range c.Errors {
		if concerns(d) {
			all = append(all, doctor.Problem{Text: d.Error(), Fatal: serverOf(d) == key})
		}
	}
	for _, d := range c.Warnings {
		if concerns(d) {
			all = append(all, doctor.Problem{Text: d.Error(), Fatal: slices.Contains(c.Disabled, key) && serverOf(d) == key})
		}
	}
	if len(all) == 0 && slices.Contains(c.Broken, key) {
		all = append(all, doctor.Problem{Text: "the server cannot be run", Fatal: true})
	}
	return all
}

// serverOf returns the server that a diagnostic is about, the second token of its pointer; empty if it
// is about none.
func serverOf(d *config.Diagnostic) string {
	i := 0
	for token := range d.Pointer.Tokens() {
		if i == 1 {
			return token
		}
		i++
	}
	return ""
}

// admission decides whether a server of the configuration may be used now.
func (h *hostProcess) admission(ctx context.Context, u *host.Upstream) (*doctor.Admission, error) {
	if err := h.servers.Policy().Check(u); err != nil {
		return &doctor.Admission{Denied: err.Error()}, nil
	}
	p, err := h.approvals.Check(ctx, u)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		return &doctor.Admission{Changes: p.Changes}, nil
	}
	admitted, err := h.servers.Admit(ctx, u)
	switch {
	case errors.Is(err, policy.ErrDenied):
		return &doctor.Admission{Denied: err.Error()}, nil
	case err != nil:
		return nil, err
	}
	return &doctor.Admission{Upstream: admitted}, nil
}

func (v *doctorCommand) options(m *Main) *doctor.Options {
	return &doctor.Options{
		Tool: v.tool, Arguments: jsontext.Value(v.args), Env: m.Getenv, Redact: m.secrets.redactAll, RedactFix: m.secrets.redactKnown,
		Command: func(words ...string) string { return m.doctorCommandLine(words, v.config) },
	}
}

// doctorCommandLine is a command of the host to type, with the configuration that is in use in front of the
// words of a program.
func (m *Main) doctorCommandLine(words []string, configuration string) string {
	if e := find(words[0]); configuration != "" && e != nil && flagsOf(e, e.make()).Lookup("config") != nil {
		end := slices.Index(words, "--")
		if end < 0 {
			end = len(words)
		}
		words = slices.Insert(slices.Clone(words), end, "--config", configuration)
	}
	line := m.program()
	for _, word := range words {
		line += " " + host.ShellQuote(word)
	}
	return line
}

// examine examines one server. Unless JSON is wanted it prints the results as they are found, below the
// name of the server if there are several.
func (v *doctorCommand) examine(ctx context.Context, m *Main, u *host.Upstream, o *doctor.Options, named bool) *doctor.Report {
	wire, err := m.wireLog()
	if err == nil {
		o.OnMessage = onMessage(wire, u.Key)
	}
	if !v.json {
		if named && m.Terminal {
			fmt.Fprintf(m.Stdout, "%s\n", m.Paint(terminal.Bold, terminal.CleanLine(u.Key)))
		}
		o.OnResult = func(r doctor.Result) { m.showResult(u, r) }
	}
	return doctor.Examine(ctx, u, o)
}

// showResult prints a result: on a terminal with its fix on a line of its own, else as a row. Checks that
// were skipped are not shown.
func (m *Main) showResult(u *host.Upstream, r doctor.Result) {
	if r.Status == doctor.Skipped {
		return
	}
	if !m.Terminal {
		_ = m.WriteTable(terminal.Table{Rows: [][]string{{cmp.Or(u.Key, "-"), r.Check, string(r.Status), string(r.ID), r.Text, r.Fix}}})
		return
	}
	styles := map[doctor.Status]terminal.Style{doctor.OK: terminal.Green, doctor.Warning: terminal.Yellow, doctor.Fault: terminal.Red}
	fmt.Fprintf(m.Stdout, "  %s %-13s %s\n", m.Paint(styles[r.Status], fmt.Sprintf("%-7s", r.Status)), r.Check, terminal.CleanLine(r.Text))
	if r.Fix != "" {
		fmt.Fprintf(m.Stdout, "  %-21s run: %s\n", "", m.Paint(terminal.Bold, terminal.CleanLine(r.Fix)))
	}
}

// finish prints the reports if JSON is wanted. Its error has the exit code of the first fault.
func (v *doctorCommand) finish(ctx context.Context, m *Main, reports []*doctor.Report) error {
	if v.json {
		if err := m.WriteDocument(terminal.Document{"servers": reports}); err != nil {
			return err
		}
	}
	var first *doctor.Result
	faults := 0
	for _, r := range reports {
		if f := r.FirstFault(); f != nil {
			first, faults = cmp.Or(first, f), faults+1
		}
	}
	if first == nil {
		return context.Cause(ctx) // nil unless checks were skipped
	}
	return codedErrorf(exitCodeOfFault(first), "servers with faults: %d of %d", faults, len(reports))
}

// exitCodeOfFault returns the exit code that says the same as a fault.
func exitCodeOfFault(r *doctor.Result) int {
	switch {
	case r.ID == doctor.ApprovalDenied:
		return exitPolicy
	case r.ID == doctor.ConnectionTimeout:
		return exitTimeout
	case r.ID == doctor.ConnectionProtocol || r.ID == doctor.ConnectionOutput:
		return exitProtocol
	}
	switch r.Check {
	case "configuration", "program":
		return exitUsage
	case "approval":
		return exitConsent
	case "runtime":
		return exitInternal
	case "metadata", "sign-in":
		return exitSignIn
	case "revision":
		return exitProtocol
	case "features", "call":
		return exitTool
	}
	return exitUnreachable
}
