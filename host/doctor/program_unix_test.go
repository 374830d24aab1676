//go:build unix

package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/doctor"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func init() {
	faults = append(faults, programFaults...)
	_ = os.Setenv("FONDACO_TEST_WITHHELD", "here") // in this process, whose environment programs do not inherit
}

var programFaults = []fault{
	{
		name: "not in the PATH", id: doctor.ProgramMissing, text: "the program notes-server is in no directory of the PATH",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) { program(t, u, "", "notes-server") },
	},
	{
		name: "a misspelt program", id: doctor.ProgramMissing, text: "the program notes-sevrer is in no directory of the PATH (did you mean notes-server?)", fix: "fondaco set notes -- notes-server --port 1",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, "exit 0", "notes-server", "--port", "1")
			u.Target.(*mcpclient.CommandTarget).Path = "notes-sevrer"
		},
	},
	{
		name: "a path without a program", id: doctor.ProgramMissing, text: "/bin/notes-server", fix: "fondaco config show",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, "", t.TempDir()+"/bin/notes-server")
		},
	},
	{
		name: "not executable", id: doctor.ProgramMode, text: "not executable", fix: "chmod +x ",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			dir := program(t, u, "", "notes-server")
			write(t, filepath.Join(dir, "notes-server"), "#!/bin/sh", 0o600)
		},
	},
	{
		name: "no directory", id: doctor.ProgramDirectory, text: "no such file", fix: "mkdir -p ",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, "exit 1", "notes-server")
			u.Target.(*mcpclient.CommandTarget).Dir = t.TempDir() + "/nowhere"
		},
	},
	{
		name: "a file instead of a directory", id: doctor.ProgramDirectory, text: "is a file; want a directory", fix: "fondaco config check",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			dir := program(t, u, "exit 1", "notes-server")
			u.Target.(*mcpclient.CommandTarget).Dir = filepath.Join(dir, "notes-server")
		},
	},
	{
		name: "a script without its interpreter", id: doctor.ProgramInterpreter, text: "names the interpreter lua5.9",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			dir := program(t, u, "", "notes-server")
			write(t, filepath.Join(dir, "notes-server"), "#!/usr/bin/env lua5.9\n", 0o700)
		},
	},
	{
		name: "npx without node", id: doctor.RuntimeMissing, text: "npx needs node", fix: "install",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) { program(t, u, "exit 1", "npx") },
	},
	{
		name: "a runtime that does not run", id: doctor.RuntimeFailed, text: "bad interpreter", fix: "deno --version",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, "echo bad interpreter >&2; exit 1", "deno")
		},
	},
	{
		name: "an old node", id: doctor.RuntimeVersion, text: "is of version 16.20.2, and ", fix: "install",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			dir := program(t, u, "echo v16.20.2", "node", "dist/index.js")
			write(t, filepath.Join(dir, "package.json"), `{"engines":{"node":">=18"}}`, 0o600)
			write(t, filepath.Join(dir, "dist", "index.js"), "", 0o600)
		},
	},
	{
		name: "an old node for a package of npx", id: doctor.RuntimeVersion, text: "@acme/notes/package.json wants ^20.1 || >=22", fix: "install",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			dir := program(t, u, "exit 1", "npx", "-y", "@acme/notes@latest")
			write(t, filepath.Join(dir, "node"), "#!/bin/sh\necho v20.0.0\n", 0o700)
			write(t, filepath.Join(dir, "node_modules", "@acme", "notes", "package.json"), `{"engines":{"node":"^20.1 || >=22"}}`, 0o600)
		},
	},
	{
		name: "no Docker daemon", id: doctor.RuntimeDaemon, text: "Cannot connect to the Docker daemon", fix: "docker info",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, "echo Cannot connect to the Docker daemon >&2; exit 1", "docker", "run", "notes")
		},
	},
	{
		name: "files that change meanwhile", id: doctor.ApprovalChanged, text: "it has changed", fix: "fondaco approve notes",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, "echo v20.0.0", "node")
			u.Target.(*mcpclient.CommandTarget).Verify = func() error { return &os.PathError{Op: "it has changed:", Path: "node", Err: os.ErrInvalid} }
		},
	},
	{
		name: "a crash at the start", id: doctor.ConnectionExited, text: "exited with status 3 before answering initialize: first | no database", fix: " --port 1",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, "echo first >&2; echo no database >&2; exit 3", "notes-server", "--port", "1")
		},
	},
	{
		name: "a variable that the program does not get", id: doctor.ConnectionVariable, text: "the variable FONDACO_TEST_WITHHELD is set here", fix: "fondaco set notes --env FONDACO_TEST_WITHHELD",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, "echo want FONDACO_TEST_WITHHELD >&2; exit 1", "notes-server")
		},
	},
	{
		name: "text on standard output", id: doctor.ConnectionOutput, text: `"Server started"`, fix: "fondaco doctor notes",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, "echo Server started; exit 1", "notes-server")
		},
	},
	{
		name: "text before the first message", id: doctor.ConnectionOutput, text: "Server started", fix: "fondaco doctor notes", warning: true,
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			program(t, u, `echo Server started
while read -r line; do case $line in
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')"',"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}';;
*'"id"'*) echo '{"jsonrpc":"2.0","id":'"$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')"',"error":{"code":-32601,"message":"no"}}';;
esac; done`, "notes-server")
		},
	},
	{
		name: "a program that never answers", id: doctor.ConnectionTimeout, text: "waiting for the database", fix: "FONDACO_WIRE=1",
		make: func(t *testing.T, u *host.Upstream, o *doctor.Options) {
			program(t, u, "echo waiting for the database >&2; exec cat >/dev/null", "notes-server")
			o.Start = 300 * time.Millisecond
		},
	},
}

// TestRuntimeGetsTheVariablesOfTheServerAlone: the program that is asked for its version may be one of the project.
func TestProgramsThatAMisspeltOneIsComparedWithAreLimited(t *testing.T) {
	t.Parallel()
	u, o := newSubject(t)
	dir, others := program(t, u, "exit 0", "notes-server"), t.TempDir()
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(others, "p"+strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := u.Target.(*mcpclient.CommandTarget)
	target.Path, target.Env["PATH"] = "notes-sevrer", others+":"+dir
	if found := examine(t, u, o).FirstFault(); found == nil || found.ID != doctor.ProgramMissing || strings.Contains(found.Text, "did you mean") {
		t.Errorf("got %+v, want no program behind the limit suggested", found)
	}
}

func TestRuntimeGetsTheVariablesOfTheServerAlone(t *testing.T) {
	t.Parallel()
	u := &host.Upstream{Key: "notes"}
	dir := program(t, u, `[ "$1" = --version ] && env >variables; echo v20.0.0; exit 1`, "node")
	doctor.Examine(t.Context(), u, nil)
	got, err := os.ReadFile(filepath.Join(dir, "variables"))
	if err != nil || strings.Contains(string(got), "FONDACO_TEST_WITHHELD") {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestPipesOfAProjectStopNothing: what a project names is looked at before the user approves it.
func TestPipesOfAProjectStopNothing(t *testing.T) {
	t.Parallel()
	u := &host.Upstream{Key: "notes"}
	pipe := filepath.Join(program(t, u, "", "notes-server"), "notes-server")
	if err := syscall.Mkfifo(pipe, 0o700); err != nil {
		t.Fatal(err)
	}
	u.Origin.File = "mcp.json"
	u.Source = &host.Source{URL: host.Text{References: []host.Reference{{Kind: host.FileReference, Name: pipe}}}}
	denied := func(context.Context) (*doctor.Admission, error) { return &doctor.Admission{Denied: "denied"}, nil }
	ended := make(chan *doctor.Report, 1)
	go func() { ended <- doctor.Examine(t.Context(), u, &doctor.Options{Admit: denied}) }()
	select {
	case r := <-ended:
		if f := r.FirstFault(); f == nil || f.ID != doctor.ApprovalDenied {
			t.Errorf("got %+v, want only the denial", f)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the examination hangs")
	}
}

func TestFileOfAProjectOnAnotherMachineIsNotLookedAt(t *testing.T) {
	t.Parallel()
	u := &host.Upstream{Key: "notes", Origin: host.Origin{File: "mcp.json", Project: t.TempDir()}}
	program(t, u, "exit 1", "notes-server")
	u.Source = &host.Source{URL: host.Text{References: []host.Reference{{Kind: host.FileReference, Name: `\\evil.example\share\token`}}}}
	r := doctor.Examine(t.Context(), u, nil)
	if f := r.FirstFault(); f == nil || f.ID != doctor.ConfigurationFile || !strings.Contains(f.Text, "leads to another machine") {
		t.Errorf("got %+v, want a fault of the file on another machine", f)
	}
}

// TestEachIDIsFoundInTestsAndExplained compares the IDs with the table of faults and with the page.
func TestEachIDIsFoundInTestsAndExplained(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("id.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(` ID = "([^"]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(ids) < 30 {
		t.Fatalf("got %d IDs, want thirty at least", len(ids))
	}
	for _, id := range ids {
		if !slices.ContainsFunc(faults, func(f fault) bool { return string(f.id) == id[1] }) {
			t.Errorf("%s: no test makes this fault", id[1])
		}
		if !strings.Contains(string(page), "| `"+id[1]+"` |") {
			t.Errorf("%s: docs/doctor.md does not explain it", id[1])
		}
	}
}

// program makes a server that is a program, with a script as the program unless the script is empty. Its PATH
// is one directory, which is its working directory, too.
func program(t *testing.T, u *host.Upstream, script, name string, args ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if script != "" {
		write(t, filepath.Join(dir, name), "#!/bin/sh\nPATH=/bin:/usr/bin\n"+script+"\n", 0o700)
	}
	target := mcpclient.Command(name, args...)
	target.Dir, target.Env = dir, map[string]string{"PATH": dir}
	u.Target = target
	return dir
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}
