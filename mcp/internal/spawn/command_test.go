package spawn_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

func TestArgumentsArriveLiterally(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := command("args", "; touch x", "$(touch x)", "`touch x`", "%PATH%", "${env:HOME}", "*", "", "two\nlines")
	c.Dir = dir
	got := output(t, start(t, c, nil))
	want := `["; touch x" "$(touch x)" "` + "`touch x`" + `" "%PATH%" "${env:HOME}" "*" "" "two\nlines"]` + "\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("got %v in the working directory, want no file", entries)
	}
}

func TestChildHasNoSecretsOfOurs(t *testing.T) {
	claim.Shows(t, "R-086")
	t.Setenv("AWS_SECRET", "canary-1")
	t.Setenv("OUR_TOKEN", "canary-2")
	t.Setenv("LD_LIBRARY_PATH", "canary-3")
	t.Setenv("LC_TIME", "C")
	c := with(command("environ"), "GIVEN", "yes=no")
	got := output(t, start(t, c, nil))
	if strings.Contains(got, "canary") {
		t.Errorf("got the environment\n%s\nwant no canary in it", got)
	}
	for _, want := range []string{"PATH=" + os.Getenv("PATH"), "LC_TIME=C", "GIVEN=yes=no"} {
		if !strings.Contains("\n"+got, "\n"+want+"\n") {
			t.Errorf("got the environment\n%s\nwant %s in it", got, want)
		}
	}
}

func TestChildGetsProxiesAndCertificatesWithoutPasswords(t *testing.T) {
	certificates := map[string]string{"SSL_CERT_FILE": "/ca@corp.pem", "SSL_CERT_DIR": "/ca", "NODE_EXTRA_CA_CERTS": "/ca.pem", "REQUESTS_CA_BUNDLE": "/ca.pem"}
	want := maps.Clone(certificates)
	for i, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		want[name] = fmt.Sprintf("http://proxy.example:%d", i)
	}
	want["NO_PROXY"] = "localhost,.corp"
	if runtime.GOOS != "windows" { // where names have no case
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
			want[strings.ToLower(name)] = want[name] + "0"
		}
	}
	for name, value := range want {
		t.Setenv(name, value)
	}
	has := func(got, name, value string) bool {
		return strings.Contains("\n"+got, "\n"+name+"="+value+"\n")
	}
	got := output(t, start(t, command("environ"), nil))
	for name, value := range want {
		if !has(got, name, value) {
			t.Errorf("got the environment\n%s\nwant %s=%s in it", got, name, value)
		}
	}
	for name := range want {
		if _, ok := certificates[name]; ok || strings.EqualFold(name, "NO_PROXY") {
			continue
		}
		for _, secret := range []string{"http://user:canary@proxy.example", "canary@proxy.example:80", "user:canary@proxy.example"} {
			t.Setenv(name, secret)
			if got := output(t, start(t, command("environ"), nil)); strings.Contains(got, "canary") {
				t.Errorf("%s=%s: got it in\n%s", name, secret, got)
			}
			c := with(command("environ"), name, secret)
			if got := output(t, start(t, c, nil)); !has(got, name, secret) {
				t.Errorf("%s=%s given: got\n%s\nwant it", name, secret, got)
			}
		}
	}
}

func TestSettingsOfALauncherGoToItAlone(t *testing.T) {
	t.Parallel()
	for name, programs := range map[string][]string{
		"npm_config_registry": {"npx"}, "NPM_CONFIG_REGISTRY": {"npx"},
		"UV_DEFAULT_INDEX": {"uvx"}, "UV_INDEX": {"uvx"}, "UV_INDEX_URL": {"uvx"}, "UV_EXTRA_INDEX_URL": {"uvx"},
		"PIP_INDEX_URL": {"pipx"}, "PIP_EXTRA_INDEX_URL": {"pipx"},
		"DOCKER_HOST":                  {"docker", "podman"},
		"npm_config__authToken":        nil,
		"npm_config_node_options":      nil,
		"UV_INDEX_CORP_PASSWORD":       nil,
		"SSH_AUTH_SOCK":                nil,
		"AWS_PROFILE":                  nil,
		"PYTHONPATH":                   nil,
		"NODE_OPTIONS":                 nil,
		"NODE_TLS_REJECT_UNAUTHORIZED": nil,
	} {
		for _, program := range []string{"npx", "uvx", "pipx", "docker", "podman", "node", "python3", "sh"} {
			want := slices.Contains(programs, program)
			for goos, path := range map[string]string{"linux": "/usr/bin/" + program, "windows": program + ".CMD"} {
				if got := spawn.IsInherited(goos, path, name, "https://index.example/simple"); got != want {
					t.Errorf("%s of %s on %s: got %v, want %v", name, program, goos, got, want)
				}
				if spawn.IsInherited(goos, path, name, "https://token@index.example/simple") || spawn.IsInherited(goos, path, name, "https://a.example b=https://u:p@b.example") {
					t.Errorf("%s of %s on %s: got one with credentials", name, program, goos)
				}
			}
		}
	}
	if !spawn.IsInherited("linux", "docker", "DOCKER_HOST", "ssh://user@build.example") || spawn.IsInherited("linux", "docker", "DOCKER_HOST", "ssh://user:secret@build.example") {
		t.Error("want DOCKER_HOST with a user of ssh, and not with a password")
	}
	if !spawn.IsInherited("windows", `server.exe`, "https_proxy", "http://proxy") || spawn.IsInherited("linux", "server", "Https_Proxy", "http://proxy") {
		t.Error("want names without case on Windows alone")
	}
}

func TestInheritedEnvironmentIsWholeAndGivenVariablesWin(t *testing.T) {
	t.Setenv("OUR_TOKEN", "theirs too")
	t.Setenv("LANG", "C")
	c := with(command("environ"), "LANG", "it_IT.UTF-8")
	c.InheritEnv = true
	got := output(t, start(t, c, nil))
	if !strings.Contains(got, "OUR_TOKEN=theirs too\n") || !strings.Contains(got, "LANG=it_IT.UTF-8\n") || strings.Contains(got, "LANG=C\n") {
		t.Errorf("got the environment\n%s\nwant OUR_TOKEN and the given LANG alone", got)
	}
}

func TestGivenPathIsSearched(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a symbolic link to the test binary")
	}
	dir := t.TempDir()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "weather-server")); err != nil {
		t.Fatal(err)
	}
	c := with(command("args", "found"), "PATH", "relative"+string(os.PathListSeparator)+dir)
	c.Path = "weather-server"
	if got, want := output(t, start(t, c, nil)), "[\"found\"]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgramInCurrentDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	name := "server"
	if runtime.GOOS == "windows" {
		name = "server.exe"
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("PATH", "."+string(os.PathListSeparator)+os.Getenv("PATH"))
	if _, err := spawn.Start(spawn.Command{Path: "server"}, nil); !errors.Is(err, exec.ErrDot) {
		t.Errorf("got %v, want %v", err, exec.ErrDot)
	}
	c := spawn.Command{Path: "server", Env: map[string]string{"PATH": "." + string(os.PathListSeparator) + "/nowhere"}}
	if _, err := spawn.Start(c, nil); err == nil || !strings.Contains(err.Error(), "not found in the given PATH") {
		t.Errorf("got %v, want not found in the given PATH", err)
	}
}

// The search of a program leaves out the working directory, so the error says how to name one
// that is there.
func TestProgramOfTheWorkingDirectoryIsNamedWithItsPath(t *testing.T) {
	name := "fondaco-program-here"
	if runtime.GOOS == "windows" {
		t.Skip("on Windows the search finds it and reports its path")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := spawn.Start(spawn.Command{Path: name}, nil)
	if !errors.Is(err, exec.ErrNotFound) || !strings.HasSuffix(err.Error(), "write ./"+name) {
		t.Errorf("got %v, want an error that ends in write ./%s", err, name)
	}
	if _, err := spawn.Start(spawn.Command{Path: name + "-2"}, nil); err == nil || strings.Contains(err.Error(), "./") {
		t.Errorf("got %v, want an error without a path that does not exist", err)
	}
}

func TestCommandThatCannotStartReportsTheReason(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	tests := []struct {
		command spawn.Command
		want    string
	}{
		{spawn.Command{}, "start command: the command has no path"},
		{spawn.Command{Path: "no-such-program-here"}, `start command: exec: "no-such-program-here": executable file not found in`},
		{spawn.Command{Path: nowhere}, "start command: fork/exec " + nowhere},
		{spawn.Command{Path: os.Args[0], Dir: nowhere}, "start command: working directory: stat " + nowhere},
		{spawn.Command{Path: os.Args[0], Dir: os.Args[0]}, "is not a directory"},
		{spawn.Command{Path: os.Args[0], Env: map[string]string{"A=B": ""}}, `start command: environment variable "A=B"`},
		{spawn.Command{Path: os.Args[0], Env: map[string]string{"A": "\x00"}}, "start command: "},
		{spawn.Command{Path: os.Args[0], Args: []string{"\x00"}}, "start command: "},
	}
	for _, test := range tests {
		_, err := spawn.Start(test.command, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "start command: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("start %+v: got %v, want %s", test.command, err, test.want)
		}
	}
}
