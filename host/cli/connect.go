package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/storage"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var connectEntry = commandInfo{
	name: "connect", operands: "CLIENT", does: "add the host to the configuration of a client",
	about: `The client gets the command "fondaco stdio", which joins the running host or
starts one, so no token is needed in its file; with --config that is the host of
FILE. With --url it gets a URL instead, for a host on another machine. The rest
of the file is unchanged, and a copy of the old file is kept beside it.
--dry-run shows the change; possible secrets are shown as "…", and refused if
the file is below version control. A URL whose server refuses the client is not
written: --token or --header may be missing. Nor is a FILE that cannot be read.
CLIENT is claude-desktop, claude-code, cursor, vscode, windsurf, cline, roo,
gemini, opencode, zed, codex, copilot, amazonq, kiro or lmstudio.`,
	example: "connect cursor --dry-run",
	make:    func() command { return new(connectCommand) },
}

type connectCommand struct {
	url    string
	file   string
	name   string
	path   string
	dryRun bool
	header requestHeaders
}

func (v *connectCommand) declare(f *flag.FlagSet) {
	declareConfig(f, &v.path)
	f.StringVar(&v.url, "url", "", "have the client connect to the host at a `URL`")
	f.StringVar(&v.file, "file", "", "change `FILE` instead of the client's own file")
	f.StringVar(&v.name, "name", "fondaco", "`NAME` of the host in the file; default fondaco")
	f.BoolVar(&v.dryRun, "dry-run", false, "print the change without writing it")
	v.header.references = true
	v.header.declare(f)
}

func (v *connectCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) != 1 {
		return usagef("want the name of one client, such as cursor")
	}
	client, err := clientNamed(operands[0])
	if err != nil {
		return err
	}
	path := v.file
	if path == "" {
		path = client.File(m.Getenv)
	}
	if path == "" {
		return usagef("the environment does not say where %s has its configuration; want --file FILE", client.Name)
	}
	endpoint, err := v.endpoint(m, client)
	if err != nil {
		return err
	}
	if err := v.checkSecrets(path, endpoint); err != nil {
		return err
	}
	change, err := client.Connect(path, v.name, endpoint)
	switch {
	case err != nil:
		return &codedError{exitUsage, err}
	case change.Empty():
		m.Message("%s has it already: %s", client.Name, path)
		return nil
	case v.dryRun:
		return m.WriteText(change.Diff())
	}
	if err := m.tryEndpoint(ctx, client, endpoint); err != nil {
		return err
	}
	backups, err := m.backupsOf(path)
	if err != nil {
		return err
	}
	copied, err := change.Write(backups)
	if err != nil {
		return err
	}
	m.Message("added %s to %s: %s", v.name, client.Name, path)
	if copied != "" {
		m.Message("backup: %s", copied)
	}
	m.Message("restart %s, which reads the file when it starts", client.Name)
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
	dir, err := storage.Dir(m.Getenv)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "backups")
	return dir, os.MkdirAll(dir, 0o700)
}

// checkSecrets returns an error if the file of a path is below version control, where all that it has may
// be published, and the endpoint has a secret.
func (v *connectCommand) checkSecrets(path string, at config.Endpoint) error {
	places := at.LiteralSecrets()
	if len(places) == 0 {
		return nil
	}
	repository, err := repositoryOfFile(path)
	if err != nil || repository == "" {
		return err
	}
	flag := "--url"
	if config.SecretInURL(at.URL) == "" {
		flag = "--token and --header"
	}
	return usagef("%s: found what looks like a secret (%s), which %s would publish, because it is below the repository %s; "+
		"want none or a reference of the client, --file with a file elsewhere, or no --url: \"fondaco stdio\" needs no token", flag, strings.Join(places, ", "), path, repository)
}

// tryLimit limits how long connect tries a URL.
const tryLimit = 10 * time.Second

// tryEndpoint connects to the URL of an endpoint as the client will, so that no entry is written that is refused at once.
// A server that cannot be reached now may be later, and one that lets clients sign in is not tried further.
func (m *Main) tryEndpoint(ctx context.Context, client config.Client, at config.Endpoint) error {
	if at.URL == "" || at.HasReferences() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	c, err := mcpclient.Connect(ctx, mcpclient.URL(at.URL), &mcpclient.Options{
		Info: mcp.Implementation{Name: clientName, Title: "Fondaco command line", Version: host.Version}, Logger: m.discardLogger(),
		HTTP: mcpclient.HTTPOptions{Header: at.Header},
	})
	if err == nil {
		_ = c.Close() // how the session ends does not matter
		return nil
	}
	shown := config.RedactURL(at.URL)
	refused, ok := errors.AsType[*mcpclient.HTTPError](err)
	switch {
	case ok && refused.Status == http.StatusUnauthorized && at.Header.Get("Authorization") == "" && strings.Contains(refused.Header.Get("WWW-Authenticate"), "resource_metadata="):
		m.Message("%s asks for a sign-in, which %s has to do", shown, client.Name)
		return nil
	case ok && refused.Status == http.StatusUnauthorized && at.Header.Get("Authorization") == "":
		return codedErrorf(exitSignIn, "%s refuses clients without credentials, nothing was written; want --token TOKEN, --token @FILE or --header", shown)
	case ok && refused.Status == http.StatusUnauthorized:
		return codedErrorf(exitSignIn, "%s refuses the credentials, nothing was written; want those of a client of this server", shown)
	case ok && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests, exitCode(err) == exitProtocol:
		return codedErrorf(exitCode(err), "%s refuses the client, nothing was written: %w; want the URL of an MCP server, such as %s", shown, err, defaultURL)
	}
	m.Message("%s cannot be reached now: %s", shown, terminal.CleanLine(err.Error()))
	return nil
}

// endpoint returns how the client will connect to the host.
func (v *connectCommand) endpoint(m *Main, c config.Client) (config.Endpoint, error) {
	switch {
	case v.url != "" && v.path != "":
		return config.Endpoint{}, usagef("found both --url and --config, want one of them")
	case v.url != "" && !c.SupportsURL():
		return config.Endpoint{}, usagef("%s cannot connect to a URL; without --url it gets the command \"fondaco stdio\"", c.Name)
	case v.url == "" && v.header.given():
		return config.Endpoint{}, usagef("found --token or --header without --url, want both: \"fondaco stdio\" needs no token")
	case v.url != "":
		if u, err := url.Parse(v.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return config.Endpoint{}, usagef("--url: want an http or https URL such as %s", defaultURL)
		}
		header, err := v.header.read("")
		return config.Endpoint{URL: v.url, Header: header}, err
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
		// The application would start a program that ends at once, and few applications show why.
		if _, err := config.Load(path, &config.Options{Env: m.Getenv, Ask: placeholder}); err != nil {
			return config.Endpoint{}, codedErrorf(exitUsage, "--config: %w; nothing was written", err)
		}
		command = append(command, "--config", path)
	}
	return config.Endpoint{Command: command}, nil
}
