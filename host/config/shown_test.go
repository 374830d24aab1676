package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/internal/claim"
)

// shownText returns what is shown of a file.
func shownText(t *testing.T, name, content string) (lines []config.ShownLine, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, &config.Options{Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	if lines, err = config.ShownLines(path, c); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return lines, strings.Join(all, "\n")
}

func TestFileIsShownAsItIsWithoutSecrets(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"mcp.json": `{
	// the old key was cAnArY
	"inputs": [{"id": "key", "type": "promptString", "description": "the key", "default": "cAnArY", "password": true}],
	"mcpServers": {
		"files": {
			"command": "node", "args": ["server.js", "--root", "/srv", "--token", "cAnArY", "--api-key=cAnArY12345678"],
			"env": {"PLAIN": "cAnArY", "PIN": 74747474, "REFERENCE": "${env:KEPT}", "DEFAULT": "${KEY:-cAnArY}", "NEXT": "${env:A} cAnArY"},
			"fondaco": {"confirm": {"delete": "always"}} /* cAnArY */
		},
		"cloud": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${input:key}", "X": "cAnArY"}},
		"keyed": {"url": "https://anna:cAnArY@example.org/mcp?token=cAnArY"},
		"nested": {"command": {"path": "npx", "args": ["kept.js", "--password", "cAnArY"], "env": {"A": "cAnArY"}}},
		"odd": {"command": "odd", "settings": {"key": "cAnArY", "n": 74747474}, "unheard": ["cAnArY"]}
	},
	"theme": "cAnArY", "code": 74747474, "list": [{"x": "cAnArY"}],
	"fondaco": {"audit": {"otlp": "https://anna:cAnArY@example.org"}, "unheard": 74747474}
}
`,
		"settings.json": `{"mcpServers": {"files": {"command": "node", "args": ["server.js", "--root", "/srv", "--token", "cAnArY"], "env": {"PLAIN": "${env:KEPT}"}},
"cloud": {"url": "https://example.com/mcp"}}, "fondaco": "cAnArY"}
`,
		"config.toml": `# cAnArY
theme = "cAnArY"
code = 74747474
[mcp_servers.files]
command = "node"
args = ["server.js", "--root", "/srv", "--token", "cAnArY"]
startup_timeout_sec = 20
[mcp_servers.files.env]
PLAIN = "cAnArY"
PIN = 74747474
LONG = """
cAnArY
"""
REFERENCE = '${env:KEPT}'
[mcp_servers.cloud]
url = "https://example.com/mcp"
http_headers = { "X" = "cAnArY" }
bearer_token_env_var = "TOKEN_VARIABLE"
`,
	} {
		lines, text := shownText(t, name, content)
		if strings.Contains(text, "cAnArY") || strings.Contains(text, "74747474") {
			t.Errorf("%s: got\n%s\nwant no secret", name, text)
		}
		for _, want := range []string{"server.js", "--root", "/srv", `--token`, "node", "PLAIN", "${env:KEPT}", "https://example.com/mcp", "…"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: got\n%s\nwant %s", name, text, want)
			}
		}
		if got, want := len(lines), strings.Count(content, "\n"); got != want {
			t.Errorf("%s: got %d lines, want %d as in the file", name, got, want)
		}
	}
	const whole = `{"mcpServers": {"a": {"command": "x", "args": ["kept"], "timeout": 90, "fondaco": {"confirm": {"delete": "always"}}}}, "inputs": [{"id": "key", "type": "promptString"}], "fondaco": {"consent": {"wait": "30s", "notify": false}}}`
	if _, text := shownText(t, "mcp.json", whole); text != whole {
		t.Errorf("got %s, want all of it", text)
	}
}

func TestLinesHaveWhatTheCheckSaysOfThem(t *testing.T) {
	t.Parallel()
	lines, _ := shownText(t, "mcp.json", "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"b\": {\"command\": 7},\n\"c\": {\"command\": \"x\", \"unheard\": 1}\n}}")
	if len(lines) != 5 || len(lines[2].Errors) != 1 || lines[2].Errors[0] != "command: found a number, want a string, or an array of strings" || len(lines[3].Notes) != 1 || lines[3].Notes[0] != "unheard: unknown, and has no effect" {
		t.Errorf("got %q, want an error on line 3 and a note on line 4", lines)
	}
}

func TestFileThatCannotBeParsedIsNotShown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"a": "secret": }`), 0o600); err != nil {
		t.Fatal(err)
	}
	if lines, err := config.ShownLines(path, new(config.Config)); err != nil || len(lines) > 0 {
		t.Errorf("got %q, %v, want nothing", lines, err)
	}
	if lines, err := config.ShownLines(path+"x", new(config.Config)); err == nil {
		t.Errorf("got %q, want an error", lines)
	}
}

func TestArgumentsAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	got := config.ShownArguments([]string{"server.js", "--token", "abc", "--root", "/srv", "ghp_0123456789abcdefghijABCDEFGHIJ456789"})
	if want := []string{"server.js", "--token", "…", "--root", "/srv", "…"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLargeFileIsShownInPart(t *testing.T) {
	t.Parallel()
	lines, text := shownText(t, "mcp.json", `{"mcpServers": {`+strings.Repeat("\n", config.MaxShownText)+"}}")
	if claim.Limit(t, "a configuration file on the page of the console", claim.Bytes(config.MaxShownText)); len(text) > config.MaxShownText+10 || lines[len(lines)-1].Text != "…" {
		t.Errorf("got %d bytes in %d lines, want the beginning and a mark", len(text), len(lines))
	}
}
