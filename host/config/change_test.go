package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
)

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func client(t *testing.T, id string) config.Client {
	t.Helper()
	for _, c := range config.Clients() {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no client %q", id)
	return config.Client{}
}

// connect adds the host to a client's file, and returns what that becomes.
func connect(t *testing.T, c config.Client, path string, at config.Endpoint) string {
	t.Helper()
	change, err := c.Connect(path, "fondaco", at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := change.Write(""); err != nil {
		t.Fatal(err)
	}
	return content(t, path)
}

var atURL = config.Endpoint{URL: "http://127.0.0.1:7332/mcp"}

func TestEditsKeepTheRestOfAFile(t *testing.T) {
	t.Parallel()
	const entry = `"url": "http://127.0.0.1:7332/mcp"`
	tests := []struct{ before, want string }{
		{"", "{\n  \"mcpServers\": {\n    \"fondaco\": {\n      " + entry + "\n    }\n  }\n}\n"},
		{"{}", "{\n  \"mcpServers\": {\n    \"fondaco\": {\n      " + entry + "\n    }\n  }\n}"},
		{"{\"a\": 1}\n", `{"a": 1, "mcpServers": {"fondaco": {` + entry + "}}}\n"},
		{`{"mcpServers":{}}`, `{"mcpServers":{"fondaco": {` + entry + `}}}`},
		{`{"mcpServers":{"a":{"url":"b"},}}`, `{"mcpServers":{"a":{"url":"b"}, "fondaco": {` + entry + `},}}`},
		{
			"{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {} // kept\r\n\t}\r\n}",
			"{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}, // kept\r\n\t\t\"fondaco\": {\r\n\t\t\t" + entry + "\r\n\t\t}\r\n\t}\r\n}",
		},
		{
			"{\n  \"mcpServers\": {\n    \"a\": {}, /* one\n two */ // three\n  },\n}",
			"{\n  \"mcpServers\": {\n    \"a\": {}, /* one\n two */ // three\n    \"fondaco\": {\n      " + entry + "\n    },\n  },\n}",
		},
		{
			"{\n    \"mcpServers\": {\n        // none yet\n    }\n}",
			"{\n    \"mcpServers\": {\n        // none yet\n        \"fondaco\": {\n            " + entry + "\n        }\n    }\n}",
		},
		{
			"\xef\xbb\xbf{\n  \"mcpServers\": {\n    \"fondaco\": {\"url\": \"old\"}, \"b\": {}\n  }\n}",
			"\xef\xbb\xbf{\n  \"mcpServers\": {\n    \"fondaco\": {\n      " + entry + "\n    }, \"b\": {}\n  }\n}",
		},
	}
	for _, test := range tests {
		path := write(t, t.TempDir(), "mcp.json", test.before)
		if got := connect(t, client(t, "cursor"), path, atURL); got != test.want {
			t.Errorf("%q\ngot  %q\nwant %q", test.before, got, test.want)
		}
		change, err := client(t, "cursor").Connect(path, "fondaco", atURL)
		if err != nil || !change.Empty() {
			t.Errorf("%q: a second time: got %v, %v, want no change", test.before, change, err)
		}
	}
}

func TestHostIsAddedInTheFormatOfEachClient(t *testing.T) {
	t.Parallel()
	command := config.Endpoint{Command: []string{"/bin/fondaco", "stdio"}}
	tests := map[string][2]string{ // what it becomes of {}, in one line, for a URL and for a command
		"claude-desktop": {"", `{"mcpServers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
		"claude-code":    {`{"mcpServers":{"fondaco":{"type":"http","url":"U"}}}`, `{"mcpServers":{"fondaco":{"type":"stdio","command":"/bin/fondaco","args":["stdio"]}}}`},
		"cursor":         {`{"mcpServers":{"fondaco":{"url":"U"}}}`, `{"mcpServers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
		"vscode":         {`{"servers":{"fondaco":{"type":"http","url":"U"}}}`, `{"servers":{"fondaco":{"type":"stdio","command":"/bin/fondaco","args":["stdio"]}}}`},
		"windsurf":       {`{"mcpServers":{"fondaco":{"serverUrl":"U"}}}`, `{"mcpServers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
		"cline":          {`{"mcpServers":{"fondaco":{"type":"streamableHttp","url":"U"}}}`, `{"mcpServers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
		"roo":            {`{"mcpServers":{"fondaco":{"type":"streamable-http","url":"U"}}}`, `{"mcpServers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
		"gemini":         {`{"mcpServers":{"fondaco":{"httpUrl":"U"}}}`, `{"mcpServers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
		"opencode":       {`{"mcp":{"fondaco":{"type":"remote","url":"U","enabled":true}}}`, `{"mcp":{"fondaco":{"type":"local","command":["/bin/fondaco","stdio"],"enabled":true}}}`},
		"zed":            {`{"context_servers":{"fondaco":{"url":"U"}}}`, `{"context_servers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
		"codex":          {"[mcp_servers.fondaco]url='U'", "[mcp_servers.fondaco]command='/bin/fondaco'args=['stdio']"},
		"copilot":        {`{"mcpServers":{"fondaco":{"type":"http","url":"U","tools":["*"]}}}`, `{"mcpServers":{"fondaco":{"type":"local","command":"/bin/fondaco","args":["stdio"],"tools":["*"]}}}`},
		"amazonq":        {`{"mcpServers":{"fondaco":{"type":"http","url":"U"}}}`, `{"mcpServers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
		"kiro":           {`{"mcpServers":{"fondaco":{"url":"U"}}}`, `{"mcpServers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
		"lmstudio":       {`{"mcpServers":{"fondaco":{"url":"U"}}}`, `{"mcpServers":{"fondaco":{"command":"/bin/fondaco","args":["stdio"]}}}`},
	}
	home := t.TempDir()
	for _, c := range config.Clients() {
		want, ok := tests[c.ID]
		if !ok {
			t.Errorf("%s: no test", c.ID)
			continue
		}
		path := c.File(env(map[string]string{"HOME": filepath.Join(home, c.ID), "APPDATA": filepath.Join(home, c.ID)}))
		for i, at := range []config.Endpoint{{URL: "U"}, command} {
			if want[i] == "" {
				continue
			}
			if got := strings.Join(strings.Fields(connect(t, c, path, at)), ""); got != want[i] {
				t.Errorf("%s: got %s, want %s", c.ID, got, want[i])
			}
		}
		if c.SupportsURL() != (want[0] != "") {
			t.Errorf("%s: got %v, want the contrary", c.ID, c.SupportsURL())
		}
	}
}

func TestTablesOfTOMLAreReplacedInPlace(t *testing.T) {
	t.Parallel()
	const table = "[mcp_servers.fondaco]\nurl = 'http://127.0.0.1:7332/mcp'"
	for before, want := range map[string]string{
		"a = 1":               "a = 1\n\n" + table + "\n",
		"[x]\ny = 2 # kept\n": "[x]\ny = 2 # kept\n\n" + table + "\n",
		"[mcp_servers.fondaco]\nurl = 'old'\n\n[mcp_servers.fondaco.http_headers]\nA = 'b'\n# kept\n[mcp_servers.b]\nurl = 'c'\n": table + "\n# kept\n[mcp_servers.b]\nurl = 'c'\n",
		"mcp_servers.fondaco.url = 'x'\n":        "",
		"[mcp_servers]\nfondaco = {url = 'x'}\n": "",
		"mcp_servers = {}\n":                     "",
	} {
		path := write(t, t.TempDir(), "config.toml", before)
		if want == "" {
			if _, err := client(t, "codex").Connect(path, "fondaco", atURL); err == nil || !strings.Contains(err.Error(), "change it by hand") {
				t.Errorf("%q: got %v, want it left to people", before, err)
			}
			continue
		}
		if got := connect(t, client(t, "codex"), path, atURL); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", before, got, want)
		}
	}
}

func TestWritingKeepsModeLinkAndBackup(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has neither these modes nor links for everybody")
	}
	dir := t.TempDir()
	real := write(t, dir, "dotfiles/mcp.json", "{}")
	link := filepath.Join(dir, "mcp.json")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	change, err := client(t, "cursor").Connect(link, "fondaco", atURL)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := change.Write(filepath.Dir(real))
	if err != nil || content(t, copied) != "{}" {
		t.Errorf("got a copy %q, %v, want what there was", copied, err)
	}
	info, err := os.Stat(real)
	if err != nil || info.Mode().Perm() != 0o640 || !strings.Contains(content(t, real), "7332") {
		t.Errorf("got %v, %v, want the file changed and its mode kept", info.Mode(), err)
	}
	if to, err := os.Readlink(link); err != nil || to != real {
		t.Errorf("got %q, %v, want the link kept", to, err)
	}
	if _, err := change.Write(""); err == nil || !strings.Contains(err.Error(), "was changed in the meantime") {
		t.Errorf("got %v, want a file left alone that has changed", err)
	}
}

func TestDiffShowsNoSecrets(t *testing.T) {
	t.Parallel()
	for _, before := range []string{
		`{"mcpServers": {"a": {"url": "s3cr3t"}}}`,
		"{\n  // s3cr3t\n  \"mcpServers\": {\n    \"a\": {\"args\": [\"s3cr3t\"]}, /* s3cr3t */ // s3cr3t\n  }\n}",
	} {
		path := write(t, t.TempDir(), "mcp.json", before)
		change, err := client(t, "cursor").Connect(path, "fondaco", atURL)
		if err != nil {
			t.Fatal(err)
		}
		if got := change.Diff(); strings.Contains(got, "s3cr3t") || !strings.Contains(got, `7332/mcp"`) {
			t.Errorf("got %s, want the host alone", got)
		}
	}
}

func TestForeignConfigurationsAreFound(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), t.TempDir()
	e := env(map[string]string{"HOME": home, "APPDATA": filepath.Join(home, "AppData")})
	if got := config.FindClientConfigs(e, work); got != nil {
		t.Errorf("got %v, want none", got)
	}
	want := []config.ClientConfig{
		{Client: client(t, "claude-code"), Path: write(t, work, ".mcp.json", "{}"), Project: true},
		{Client: client(t, "cursor"), Path: write(t, home, ".cursor/mcp.json", "{}")},
		{Client: client(t, "vscode"), Path: write(t, work, ".vscode/mcp.json", "{}"), Project: true},
		{Client: client(t, "codex"), Path: write(t, home, ".codex/config.toml", "")},
	}
	got := config.FindClientConfigs(e, work)
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i, w := range want {
		if got[i].Client.ID != w.Client.ID || got[i].Path != w.Path || got[i].Project != w.Project {
			t.Errorf("got %v, want %v", got[i], w)
		}
	}
}

func TestServersOfTheProjectAreTakenFromClaudeCode(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	e := env(map[string]string{"HOME": home})
	path := write(t, home, ".claude.json", `{"projects": {"/here": {"mcpServers": {"near": {"command": "n"}}}, "/there": {"mcpServers": {"far": {"command": "f"}}}}}`)
	servers, faults := config.ClientConfig{Client: client(t, "claude-code"), Path: path}.Servers(e, "/here")
	if len(faults) > 0 || len(servers) != 1 || servers[0].Name != "near" {
		t.Errorf("got %v, %v, want the near one alone", servers, faults)
	}
}

// FuzzRead reads whatever bytes, in both languages, and adds to what can be read:
// then everything that was there must be there still.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "{", `{"mcpServers": {"a": {"command": ["c", "${X:-y}"], "env": {"A": null}}}}`, "[[mcp_servers]]\na = 1",
		"{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": []}}, // x\n}", "[mcp_servers.a]\nargs = [{b = 1}]\n[mcp_servers.a.env]\n",
		strings.Repeat("[", 100), strings.Repeat(`{"a":`, 100), "a = " + strings.Repeat("[", 2000), `{"inputs": [{"id": "x"}], "servers": {"b": {"url": "${input:x}"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"mcp.json", "config.toml"} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := load(path, nil)
			if err != nil {
				continue
			}
			id := map[string]string{"mcp.json": "cursor", "config.toml": "codex"}[name]
			change, err := client(t, id).Connect(path, "zzz-new", config.Endpoint{URL: "http://127.0.0.1:1/mcp"})
			if err != nil {
				continue
			}
			if _, err := change.Write(""); err != nil {
				t.Fatal(err)
			}
			after, err := load(path, nil)
			if err != nil {
				t.Fatalf("%q became %q: %v", text, content(t, path), err)
			}
			if len(after.Upstreams) < len(before.Upstreams) || len(after.Errors) > len(before.Errors) {
				t.Fatalf("%q became %q: got %v, want all that was there", text, content(t, path), after.Errors)
			}
		}
	})
}

// Editors and clients often create files that the group of the user can write to. The host
// adds itself to such a file, but runs nothing of it.
func TestFileThatAGroupCanWriteIsChangedAndNotRun(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode that says so")
	}
	path := write(t, t.TempDir(), "mcp.json", `{"mcpServers": {}}`)
	if err := os.Chmod(path, 0o664); err != nil {
		t.Fatal(err)
	}
	if got := connect(t, client(t, "cursor"), path, config.Endpoint{Command: []string{"fondaco", "stdio"}}); !strings.Contains(got, `"stdio"`) {
		t.Errorf("got %s, want the host in it", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o664 {
		t.Errorf("got %v, %v, want the mode kept", info.Mode(), err)
	}
	if _, err := load(path, nil); err == nil {
		t.Error("the file was read as a configuration")
	}
}

func TestEachChangeHasABackupOfItsOwn(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "mcp.json", "{}")
	for _, name := range []string{"one", "two", "three"} { // within a second, as a rule
		before := content(t, path)
		change, err := client(t, "cursor").Connect(path, name, atURL)
		if err != nil {
			t.Fatal(err)
		}
		copied, err := change.Write(filepath.Dir(path))
		if err != nil || content(t, copied) != before {
			t.Errorf("got a copy %q, %v, want what there was before %s", copied, err, name)
		}
	}
}
