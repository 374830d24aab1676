package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/internal/claim"
)

func TestRootsAreDirectoriesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-316b")
	home := t.TempDir()
	variables := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "SECRET": "s3cret"}
	here := filepath.Join(home, ".config", "fondaco")
	claim.Limit(t, "directories of one server in `roots`", config.MaxRoots)
	many := strings.Repeat(`"a", `, config.MaxRoots) + `"b"`
	for text, test := range map[string]struct {
		want []string
		err  string
	}{
		`["~/src", "notes", "/data/", "/data"]`: {want: []string{filepath.Join(home, "src"), filepath.Join(here, "notes"), "/data"}},
		`["${userHome}/src"]`:                   {want: []string{filepath.Join(home, "src")}},
		`"~"`:                                   {want: []string{home}},
		`[]`:                                    {},
		`true`:                                  {},
		`[""]`:                                  {err: "found an empty text, want a directory"},
		`["file:///data"]`:                      {err: `found "file:///data", want the path of a directory, such as ~/src`},
		`["/data/${SECRET}"]`:                   {err: "found a variable, an input or a file, want a path"},
		`["${input:dir}"]`:                      {err: "found a variable, an input or a file, want a path"},
		`["${workspaceFolder}"]`:                {err: "defined only in the file of a project"},
		`[1]`:                                   {err: "found a number, want a string"},
		`{}`:                                    {err: "found an object, want true, false, or an array of directories"},
		`[` + many + `]`:                        {err: "found 101 directories, want at most 100"},
	} {
		for _, server := range []string{`"command": "run"`, `"url": "https://a.example/mcp"`} {
			path := write(t, home, ".config/fondaco/mcp.json", fmt.Sprintf(`{"mcpServers": {"a": {%s, "fondaco": {"roots": %s}}}}`, server, text))
			c, err := load(path, variables)
			switch {
			case err != nil:
				t.Errorf("%s: %v", text, err)
			case test.err != "":
				if len(c.Errors) != 1 || !strings.Contains(c.Errors[0].Error(), test.err) {
					t.Errorf("%s: got %v, want %s", text, c.Errors, test.err)
				}
			case len(c.Errors) > 0 || len(c.Upstreams) != 1 || !slices.Equal(c.Upstreams[0].Settings.Roots, test.want):
				t.Errorf("%s: got %+v, %v, want %q", text, c.Upstreams, c.Errors, test.want)
			}
		}
	}
}

// The copy is in the user's own file, where roots need no approval.
func TestRootsOfAProjectAreNotCopied(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	variables := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")}
	const servers = `{"mcpServers": {"a": {"command": "run", "fondaco": {"roots": ["src", "~/work"]}}}}`
	for _, test := range []struct {
		path string
		own  bool
	}{
		{write(t, project, ".mcp.json", servers), false},
		{write(t, home, ".claude.json", servers), true},
	} {
		c, err := load(test.path, variables)
		dir := filepath.Dir(test.path)
		if err != nil || len(c.Upstreams) != 1 || !slices.Equal(c.Upstreams[0].Settings.Roots, []string{filepath.Join(dir, "src"), filepath.Join(home, "work")}) {
			t.Errorf("%s: got %+v, %v, want the roots where they are configured", test.path, c, err)
		}
		copied, _ := config.ClientConfig{Path: test.path, Project: !test.own}.Servers(env(variables), project)
		own := filepath.Join(t.TempDir(), "own.json")
		change, _, err := config.Add(own, copied)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := change.Write(""); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(own)
		if err != nil || strings.Contains(string(content), `"roots"`) != test.own {
			t.Errorf("got %s, %v, want the roots copied: %v", content, err, test.own)
		}
		again, err := load(own, variables)
		if want := []string{filepath.Join(dir, "src"), filepath.Join(home, "work")}; test.own && (err != nil || !slices.Equal(again.Upstreams[0].Settings.Roots, want)) {
			t.Errorf("got %+v, %v, want %q", again.Upstreams[0].Settings, err, want)
		}
	}
}

func TestListOfRootsLeavesTheRootsOfClientsAtTheirDefault(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]host.Permission{`false`: host.PermissionRefused, `true`: host.PermissionGranted, `["/data"]`: host.PermissionDefault} {
		path := write(t, t.TempDir(), "mcp.json", fmt.Sprintf(`{"mcpServers": {"a": {"command": "run", "fondaco": {"roots": %s}}}}`, text))
		if c, err := load(path, nil); err != nil || c.Upstreams[0].Settings.Questions.Roots != want {
			t.Errorf("%s: got %+v, %v, want the permission %q", text, c, err, want)
		}
	}
}
