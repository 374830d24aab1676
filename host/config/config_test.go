package config_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/userfile"
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

func load(path string, variables map[string]string) (*config.Config, error) {
	return loadResolved(path, &config.Options{Env: env(variables)})
}

// loadResolved loads a file, and resolves its servers as if the user had approved them.
func loadResolved(path string, o *config.Options) (*config.Config, error) {
	c, err := config.Load(path, o)
	if err != nil {
		return nil, err
	}
	for i := range c.Upstreams {
		resolved, err := c.Upstreams[i].Resolved(context.Background())
		if err != nil {
			return nil, err
		}
		c.Upstreams[i] = *resolved
	}
	return c, nil
}

// texts are what findings say, without the path of their file.
func texts(findings []*config.Diagnostic) (texts []string) {
	for _, f := range findings {
		texts = append(texts, strings.TrimPrefix(f.Error(), f.Path+":"))
	}
	return texts
}

func TestServersAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, "mcp.json", `{
		"$schema": "https://example.com/schema.json",
		"theme": "dark",
		"mcpServers": {
			"zebra": {"command": "run", "args": ["--key", "a ${env:KEY} b"], "env": {"K": "${env:KEY}"}, "cwd": "sub", "agrs": 3},
			"off": {"command": "never", "args": ["${env:UNSET}"], "disabled": true},
			"api": {"url": "https://${env:HOSTNAME}/mcp", "headers": {"x-token": "${env:KEY}"}, "type": "http"},
			"old": {"url": "http://127.0.0.1:1/sse", "type": "sse"}
		}
	}`)
	c, err := load(path, map[string]string{"KEY": "${env:HOSTNAME}", "HOSTNAME": "h.example"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Upstreams) != 3 {
		t.Fatalf("got %d upstreams, want 3", len(c.Upstreams))
	}
	zebra, api, old := c.Upstreams[0], c.Upstreams[1], c.Upstreams[2]
	wantCommand := mcpclient.Command("run", "--key", "a ${env:HOSTNAME} b")
	wantCommand.Env, wantCommand.Dir = map[string]string{"K": "${env:HOSTNAME}"}, filepath.Join(dir, "sub")
	if zebra.Key != "zebra" || zebra.Transport != "over stdio" || !reflect.DeepEqual(zebra.Target, mcpclient.Target(wantCommand)) {
		t.Errorf("got %+v, want the command %+v", zebra.Target, wantCommand)
	}
	if api.Key != "api" || api.Target.String() != "https://h.example/mcp" || api.Header.Get("X-Token") != "${env:HOSTNAME}" {
		t.Errorf("got %v with %v, want https://h.example/mcp with its header", api.Target, api.Header)
	}
	if old.Transport != "over HTTP+SSE" {
		t.Errorf("got %q, want HTTP+SSE", old.Transport)
	}
	want := []string{
		`5:111: /mcpServers/zebra/agrs: unknown, and has no effect (did you mean "args"?)`,
		`6:11: /mcpServers/off: server "off" is disabled`,
	}
	if got := texts(c.Warnings); !slices.Equal(got, want) {
		t.Errorf("got notes %q, want %q", got, want)
	}
	if !slices.Equal(c.Disabled, []string{"off"}) || len(c.Broken) > 0 {
		t.Errorf("got disabled %q, broken %q, want off alone", c.Disabled, c.Broken)
	}
}

func TestFilesThatOthersCanChangeAreRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode that says so")
	}
	for name, test := range map[string]struct {
		spoiled string
		mode    os.FileMode
		want    string
	}{
		"configuration that everybody can write": {"dir/mcp.json", 0o646, "chmod go-w"},
		"configuration that a group can write":   {"dir/mcp.json", 0o660, "chmod go-w"},
		"its directory":                          {"dir", 0o770, "its group can replace files in it; chmod go-w"},
		"directory above":                        {".", 0o777, "others can replace files in it; chmod go-w"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
			t.Fatal(err)
		}
		path := write(t, filepath.Join(dir, "dir"), "mcp.json", `{"mcpServers": {}}`)
		if _, err := load(path, nil); err != nil {
			t.Errorf("%s: got %v before", name, err)
		}
		if err := os.Chmod(filepath.Join(dir, test.spoiled), test.mode); err != nil {
			t.Fatal(err)
		}
		_, err := load(path, nil)
		if _, ok := errors.AsType[*userfile.AccessError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want a refusal that says %q", name, err, test.want)
		}
	}
}

func TestFileOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give files away")
	}
	dir := t.TempDir()
	path := write(t, dir, "mcp.json", `{"mcpServers": {}}`)
	for _, spoiled := range []string{path, dir} {
		if err := os.Chown(spoiled, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := load(path, nil); err == nil || !strings.Contains(err.Error(), "it belongs to the user with id 12345") {
			t.Errorf("%s: got %v, want it refused", spoiled, err)
		}
		if err := os.Chown(spoiled, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEnvironmentFileThatOthersCanChangeIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode that says so")
	}
	dir := t.TempDir()
	path := write(t, dir, "mcp.json", `{"mcpServers": {"x": {"command": "true", "envFile": "x.env"}}}`)
	env := write(t, dir, "x.env", "LD_PRELOAD=/tmp/evil.so\n")
	if err := os.Chmod(env, 0o660); err != nil {
		t.Fatal(err)
	}
	c, err := load(path, nil)
	if err != nil || len(c.Upstreams) > 0 || !strings.Contains(strings.Join(texts(c.Errors), " "), "its group can write to it; chmod go-w") {
		t.Errorf("got %v, %v, want the server left out", c, err)
	}
}

func TestTextOfFilesIsUTF8WithOrWithoutAByteOrderMark(t *testing.T) {
	t.Parallel()
	const servers = `{"mcpServers": {"x": {"command": "true", "envFile": "x.env"}}}`
	const utf16 = "\xff\xfeA\x00=\x001\x00"
	for name, test := range map[string]struct{ file, env, want string }{
		"byte order marks":           {"\ufeff" + servers, "\ufeffA=1\r\nB=2\r\n", ""},
		"configuration in UTF-16":    {"\xff\xfe{\x00}\x00", "", "1:1: found text in UTF-16, want UTF-8: save the file in that encoding"},
		"environment file in UTF-16": {servers, utf16, "x.env: found text in UTF-16, want UTF-8: save the file in that encoding"},
	} {
		dir := t.TempDir()
		write(t, dir, "x.env", test.env)
		c, err := load(write(t, dir, "mcp.json", test.file), nil)
		if err == nil && len(c.Errors) > 0 {
			err = config.Join(c.Errors)
		}
		if test.want != "" {
			if err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("%s: got %v, want %s", name, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := c.Upstreams[0].Target.(*mcpclient.CommandTarget).Env
		if want := map[string]string{"A": "1", "B": "2"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestUnreadableFileIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := write(t, dir, "large", strings.Repeat(" ", 4<<20+1))
	for path, want := range map[string]string{
		dir:                        "is a directory",
		large:                      "more than 4194304 bytes",
		filepath.Join(dir, "none"): "configuration: open ",
	} {
		if _, err := load(path, nil); err == nil || !strings.Contains(err.Error(), want) {
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

func TestServersNameTheFileAndTheProjectTheyAreFrom(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	const servers = `{"mcpServers": {"a": {"command": "run"}}}`
	variables := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")}
	for path, want := range map[string]string{
		write(t, home, ".config/fondaco/mcp.json", servers): "",
		write(t, project, ".mcp.json", servers):             project,
		write(t, project, ".cursor/mcp.json", servers):      project,
	} {
		c, err := load(path, variables)
		if err != nil || len(c.Upstreams) != 1 || c.Upstreams[0].Origin.File != path || c.Upstreams[0].Origin.Project != want {
			t.Errorf("%s: got %+v, %v, want it of the project %q", path, c, err, want)
		}
	}
}
