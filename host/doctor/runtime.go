package doctor

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
)

// runtimes are the programs that run other programs, with the one that each needs and the arguments by
// which that one prints its version.
var runtimes = map[string]struct {
	needs   string
	version []string
}{
	"node":   {"node", []string{"--version"}},
	"npx":    {"node", []string{"--version"}},
	"npm":    {"node", []string{"--version"}},
	"uv":     {"uv", []string{"--version"}},
	"uvx":    {"uv", []string{"--version"}},
	"python": {"python", []string{"--version"}}, "python3": {"python3", []string{"--version"}},
	"deno": {"deno", []string{"--version"}}, "bun": {"bun", []string{"--version"}}, "bunx": {"bun", []string{"--version"}},
	"docker": {"docker", []string{"version", "--format", "{{.Server.Version}}"}},
	"podman": {"podman", []string{"version", "--format", "{{.Client.Version}}"}},
}

// checkRuntime asks the runtime of a program for its version, and compares it with what the package of
// the program wants. It runs only what belongs to the program that was approved.
func checkRuntime(ctx context.Context, e *examination) {
	t := e.commandTarget()
	if t == nil {
		e.skip("the server is no program of this machine")
		return
	}
	name := strings.TrimSuffix(filepath.Base(e.program), ".exe")
	r, known := runtimes[name]
	if !known {
		e.skip("%s needs no runtime that is known", name)
		return
	}
	if t.Verify != nil {
		if err := t.Verify(); err != nil {
			e.fail(ApprovalChanged, e.opts.command("approve", e.upstream.Key), "the files of the program have changed since they were checked: %v", err)
			return
		}
	}
	path := e.program
	if e.opts.Admit != nil && filepath.IsAbs(t.Path) {
		path = t.Path // the file that was approved
	}
	if r.needs != name {
		var err error
		if path, err = e.lookUp(r.needs); err != nil {
			e.fail(RuntimeMissing, installCommand(r.needs), "%s needs %s, which is in no directory of the PATH", name, r.needs)
			return
		}
	}
	version, err := e.versionOf(ctx, path, r.version)
	switch {
	case err != nil && r.needs == "docker":
		e.fail(RuntimeDaemon, "docker info", "the Docker daemon does not answer: %v", err)
		return
	case err != nil:
		e.fail(RuntimeFailed, host.ShellQuote(path)+" "+strings.Join(r.version, " "), "%s does not print its version: %v", path, err)
		return
	}
	if r.needs == "node" {
		if wanted, file := wantedNode(t.Args, t.Dir); wanted != "" && !inRange(version, wanted) {
			e.fail(RuntimeVersion, installCommand("node"), "%s is of version %s, and %s wants %s; install that version", path, version, file, wanted)
			return
		}
	}
	e.pass("%s is of version %s", r.needs, version)
}

// maxVersion limits what is read of a program that prints its version, in bytes.
const maxVersion = 4 << 10

// versionOf runs a program that prints its version.
func (e *examination) versionOf(ctx context.Context, path string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, e.opts.step())
	defer cancel()
	var stdout, stderr boundedBuffer
	c := exec.CommandContext(ctx, path, args...)
	c.Stdout, c.Stderr, c.WaitDelay = &stdout, &stderr, time.Second
	t := e.commandTarget()
	withheld := t.WithheldVariables()
	c.Dir, c.Env = t.Dir, slices.DeleteFunc(os.Environ(), func(variable string) bool { // as when the server is started
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(withheld, name)
	})
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		c.Env = append(c.Env, name+"="+t.Env[name])
	}
	err := c.Run()
	if ctx.Err() != nil {
		err = errors.New("no answer in time")
	}
	if line := firstLine(stderr.String()); err != nil && line != "" {
		err = errors.New(line)
	}
	if err != nil {
		return "", err
	}
	words := strings.Fields(firstLine(stdout.String() + "\n" + stderr.String()))
	for _, word := range words {
		if v := strings.TrimPrefix(word, "v"); len(v) > 0 && v[0] >= '0' && v[0] <= '9' {
			return v, nil
		}
	}
	return "", errors.New("it printed no version")
}

// boundedBuffer keeps the first bytes of an output.
type boundedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), maxVersion-min(b.Len(), maxVersion))])
	return len(p), nil
}

// firstLine returns the first line that is not blank.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// maxManifest limits a package.json that is read, in bytes.
const maxManifest = 1 << 20

// wantedNode returns the versions of Node.js that the package of a program wants, and the file that says so.
// The package is that of the script among the arguments, or the one that npx finds in the working
// directory.
func wantedNode(args []string, dir string) (wanted, file string) {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		at := arg
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		if existing(at) == "" {
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "@"), "@")
			if strings.HasPrefix(arg, "@") {
				name = "@" + name
			}
			file = filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json")
			return enginesOf(file), file
		}
		for at = filepath.Dir(at); ; at = filepath.Dir(at) {
			file = filepath.Join(at, "package.json")
			if wanted := enginesOf(file); wanted != "" {
				return wanted, file
			}
			if filepath.Dir(at) == at {
				return "", ""
			}
		}
	}
	return "", ""
}

// enginesOf returns the versions of Node.js that a package.json wants; empty for none.
func enginesOf(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	var manifest struct {
		Engines struct {
			Node string `json:"node"`
		} `json:"engines"`
	}
	if json.UnmarshalRead(io.LimitReader(f, maxManifest), &manifest) != nil {
		return ""
	}
	return manifest.Engines.Node
}
