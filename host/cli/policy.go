package cli

import (
	"context"
	"flag"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/policy"
	"github.com/fondaco/fondaco/host/storage"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var policyEntry = commandInfo{
	name: "policy", operands: "explain [SERVER | URL | -- COMMAND...]", does: "show what the managed policy allows",
	about: `The administrator of the machine decides by it which servers may run. explain
says where it is, which of its entries cannot be used, and for a server of the
configuration, a URL or a command whether it may run, and by which entry.`,
	example: "policy explain files",
	make:    func() command { return new(policyCommand) },
}

type policyCommand struct {
	output
	config  string
	command []string
}

func (v *policyCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	declareConfig(f, &v.config)
}

func (v *policyCommand) takeCommand(words []string) { v.command = words }

// policyPlace is where the managed policy is. Only tests set it.
var policyPlace = policy.System()

// loadPolicy reads the managed policy. Commands that start and connect to nothing work
// without it.
func (m *Main) loadPolicy() (err error) {
	switch m.entry.name {
	case helpEntry.name, versionEntry.name, completionEntry.name, auditEntry.name, policyEntry.name, reportEntry.name, diffEntry.name:
		return nil
	}
	m.policyVersion = supervisor.VersionOf(policyPlace.String()) // before it is read, so that no change is missed
	if m.policy, err = readPolicy(); err != nil {
		return &codedError{exitPolicy, err}
	}
	if f := m.policy.ForbiddenFlag(m.givenFlags); f != "" {
		return codedErrorf(exitPolicy, "%s: %w, %s", dashed(f), policy.ErrDenied, m.policy.Path)
	}
	for _, v := range flagVariables {
		if value, _ := m.Getenv(v.variable); value != "" && m.policy.ForbiddenFlag([]string{v.flag}) != "" {
			return codedErrorf(exitPolicy, "$%s, which stands for %s: %w, %s", v.variable, dashed(v.flag), policy.ErrDenied, m.policy.Path)
		}
	}
	return nil
}

// flagVariables are the variables that stand for flags. A policy that forbids the flag forbids
// the variable.
var flagVariables = []struct{ flag, variable string }{{"url", urlVariable}, {"token", tokenVariable}, {"store", storage.AddressVariable}}

// readPolicy reads the managed policy, nil if there is none.
func readPolicy() (*policy.Policy, error) {
	p, err := policyPlace.Load()
	if err == nil {
		err = p.CheckFlags(allFlags())
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// allFlags returns the names of the flags of all commands, without dashes.
func allFlags() (names []string) {
	for _, e := range commands {
		flagsOf(&e, e.make()).VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	}
	return names
}

// checkPolicy returns an error if the managed policy denies a server. Every way to a server
// passes it: those of a configuration when it is read and again when they are started, those
// that are added or imported, and those that the command line names.
func (m *Main) checkPolicy(u *host.Upstream) error {
	if err := m.policy.Check(u); err != nil {
		m.recordServerDenial(u, err)
		return &codedError{exitPolicy, err}
	}
	return nil
}

// checkDirect is checkPolicy for a server that a command connects to itself, without the
// host and its audit log.
func (m *Main) checkDirect(t mcpclient.Target) error {
	u := &host.Upstream{Target: t}
	if m.policy.RequiresAudit() {
		err := codedErrorf(exitPolicy, "%w, %s: it wants an audit log, which is that of a host: add the server to the configuration", policy.ErrDenied, m.policy.Path)
		m.recordServerDenial(u, err)
		return err
	}
	return m.checkPolicy(u)
}

func (v *policyCommand) run(_ context.Context, m *Main, operands []string) error {
	switch {
	case len(operands) == 0 || operands[0] != "explain":
		return usagef("want explain")
	case len(operands) > 2 || len(operands) == 2 && v.command != nil:
		return usagef("found several servers, want one")
	}
	p, err := readPolicy()
	if err != nil {
		return &codedError{exitPolicy, err}
	}
	d := terminal.Document{"path": policyPlace.String(), "exists": p != nil}
	if p != nil {
		d["problems"] = append([]string{}, p.Problems...)
	}
	if len(operands) == 1 && v.command == nil {
		return v.show(m, p, d)
	}
	u, err := v.server(m, operands[1:])
	if err != nil {
		return err
	}
	verdict := p.Explain(u)
	d["verdict"] = verdict
	if v.json {
		return m.WriteDocument(d)
	}
	word := "denied"
	switch {
	case verdict.Undecided:
		word = "decided when it is started, because its configuration has references"
	case verdict.Allowed:
		word = "allowed"
	}
	return m.WriteLine("%s: %s", word, verdict.Reason)
}

// show prints what is known of the policy itself.
func (v *policyCommand) show(m *Main, p *policy.Policy, d terminal.Document) error {
	if v.json {
		return m.WriteDocument(d)
	}
	if p == nil {
		return m.WriteLine("%s does not exist: there is no managed policy", policyPlace)
	}
	lines := append([]string{policyPlace.String()}, p.Describe()...)
	for _, problem := range p.Problems {
		lines = append(lines, "cannot be used: "+problem)
	}
	for _, line := range lines {
		if err := m.WriteLine("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// server returns the server that the command line names.
func (v *policyCommand) server(m *Main, operands []string) (*host.Upstream, error) {
	if v.command != nil {
		t, err := commandTarget(v.command)
		return &host.Upstream{Target: t}, err
	}
	if name := operands[0]; strings.Contains(name, "://") {
		return &host.Upstream{Target: mcpclient.URL(name)}, nil
	}
	path, err := m.configPath(v.config)
	if err != nil {
		return nil, err
	}
	c, err := config.Load(path, &config.Options{Env: m.Getenv})
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	var keys []string
	for _, u := range c.Upstreams {
		keys = append(keys, u.Key)
	}
	i := slices.Index(keys, operands[0])
	if i < 0 {
		return nil, usagef("server %q: unknown%s; it is not in %s", operands[0], didYouMean(operands[0], keys), path)
	}
	return &c.Upstreams[i], nil
}

// checkDemonstration returns an error if the managed policy does not allow the demonstration.
func (m *Main) checkDemonstration(u *host.Upstream) error {
	if m.policy.RequiresAudit() {
		err := codedErrorf(exitPolicy, "the demonstration: %w, %s: it wants an audit log, which the demonstration has not; --config names a configuration", policy.ErrDenied, m.policy.Path)
		m.recordServerDenial(u, err)
		return err
	}
	return m.checkPolicy(u)
}
