package cli

import (
	"flag"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/policy"
	"github.com/fondaco/fondaco/host/storage"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

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

// checkDemonstration returns an error if the managed policy does not allow the demonstration.
func (m *Main) checkDemonstration(u *host.Upstream) error {
	if m.policy.RequiresAudit() {
		err := codedErrorf(exitPolicy, "the demonstration: %w, %s: it wants an audit log, which the demonstration has not; --config names a configuration", policy.ErrDenied, m.policy.Path)
		m.recordServerDenial(u, err)
		return err
	}
	return m.checkPolicy(u)
}
