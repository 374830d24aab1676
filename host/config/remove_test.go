package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
)

func TestRemovingAServerKeepsTheRestOfAFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ before, name, want string }{
		{`{"mcpServers": {"a": {}}}`, "a", `{"mcpServers": {}}`},
		{`{"mcpServers": {"a": {}, "b": {}}}`, "a", `{"mcpServers": {"b": {}}}`},
		{`{"mcpServers": {"a": {}, "b": {}}}`, "b", `{"mcpServers": {"a": {}}}`},
		{`{"mcpServers": {"a": {}, "b": {},}, "x": 1}`, "b", `{"mcpServers": {"a": {},}, "x": 1}`},
		{`{"mcpServers": {"a": {} /* a */, "b": {}}}`, "b", `{"mcpServers": {"a": {} /* a */}}`},
		{"{\r\n\t\"servers\": {\r\n\t\t\"a\": {}, // of a\r\n\t\t\"b\": {}\r\n\t}\r\n}", "a", "{\r\n\t\"servers\": {\r\n\t\t\"b\": {}\r\n\t}\r\n}"},
		{
			"\xef\xbb\xbf// mine\n{\n  \"mcpServers\": {\n    // about a\n    \"a\": {}, // kept\n    \"b\": {\n      \"command\": \"x\"\n    } // of b\n  }\n}\n", "b",
			"\xef\xbb\xbf// mine\n{\n  \"mcpServers\": {\n    // about a\n    \"a\": {} // kept\n  }\n}\n",
		},
		{"{\"mcpServers\": {\n  \"a\": {}, \"b\": {},\n  \"c\": {},\n}}", "b", "{\"mcpServers\": {\n  \"a\": {},\n  \"c\": {},\n}}"},
		{"{\"mcpServers\": {\n  \"a\": {}, /* of b */ \"b\": {}\n}}", "a", "{\"mcpServers\": {\n  /* of b */ \"b\": {}\n}}"},
	} {
		path := write(t, t.TempDir(), "mcp.json", test.before)
		change, _, _, err := config.Remove(path, test.name)
		if err == nil {
			_, err = change.Write("")
		}
		if got := content(t, path); err != nil || got != test.want {
			t.Errorf("%q\ngot  %q, %v\nwant %q", test.before, got, err, test.want)
		}
		if change, _, _, err := config.Remove(path, test.name); err != nil || !change.Empty() {
			t.Errorf("%q: got %v, want nothing to remove", test.want, err)
		}
	}
}

func TestServerIsRemovedByItsKeyToo(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "mcp.json", `{"mcpServers": {"My Files": {"command": "x"}, "other": {"command": "x"}}}`)
	c, err := config.Load(path, &config.Options{Env: env(nil)})
	if err != nil || len(c.Upstreams) != 2 {
		t.Fatal(c, err)
	}
	change, key, names, err := config.Remove(path, c.Upstreams[0].Key)
	if err != nil || change.Empty() || !slices.Equal(names, []string{"My Files", "other"}) || key != c.Upstreams[0].Key || !strings.HasPrefix(key, "my-files") {
		t.Errorf("got %q, %v, want the server removed", names, err)
	}
	for content, want := range map[string]string{
		`{"mcp": {"servers": {"a": {"command": "x"}}}}`:                                              "remove it by hand",
		`{"context_servers": {"a": {}}}`:                                                             "remove it by hand",
		`{"mcpServers": {"b": {"command": "x"}}, "mcp": {"a": {"type": "local", "command": ["x"]}}}`: "remove it by hand",
		`{"mcp": {"servers": {"b": {"command": "x"}}}}`:                                              "",
		`{}`: "",
	} {
		change, _, _, err := config.Remove(write(t, t.TempDir(), "mcp.json", content), "a")
		if want == "" && (err != nil || !change.Empty()) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, %v, want %q", content, change, err, want)
		}
	}
	if _, _, _, err := config.Remove(write(t, t.TempDir(), "mcp.toml", "[mcp_servers.a]"), "a"); err == nil {
		t.Error("got a change of a TOML file, want an error")
	}
	if _, _, _, err := config.Remove(write(t, t.TempDir(), "mcp.json", "{"), "a"); err == nil {
		t.Error("got a change of a broken file, want an error")
	}
}
