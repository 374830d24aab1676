package config_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/internal/claim"
)

func TestSettingATextOfAServerKeepsTheRest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		before              string
		words, env, headers []string
		want                string
	}{
		{
			before: `{"mcpServers": {"a": {"command": "npxx", "args": ["-y", "x"], "fondaco": {"deny": "x"}}}}`, words: []string{"npx", "-y", "y"},
			want: `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "y"], "fondaco": {"deny": "x"}}}}`,
		},
		{
			before: `{"mcpServers": {"a": {"command": "npxx", "args": ["-y"], "env": {}}}}`, words: []string{"server"}, env: []string{"A=b"},
			want: `{"mcpServers": {"a": {"command": "server", "env": {"A": "b"}}}}`,
		},
		{
			before: `{"mcpServers": {"a": {"serverUrl": "https://a.example"}}}`, words: []string{"https://a.example/mcp"},
			want: `{"mcpServers": {"a": {"serverUrl": "https://a.example/mcp"}}}`,
		},
		{
			before: "{\"mcpServers\": {\n  // mine\n  \"a\": {\"command\": \"run\", \"env\": {\"KEY\": \"old\"}, \"fondaco\": {\"deny\": \"x\"}}\n}}",
			env:    []string{"KEY=new", "OTHER"},
			want:   "{\"mcpServers\": {\n  // mine\n  \"a\": {\"command\": \"run\", \"env\": {\"KEY\": \"new\", \"OTHER\": \"${env:OTHER}\"}, \"fondaco\": {\"deny\": \"x\"}}\n}}",
		},
		{
			before: `{"mcpServers": {"a": {"command": "run", "environment": {}}}}`, env: []string{"KEY=new"},
			want: `{"mcpServers": {"a": {"command": "run", "environment": {"KEY": "new"}}}}`,
		},
		{
			before: `{"servers": {"A": {"url": "https://a.example", "headers": {"authorization": "Bearer old"}}}}`, headers: []string{"Authorization: Bearer ${KEY}", "X-Team: b"},
			want: `{"servers": {"A": {"url": "https://a.example", "headers": {"authorization": "Bearer ${KEY}", "X-Team": "b"}}}}`,
		},
	} {
		path := write(t, t.TempDir(), "mcp.json", test.before)
		change, _, err := config.Set(path, "a", test.words, test.env, test.headers)
		if err == nil {
			_, err = change.Write("")
		}
		if got := content(t, path); err != nil || got != test.want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", test.before, got, err, test.want)
		}
	}
}

func TestSettingWhatAServerCannotHaveIsRefused(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "mcp.json", `{"mcpServers": {"a": {"command": "run"}, "b": {"url": "https://b.example"}, "c": {"command": 1}, "e": {"command": ["run", "x"]}}}`)
	for _, test := range []struct {
		name, env, header, want string
		words                   []string
	}{
		{name: "a", words: []string{"https://a.example"}, want: "a URL in place of a program; remove it and add it again"},
		{name: "b", words: []string{"run"}, want: "found a program in place of a URL"},
		{name: "e", words: []string{"run"}, want: "found a command that is no string"},
		{name: "a", header: "X: y", want: "found a header for a command"},
		{name: "b", env: "X=y", want: "found a variable for a URL"},
		{name: "a", env: "=y", want: "want NAME=VALUE"},
		{name: "c", env: "X=y", want: `server "c" has errors`},
		{name: "d", env: "X=y", want: `server "d": unknown`},
	} {
		var env, headers []string
		if test.env != "" {
			env = []string{test.env}
		}
		if test.header != "" {
			headers = []string{test.header}
		}
		if _, _, err := config.Set(path, test.name, test.words, env, headers); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v", test, err)
		}
	}
	_, _, err := config.Set(filepath.Join(t.TempDir(), "none.json"), "a", nil, []string{"X=y"}, nil)
	if _, ok := errors.AsType[*config.UnknownServerError](err); !ok {
		t.Errorf("got %v, want an unknown server", err)
	}
}

func TestRootsAreAddedToAndRemovedFromAFile(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-316b")
	home := t.TempDir()
	variables := env(map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")})
	path := write(t, home, ".config/fondaco/mcp.json", `{"mcpServers": {"a": {"command": "run", "fondaco": {"roots": ["~/src"], "lazy": true}}, "b": {"command": "run"}, "c": {"command": "run", "fondaco": {"roots": true}}}}`)
	src, data := filepath.Join(home, "src"), filepath.Join(home, "${data}")
	for _, step := range []struct {
		server      string
		add, remove []string
		roots       []string
		want        string
	}{
		{"a", []string{data, src}, nil, []string{src, data}, `"a": {"command": "run", "fondaco": {"roots": ["~/src", "` + home + `/$${data}"], "lazy": true}}`},
		{"a", []string{data}, nil, []string{src, data}, `"a": {"command": "run", "fondaco": {"roots": ["~/src", "` + home + `/$${data}"], "lazy": true}}`},
		{"a", nil, []string{src}, []string{data}, `"a": {"command": "run", "fondaco": {"roots": ["` + home + `/$${data}"], "lazy": true}}`},
		{"a", nil, []string{data}, nil, `"a": {"command": "run", "fondaco": {"lazy": true}}`},
		{"a", nil, []string{data}, nil, `"a": {"command": "run", "fondaco": {"lazy": true}}`},
		{"b", []string{src}, nil, []string{src}, `"b": {"command": "run", "fondaco": {"roots": ["` + src + `"]}}`},
	} {
		change, roots, err := config.ChangeRoots(path, step.server, variables, step.add, step.remove)
		if err == nil && !change.Empty() {
			_, err = change.Write("")
		}
		if got := content(t, path); err != nil || !slices.Equal(roots, step.roots) || !strings.Contains(got, step.want) {
			t.Errorf("%+v\ngot %q, %v, %s", step, roots, err, got)
		}
	}
	if _, _, err := config.ChangeRoots(path, "c", variables, []string{src}, nil); err == nil || !strings.Contains(err.Error(), `found "roots": true or false, want an array`) {
		t.Errorf("got %v, want the setting kept", err)
	}
}
