package cli

import (
	"cmp"
	"context"
	"flag"
	"os"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/terminal"
)

var importEntry = commandInfo{
	name: "import", operands: "[NAME...]", does: "copy servers from the configurations of MCP clients",
	about: `It reads the files of MCP clients on this machine and in this directory, and
adds their servers, or only those of the given names, to the configuration of
the host. Nothing is started, and the files are not changed. It prints what it
adds: name, program, command or URL, and the names of variables and headers.
Secrets are copied, and shown as "…"; servers with secrets are left out if the
configuration is below version control.`,
	example: "import --from cursor --dry-run",
	make:    func() command { return new(importCommand) },
}

type importCommand struct {
	path   string
	from   string
	dryRun bool
}

func (v *importCommand) declare(f *flag.FlagSet) {
	declareConfig(f, &v.path)
	f.StringVar(&v.from, "from", "", "read the files of `CLIENT` alone, such as cursor")
	f.BoolVar(&v.dryRun, "dry-run", false, "print what would be added")
}

func (v *importCommand) run(ctx context.Context, m *Main, operands []string) error {
	path, err := m.configPath(v.path)
	if err != nil {
		return err
	}
	if v.from != "" {
		if _, err := clientNamed(v.from); err != nil {
			return err
		}
	}
	found, err := v.find(m, operands)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(f foundServer) bool {
		err := cmp.Or(m.checkPolicy(f.server.Upstream()), checkSecretPlace(path, f.server))
		if err != nil {
			m.Message("left out: %s of %s: %s", f.server.Name, f.client, terminal.CleanLine(err.Error()))
		}
		return err != nil
	})
	servers := make([]*config.Server, len(found))
	for i, f := range found {
		servers[i] = f.server
	}
	change, taken, err := config.Add(path, servers)
	if err != nil {
		return &codedError{exitUsage, err}
	}
	found = slices.DeleteFunc(found, func(f foundServer) bool {
		if slices.Contains(taken, f.server) {
			m.Message("left out: %s of %s, because the name is taken", f.server.Name, f.client)
			return true
		}
		return false
	})
	return v.finish(ctx, m, path, change, found)
}

// finish prints the change, and writes it unless this is a dry run.
func (v *importCommand) finish(ctx context.Context, m *Main, path string, change *config.Change, found []foundServer) error {
	if len(found) == 0 {
		m.Message("nothing to add to %s", path)
		return nil
	}
	t := terminal.Table{Head: []string{"SERVER", "CLIENT", "TARGET", "NAMES"}}
	for _, f := range found {
		t.Rows = append(t.Rows, []string{f.server.Name, f.client, f.server.String(), strings.Join(f.server.Names(), " ")})
	}
	if err := m.WriteTable(t); err != nil {
		return err
	}
	if v.dryRun {
		m.Message("%s is unchanged: dry run", path)
		return nil
	}
	if _, err := change.Write(""); err != nil {
		return err
	}
	m.Message("added to %s: %d", path, len(found))
	m.Message("%s", m.nextAfterAdding(ctx, path, v.path, ""))
	return nil
}

// foundServer is a server of another client's configuration.
type foundServer struct {
	client string
	server *config.Server
}

// find reads the servers of other clients, or those of the given names.
func (v *importCommand) find(m *Main, names []string) (found []foundServer, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, f := range config.FindClientConfigs(m.Getenv, dir) {
		if v.from != "" && f.Client.ID != v.from {
			continue
		}
		servers, faults := f.Servers(m.Getenv, dir)
		for _, fault := range faults {
			m.Message("%s", terminal.Clean(fault.Error()))
		}
		m.Message("read %s: %s", f.Client.Name, f.Path)
		for _, s := range servers {
			if len(names) == 0 || slices.Contains(names, s.Name) {
				found = append(found, foundServer{f.Client.Name, s})
			}
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(found, func(f foundServer) bool { return f.server.Name == name }) {
			return nil, usagef("server %q: no client has a server of that name", name)
		}
	}
	return found, nil
}

// clientNamed returns the client of an ID.
func clientNamed(id string) (config.Client, error) {
	var ids []string
	for _, c := range config.Clients() {
		if c.ID == id {
			return c, nil
		}
		ids = append(ids, c.ID)
	}
	return config.Client{}, usagef("client %q: want one of %s%s", id, strings.Join(ids, ", "), didYouMean(id, ids))
}
