package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	expandedEntry = `{"command": "~/bin/x", "args": ["~/a", "$KEY", "%KEY%", "~other", "$5 and 5%"], "cwd": "~/w", "env": {"E": "$KEY", "P": "%KEY%", "H": "~/e"}}`
	stays         = "which stays as it is in "
)

// expansionRows are servers as a user would write them, in a file of each program. docs/compatibility.md
// has a line of the same name for each.
var expansionRows = map[string]struct {
	file, text                   string
	command, args, cwd, variable string
	warned                       int
	says                         []string
}{
	"file-own": {
		"mcp.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{
			`/mcpServers/x/command: found "~" at the start, ` + stays + `this file; want ${userHome}`,
			`/mcpServers/x/args/1: found "$" before a name, ` + stays + `this file; want ${NAME}`,
			`/mcpServers/x/args/2: found a name between "%", ` + stays + `this file; want ${NAME}`,
			`/mcpServers/x/env/H: found "~" at the start, ` + stays + `this file; want ${userHome}`,
		},
	},
	"file-claude-desktop": {
		"claude_desktop_config.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`a file of Claude Desktop; want the whole path`, `a file of Claude Desktop; want the value`},
	},
	"file-claude-code": {
		".mcp.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`a file of Claude Code; want ${HOME}`, `a file of Claude Code; want ${NAME}`},
	},
	"file-vscode": {
		".vscode/mcp.json", `{"servers": {"x": ` + expandedEntry + `}}`, "/home/ada/bin/x", "/home/ada/a|$KEY|%KEY%|~other|$5 and 5%", "/home/ada/w", "$KEY", 5,
		[]string{`a file of VS Code; want ${env:NAME}`, `a file of VS Code; want ${userHome}`},
	},
	"file-cursor": {
		".cursor/mcp.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`a file of Cursor; want ${userHome}`},
	},
	"file-windsurf": {
		"mcp_config.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`a file of Windsurf; want ${env:HOME}`},
	},
	"file-gemini": {
		".gemini/settings.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|value|%KEY%|~other|$5 and 5%", "DIR/~/w", "value", 6,
		[]string{`a file of Gemini CLI; want $HOME`, `a file of Gemini CLI; want $NAME`},
	},
	"file-zed": {
		"settings.json", `{"context_servers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`a file of Zed; want the whole path`, `a file of Zed; want the value`},
	},
	"file-codex": {
		"config.toml", `mcp_servers.x = {command = "~/bin/x", args = ["~/a", "$KEY", "${KEY}"], cwd = "~/w", env = {E = "$KEY"}}`, "~/bin/x", "~/a|$KEY|${KEY}", "DIR/~/w", "$KEY", 6,
		[]string{`a file of Codex; want the whole path`, `a file of Codex; want the value`},
	},
	"file-cline": {
		"saoudrizwan.claude-dev/settings/cline_mcp_settings.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`a file of Cline; want ${env:NAME}`},
	},
	"file-roo": {
		".roo/mcp.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`a file of Roo Code; want ${env:NAME}`},
	},
	"file-opencode": {
		"opencode.json", `{"mcp": {"x": {"type": "local", "command": ["~/bin/x", "~/a", "$KEY", "{env:KEY}"], "environment": {"E": "{env:KEY}"}}}}`, "~/bin/x", "~/a|$KEY|value", "DIR", "value", 3,
		[]string{`a file of opencode; want {env:HOME}`, `a file of opencode; want {env:NAME}`},
	},
	"file-copilot": {
		"home/.copilot/mcp-config.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "value", 7,
		[]string{`/mcpServers/x/args/1: found "$" before a name, which stays as it is in a file of Copilot CLI; want the value`, `/mcpServers/x/env/P: found a name between "%", which stays as it is in a file of Copilot CLI; want ${NAME}`, `a file of Copilot CLI; want the whole path`},
	},
	"file-amazonq": {
		".amazonq/mcp.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`/mcpServers/x/args/1: found "$" before a name, which stays as it is in a file of Amazon Q; want the value`, `/mcpServers/x/env/E: found "$" before a name, which stays as it is in a file of Amazon Q; want ${env:NAME}`},
	},
	"file-kiro": {
		".kiro/settings/mcp.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`a file of Kiro; want ${NAME}`},
	},
	"file-lmstudio": {
		"home/.lmstudio/mcp.json", `{"mcpServers": {"x": ` + expandedEntry + `}}`, "~/bin/x", "~/a|$KEY|%KEY%|~other|$5 and 5%", "DIR/~/w", "$KEY", 8,
		[]string{`a file of LM Studio; want the value`, `a file of LM Studio; want the whole path`},
	},
	"file-shell": {
		"mcp.json", `{"mcpServers": {"x": {"command": "sh", "args": ["-c", "exec run $KEY %KEY%"], "env": {"E": "$KEY"}}}}`, "sh", "-c|exec run $KEY %KEY%", "DIR", "$KEY", 1,
		[]string{`/mcpServers/x/env/E: found "$" before a name`},
	},
}

func TestOnlyTheFormsOfTheProgramAreExpanded(t *testing.T) {
	t.Parallel()
	for name, test := range expansionRows {
		if runtime.GOOS == "windows" && name == "file-gemini" { // %KEY% is expanded in env
			test.warned--
		}
		dir := t.TempDir()
		path := write(t, dir, test.file, test.text)
		c, err := load(path, map[string]string{"HOME": "/home/ada", "KEY": "value"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(c.Upstreams) != 1 {
			t.Errorf("%s: got %v, want one server", name, texts(c.Errors))
			continue
		}
		got := c.Upstreams[0].Target.(*mcpclient.CommandTarget)
		base := filepath.Dir(path)
		if strings.HasPrefix(test.file, ".") { // the directory of the project
			base = strings.TrimSuffix(path, string(filepath.Separator)+filepath.FromSlash(test.file))
		}
		cwd := strings.Replace(filepath.ToSlash(got.Dir), filepath.ToSlash(base), "DIR", 1)
		if got.Path != test.command || strings.Join(got.Args, "|") != test.args || cwd != test.cwd || got.Env["E"] != test.variable {
			t.Errorf("%s: got %q, %q, %q, %q, want %q, %q, %q, %q", name, got.Path, got.Args, cwd, got.Env["E"], test.command, test.args, test.cwd, test.variable)
		}
		var warned []string
		for _, w := range texts(c.Warnings) {
			if strings.Contains(w, stays) {
				warned = append(warned, w)
			}
		}
		if len(warned) != test.warned {
			t.Errorf("%s: got %d warnings, want %d: %s", name, len(warned), test.warned, strings.Join(warned, "\n"))
		}
		for _, want := range test.says {
			if !slices.ContainsFunc(warned, func(w string) bool { return strings.HasSuffix(w, want) || strings.Contains(w, want) }) {
				t.Errorf("%s: got\n%s\nwant %s", name, strings.Join(warned, "\n"), want)
			}
		}
		if strings.Contains(strings.Join(warned, ""), "KEY") {
			t.Errorf("%s: got %s, want nothing of the values", name, warned)
		}
	}
}

func TestPageDescribesTheFilesOfEachProgram(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Files\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var described []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(file-[a-z0-9-]+)` \\|").FindAllStringSubmatch(section, -1) {
		described = append(described, m[1])
	}
	slices.Sort(described)
	if tested := slices.Sorted(maps.Keys(expansionRows)); !slices.Equal(described, tested) {
		t.Errorf("docs/compatibility.md describes\n%s\nwant\n%s", strings.Join(described, "\n"), strings.Join(tested, "\n"))
	}
}

func TestReferencesToFilesAreExpandedAfterApproval(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home, "token", "\ufeffs3cret\n")
	path := write(t, home, "mcp_config.json", `{"mcpServers": {"x": {"serverUrl": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${file:~/token}"}}}}`)
	o := &config.Options{Env: env(map[string]string{"HOME": home})}
	c, err := config.Load(path, o)
	if err != nil || len(c.Upstreams) != 1 {
		t.Fatalf("got %+v, %v", c, err)
	}
	if got := c.Upstreams[0].Header.Get("Authorization"); strings.Contains(got, "s3cret") || !strings.Contains(got, filepath.Join(home, "token")) {
		t.Errorf("before the approval: got %q, want the path of the file", got)
	}
	resolved, err := c.Upstreams[0].Resolved(t.Context())
	if err != nil || resolved.Header.Get("Authorization") != "Bearer s3cret" {
		t.Errorf("after the approval: got %v, %v, want the text of the file", resolved, err)
	}
}

func TestImportedFormsHaveTheSameMeaning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "token", "s3cret")
	variables := map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir, "KEY": "value"}
	for name, file := range map[string]string{
		".vscode/mcp.json":      `{"servers": {"x": {"command": "~/bin/x", "args": ["~/a", "$KEY"]}}}`,
		".gemini/settings.json": `{"mcpServers": {"x": {"command": "x", "args": ["$KEY", "~/a"], "env": {"E": "$KEY"}}}}`,
		"opencode.json":         `{"mcp": {"x": {"type": "local", "command": ["x", "{env:KEY}"], "environment": {"E": "{file:token}", "F": "{file:~/token}"}}}}`,
	} {
		path := write(t, filepath.Join(dir, "project"), name, file)
		if name == "opencode.json" {
			write(t, filepath.Join(dir, "project"), "token", "s3cret")
		}
		want, err := load(path, variables)
		if err != nil {
			t.Fatal(err)
		}
		servers, faults := config.ClientConfig{Path: path}.Servers(env(variables), filepath.Dir(path))
		if len(servers) != 1 || len(faults) > 0 {
			t.Fatalf("%s: got %v, %v", name, servers, faults)
		}
		change, _, err := config.Add(filepath.Join(dir, strings.ReplaceAll(name, "/", "-"), "mcp.json"), servers)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := change.Write(dir); err != nil {
			t.Fatal(err)
		}
		got, err := load(filepath.Join(dir, strings.ReplaceAll(name, "/", "-"), "mcp.json"), variables)
		if err != nil {
			t.Fatal(err)
		}
		if g, w := got.Upstreams[0].Target, want.Upstreams[0].Target; !equalTargets(g, w) {
			t.Errorf("%s: got %+v, want %+v", name, g, w)
		}
	}
}

func equalTargets(a, b mcpclient.Target) bool {
	x, y := a.(*mcpclient.CommandTarget), b.(*mcpclient.CommandTarget)
	return x.Path == y.Path && slices.Equal(x.Args, y.Args) && x.Dir == y.Dir && len(x.Env) == len(y.Env) && x.Env["E"] == y.Env["E"] && x.Env["F"] == y.Env["F"]
}
