package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fondaco/fondaco/host/config"
)

var connectEntry = commandInfo{
	name: "connect", operands: "CLIENT", does: "add the host to the configuration of a client",
	about: `The client gets the command "fondaco stdio", which joins the running host or
starts one, so no token is needed in its file. With --url it gets a URL instead,
for a host on another machine. The rest of the file is unchanged, and a copy of
the old file is kept beside it. --dry-run shows the change; possible secrets in
the file and in the URL are shown as "…". A URL with a secret is refused if the
file is below version control.`,
	example: "connect cursor --dry-run",
	make:    func() command { return new(connectCommand) },
}

type connectCommand struct {
	url    string
	file   string
	name   string
	path   string
	dryRun bool
}

func (v *connectCommand) declare(f *flag.FlagSet) {
	declareConfig(f, &v.path)
	f.StringVar(&v.url, "url", "", "have the client connect to the host at a `URL`")
	f.StringVar(&v.file, "file", "", "change `FILE` instead of the client's own file")
	f.StringVar(&v.name, "name", "fondaco", "`NAME` of the host in the file; default fondaco")
	f.BoolVar(&v.dryRun, "dry-run", false, "print the change without writing it")
}

func (v *connectCommand) run(_ context.Context, m *Main, operands []string) error {
	if len(operands) != 1 {
		return usagef("want the name of one client, such as cursor")
	}
	client, err := clientNamed(operands[0])
	if err != nil {
		return err
	}
	path := v.file
	if path == "" {
		path = client.File(m.getenv)
	}
	if path == "" {
		return usagef("the environment does not say where %s has its configuration; want --file FILE", client.Name)
	}
	endpoint, err := v.endpoint(client)
	if err != nil {
		return err
	}
	if err := v.checkURL(path); err != nil {
		return err
	}
	change, err := client.Connect(path, v.name, endpoint)
	switch {
	case err != nil:
		return &codedError{exitUsage, err}
	case change.Empty():
		m.message("%s has it already: %s", client.Name, path)
		return nil
	case v.dryRun:
		return m.writeText(change.Diff())
	}
	backups, err := m.backupsOf(path)
	if err != nil {
		return err
	}
	copied, err := change.Write(backups)
	if err != nil {
		return err
	}
	m.message("added %s to %s: %s", v.name, client.Name, path)
	if copied != "" {
		m.message("backup: %s", copied)
	}
	m.message("restart %s, which reads the file when it starts", client.Name)
	return nil
}

// backupsOf returns the directory for copies of a file: its own, unless that is below version control,
// which may ignore the file because of its secrets, and would not ignore a copy.
func (m *Main) backupsOf(path string) (string, error) {
	repository, err := repositoryOfFile(path)
	if err != nil {
		return "", err
	}
	if repository == "" {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		return filepath.Dir(path), nil
	}
	dir, err := stateDir(m.getenv)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "backups")
	return dir, os.MkdirAll(dir, 0o700)
}

// checkURL returns an error if the file of a path is below version control, where all that it has may
// be published, and the URL has a secret.
func (v *connectCommand) checkURL(path string) error {
	part := config.SecretInURL(v.url)
	if part == "" {
		return nil
	}
	repository, err := repositoryOfFile(path)
	if err != nil || repository == "" {
		return err
	}
	return usagef("--url: found what looks like a secret (%s), which %s would publish, because it is below the repository %s; "+
		"want a URL without it, --file with a file elsewhere, or no --url: \"fondaco stdio\" needs no token", part, path, repository)
}

// endpoint returns how the client will connect to the host.
func (v *connectCommand) endpoint(c config.Client) (config.Endpoint, error) {
	switch {
	case v.url != "" && v.path != "":
		return config.Endpoint{}, usagef("found both --url and --config, want one of them")
	case v.url != "" && !c.SupportsURL():
		return config.Endpoint{}, usagef("%s cannot connect to a URL; without --url it gets the command \"fondaco stdio\"", c.Name)
	case v.url != "":
		return config.Endpoint{URL: v.url}, nil
	}
	program, err := os.Executable()
	if err != nil {
		return config.Endpoint{}, fmt.Errorf("find this program: %w", err)
	}
	command := []string{program, "stdio"}
	if v.path != "" {
		path, err := filepath.Abs(v.path)
		if err != nil {
			return config.Endpoint{}, err
		}
		command = append(command, "--config", path)
	}
	return config.Endpoint{Command: command}, nil
}
