package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/host/userfile"
)

var lockEntry = commandInfo{
	name: "lock", does: "write fondaco.lock of a project, or compare with it",
	about: `The file has the commands, working directories, variables and headers, the versions
of packages, and digests of the project's scripts and of what you have approved
of each server. A team commits it: a host refuses what differs from it.
It approves nothing. Without --config it is that of the running host. --check --yes
starts the servers as the file has them, without an approval, and compares what they
list: for CI, where nothing was approved before and nothing is afterwards.`,
	example: "lock --config .mcp.json --check --yes",
	make:    func() command { return new(lockCommand) },
}

type lockCommand struct {
	output
	hostProcess
	check bool
}

func (v *lockCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.hostProcess.config, "config", "", "use the servers of `FILE`")
	f.BoolVar(&v.check, "check", false, "compare, and write nothing")
	f.BoolVar(&v.yes, "yes", false, "with --check: start the servers for that without approval")
}

func (v *lockCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	if v.yes && !v.check {
		return usagef("found --yes without --check; a lock has what you have approved")
	}
	v.hostProcess.config = cmp.Or(v.hostProcess.config, m.configOfRunningHost(ctx))
	v.forgets = v.yes
	if err := v.openForApproval(m); err != nil {
		return err
	}
	servers := v.servers.Servers()
	if len(servers) == 0 || servers[0].Origin.Project == "" {
		return usagef("%s is your own file; a lock is for the file of a project", v.path)
	}
	project := servers[0].Origin.Project
	if v.check {
		return v.compare(ctx, m, project)
	}
	return v.write(ctx, m, project)
}

// write writes the lock file.
func (v *lockCommand) write(ctx context.Context, m *Main, project string) error {
	upstreams, err := v.withFiles(ctx, v.servers.Servers())
	if err != nil {
		return codedErrorf(exitUnreachable, "%w", err)
	}
	now, err := v.definitions.Lock(ctx, upstreams)
	if err != nil {
		return codedErrorf(exitConsent, "%w", err)
	}
	if err := v.checkApproved(ctx, m); err != nil {
		return err
	}
	text, err := now.Encode()
	if err != nil {
		return err
	}
	path := filepath.Join(project, definition.LockFile)
	if err := userfile.WriteFile(path, text); err != nil {
		return err
	}
	m.Info("%s is written: %d servers", path, len(now.Servers))
	servers := v.servers.Servers()
	for i := range servers {
		m.warnOfLockedArguments(&servers[i])
	}
	return nil
}

// checkApproved returns an error if a server is not approved as it is now.
func (v *lockCommand) checkApproved(ctx context.Context, m *Main) error {
	servers := v.servers.Servers()
	for i := range servers {
		u := &servers[i]
		switch pending, err := v.approvals.Check(ctx, u); {
		case err != nil:
			return err
		case pending != nil:
			return codedErrorf(exitConsent, "server %q: it is not approved as it is now; %s", u.Key, m.approveCommand(u.Key, v.hostProcess.config))
		}
	}
	return nil
}

// compare compares the lock file with what is configured, and with the definitions that are
// approved or, with --yes, listed now. What cannot be compared is an error after all differences.
func (v *lockCommand) compare(ctx context.Context, m *Main, project string) error {
	before, err := definition.ReadLock(project)
	switch {
	case err != nil:
		return &codedError{exitUsage, err}
	case before == nil:
		return usagef("%s does not exist in %s; %s lock writes it", definition.LockFile, project, m.program())
	}
	now, incomplete, err := v.current(ctx, m)
	if err != nil {
		return err
	}
	differences := before.Differences(now)
	if v.json {
		if err := m.WriteDocument(terminal.Document{"differences": append([]string{}, differences...)}); err != nil {
			return err
		}
	} else {
		for _, text := range differences {
			m.Message("%s", terminal.CleanLine(text))
		}
	}
	switch {
	case len(differences) > 0:
		return codedErrorf(exitPolicy, "%s differs from what is configured and %s: %d", definition.LockFile, v.compared(), len(differences))
	case incomplete != nil:
		return incomplete
	}
	m.Info("%s is as configured and %s", definition.LockFile, v.compared())
	return nil
}

func (v *lockCommand) compared() string {
	if v.yes {
		return "listed"
	}
	return "approved"
}

// current returns the lock as it is now, and why it is not complete.
func (v *lockCommand) current(ctx context.Context, m *Main) (now *definition.Lock, incomplete, err error) {
	upstreams, unknown := v.withFiles(ctx, v.servers.Servers())
	if unknown != nil {
		unknown = codedErrorf(exitUnreachable, "%w", unknown)
	}
	if v.yes {
		now, incomplete, err = v.listed(ctx, m, upstreams)
		return now, cmp.Or(incomplete, unknown), err
	}
	if now, incomplete = v.definitions.Lock(ctx, upstreams); incomplete == nil {
		return now, unknown, nil
	}
	now, err = v.definitions.Listed(ctx, upstreams, func(string) bool { return false })
	return now, codedErrorf(exitConsent, "%w; --check --yes starts the servers and compares what they list", incomplete), err
}

// listed starts the servers that are as the lock file has them, which is what Admit wants, and
// returns what they list. Their approvals end with this command. The upstreams have their files.
func (v *lockCommand) listed(ctx context.Context, m *Main, configured []host.Upstream) (now *definition.Lock, incomplete, err error) {
	if v.checkYes(); !v.yes {
		return nil, nil, codedErrorf(exitConsent, "nothing was started")
	}
	upstreams := slices.Clone(v.servers.Servers())
	for i := range upstreams {
		upstreams[i].Settings.Lazy = false
	}
	v.gateway = gateway.New(upstreams, &gateway.Options{
		Admit: v.servers.Admit, FilterDefinitions: v.filterDefinitions, Auth: v.tokens.Authorizer, OnDecision: v.audit.Write, Logger: m.logger(),
	})
	m.onClose(v.gateway.Close)
	v.gateway.Start(ctx)
	statuses := v.gateway.Status()
	var failed []error
	for i, s := range statuses {
		if s.State != host.Ready && definition.CheckLock(&configured[i]) == nil { // else the difference says why
			failed = append(failed, fmt.Errorf("server %q: what it lists cannot be compared: %s", s.Key, terminal.CleanLine(s.Reason)))
		}
	}
	if len(failed) > 0 {
		incomplete = codedErrorf(exitUnreachable, "%w", errors.Join(failed...))
	}
	now, err = v.definitions.Listed(ctx, configured, func(key string) bool {
		return slices.ContainsFunc(statuses, func(s host.Status) bool { return s.Key == key && s.State == host.Ready })
	})
	return now, incomplete, err
}
