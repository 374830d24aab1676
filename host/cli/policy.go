package cli

import (
	"context"
	"flag"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/policy"
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
