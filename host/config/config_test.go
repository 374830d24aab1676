package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func env(variables map[string]string) config.Env {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServersAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, "mcp.json", `{
		"$schema": "https://example.com/schema.json",
		"theme": "dark",
		"mcpServers": {
			"zebra": {"command": "run", "args": ["--key", "a ${env:KEY} b"], "env": {"K": "${env:KEY}"}, "cwd": "sub", "timeout": 3},
			"off": {"command": "never", "args": ["${env:UNSET}"], "disabled": true},
			"api": {"url": "https://${env:HOSTNAME}/mcp", "headers": {"x-token": "${env:KEY}"}, "type": "http"},
			"old": {"url": "http://127.0.0.1:1/sse", "type": "sse"}
		}
	}`)
	c, err := config.Load(path, env(map[string]string{"KEY": "${env:HOSTNAME}", "HOSTNAME": "h.example"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Upstreams) != 3 {
		t.Fatalf("got %d upstreams, want 3", len(c.Upstreams))
	}
	zebra, api, old := c.Upstreams[0], c.Upstreams[1], c.Upstreams[2]
	wantCommand := mcpclient.Command("run", "--key", "a ${env:HOSTNAME} b")
	wantCommand.Env, wantCommand.Dir = map[string]string{"K": "${env:HOSTNAME}"}, filepath.Join(dir, "sub")
	if zebra.Key != "zebra" || zebra.Reached != "over stdio" || !reflect.DeepEqual(zebra.Target, mcpclient.Target(wantCommand)) {
		t.Errorf("got %+v, want the command %+v", zebra.Target, wantCommand)
	}
	if api.Key != "api" || api.Target.String() != "https://h.example/mcp" || api.Header.Get("X-Token") != "${env:HOSTNAME}" {
		t.Errorf("got %v with %v, want https://h.example/mcp with its header", api.Target, api.Header)
	}
	if old.Reached != "over HTTP+SSE" {
		t.Errorf("got %q, want HTTP+SSE", old.Reached)
	}
	want := []string{
		`member "theme" is unknown and has no effect`,
		`server "zebra": member "timeout" is unknown and has no effect`,
		`server "off" is disabled`,
	}
	if !slices.Equal(c.Notes, want) {
		t.Errorf("got notes %q, want %q", c.Notes, want)
	}
}

func TestFaultsSayWhereAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // content → what the error says after the path
		``:                                   `:1:1: found nothing, want an object`,
		`[]`:                                 `:1:1: found an array, want an object`,
		`{}`:                                 `:1:1: found no "mcpServers"`,
		"{\n  \"mcpServers\": 3}":            `:2:17: /mcpServers: found a number, want an object`,
		"{\"mcpServers\": {}} x":             `invalid character 'x'`,
		`{"mcpServers": {}, "a": 1,}`:        `:1:26: invalid character ','`,
		`{"mcpServers": {"Files": {}}}`:      `:1:23: /mcpServers/Files: name "Files": want 1 to 32 of a-z, 0-9 and '-'`,
		`{"mcpServers": {"a": {}, "a": {}}}`: `:1:26: /mcpServers/a: duplicate object member name`,
		"{\"mcpServers\": {\n\"a\": {\"command\": 1}}}":                   `:2:18: /mcpServers/a/command: found a number, want a string`,
		`{"mcpServers": {"a": {"command": "c", "args": "x"}}}`:            `/mcpServers/a/args: found a string, want an array`,
		`{"mcpServers": {"a": {"command": "c", "args": [1]}}}`:            `/mcpServers/a/args/0: found a number, want a string`,
		`{"mcpServers": {"a": {"command": "c", "env": {"PORT": 8080}}}}`:  `/mcpServers/a/env/PORT: found a number, want a string`,
		`{"mcpServers": {"a": "c"}}`:                                      `/mcpServers/a: found a string, want an object`,
		`{"mcpServers": {"a": {"args": []}}}`:                             `found neither command nor url`,
		`{"mcpServers": {"a": {"command": "c", "url": "http://h"}}}`:      `found both command and url`,
		`{"mcpServers": {"a": {"command": "c", "type": "http"}}}`:         `/mcpServers/a/type: found "http" beside a command, want "stdio" or none`,
		`{"mcpServers": {"a": {"command": "c", "headers": {"a": "b"}}}}`:  `/mcpServers/a/headers: found headers beside a command`,
		`{"mcpServers": {"a": {"url": "ftp://h"}}}`:                       `/mcpServers/a/url: want an http or https URL`,
		`{"mcpServers": {"a": {"url": "http://h", "type": "ws"}}}`:        `/mcpServers/a/type: found "ws" beside a url, want "http", "sse" or none`,
		`{"mcpServers": {"a": {"url": "http://h", "args": ["x"]}}}`:       `found args, env or cwd beside a url`,
		`{"mcpServers": {"a": {"command": "${env:UNSET}"}}}`:              `/mcpServers/a/command: the variable UNSET is not set`,
		`{"mcpServers": {"a": {"command": "c", "args": ["${input:x}"]}}}`: `/mcpServers/a/args/0: found ${input:x}, want ${env:NAME}`,
		`{"mcpServers": {"a": {"command": "c", "env": {"A": "${A}"}}}}`:   `/mcpServers/a/env/A: found ${A}, want ${env:NAME}`,
	}
	dir := t.TempDir()
	for content, want := range tests {
		path := write(t, dir, "mcp.json", content)
		_, err := config.Load(path, env(nil))
		if err == nil || !strings.Contains(err.Error(), path+":") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v\nwant %s", content, err, want)
		}
		if _, ok := errors.AsType[*config.Error](err); !ok {
			t.Errorf("%s: got %T, want a config.Error", content, err)
		}
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "mcp.json", `{"mcpServers": {"A": {}, "b": {}, "c": {"url": "x"}}}`)
	_, err := config.Load(path, env(nil))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three faults", err)
	}
}

func TestFileThatEverybodyMayWriteIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode that says so")
	}
	path := write(t, t.TempDir(), "mcp.json", `{"mcpServers": {}}`)
	if err := os.Chmod(path, 0o646); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(path, env(nil))
	if err == nil || !strings.Contains(err.Error(), "everybody may write it; run chmod o-w") {
		t.Errorf("got %v, want a refusal that says what to do", err)
	}
}

func TestFileThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := write(t, dir, "large", strings.Repeat(" ", 1<<20+1))
	for path, want := range map[string]string{
		dir:                        "is a directory",
		large:                      "more than 1048576 bytes",
		filepath.Join(dir, "none"): "configuration: open ",
	} {
		if _, err := config.Load(path, env(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestOwnConfigurationIsFound(t *testing.T) {
	t.Parallel()
	home, xdg := t.TempDir(), t.TempDir()
	both := env(map[string]string{"HOME": home, "XDG_CONFIG_HOME": xdg})
	if got := config.Find(both); got != "" {
		t.Errorf("got %q, want none", got)
	}
	inHome := write(t, home, ".config/fondaco/mcp.json", "{}")
	if got := config.Find(both); got != "" {
		t.Errorf("got %q, want none: XDG_CONFIG_HOME is elsewhere", got)
	}
	for _, e := range []config.Env{env(map[string]string{"HOME": home}), env(map[string]string{"USERPROFILE": home, "XDG_CONFIG_HOME": "relative"})} {
		if got := config.Find(e); got != inHome {
			t.Errorf("got %q, want %q", got, inHome)
		}
	}
	inXDG := write(t, xdg, "fondaco/mcp.json", "{}")
	if got := config.Find(both); got != inXDG {
		t.Errorf("got %q, want %q", got, inXDG)
	}
	if got := config.Find(env(nil)); got != "" {
		t.Errorf("without a home: got %q, want none", got)
	}
}

func TestConfigurationsOfOtherProgramsAreNamed(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), t.TempDir()
	e := env(map[string]string{"HOME": home})
	if got := config.FindForeign(e, work); got != nil {
		t.Errorf("got %v, want none", got)
	}
	want := []config.Foreign{
		{Program: "Claude Desktop", Path: write(t, home, "Library/Application Support/Claude/claude_desktop_config.json", "{}")},
		{Program: "Cursor", Path: write(t, home, ".cursor/mcp.json", "{}")},
		{Program: "this directory", Path: write(t, work, ".mcp.json", "{}")},
		{Program: "VS Code, in this directory", Path: write(t, work, ".vscode/mcp.json", "{}")},
	}
	if got := config.FindForeign(e, work); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
