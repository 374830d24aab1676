//go:build unix

package commandfiles_test

import (
	"fmt"
	"strings"
	"testing"
)

// A package manager that is told to run something in a workspace reads the package.json, the
// settings and the programs of the workspace.
func TestScriptsOfWorkspacesAreFound(t *testing.T) {
	t.Parallel()
	const workspace = `{"name": "@s/server", "scripts": {"serve": "node start"}}`
	m := newMachine(t)
	for _, program := range []string{"pnpm", "yarn", "bun"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	for name, test := range map[string]struct {
		words    []string
		env      map[string]string
		patterns string
		changed  string
	}{
		"npm, by name":                {words: []string{"npm", "run", "-w", "@s/server", "serve"}},
		"npm, by directory":           {words: []string{"npm", "run", "serve", "--workspace=p/srv"}},
		"npm, by the directory above": {words: []string{"npm", "run", "serve", "-w", "p"}},
		"npm, all":                    {words: []string{"npm", "run", "serve", "--workspaces"}},
		"npm, file of a script":       {words: []string{"npm", "-w", "@s/server", "run", "serve"}, changed: "start"},
		"npm, in a variable":          {words: []string{"npm", "run", "serve"}, env: map[string]string{"npm_config_workspace": "@s/server"}},
		"npx":                         {words: []string{"npx", "-w", "@s/server", "tool"}, changed: "node_modules/.bin/tool"},
		"pnpm":                        {words: []string{"pnpm", "--filter", "server", "serve"}},
		"pnpm, short":                 {words: []string{"pnpm", "-F", "@s/*", "serve"}},
		"pnpm, with what needs it":    {words: []string{"pnpm", "--filter=...server", "serve"}},
		"pnpm, by directory":          {words: []string{"pnpm", "--filter", "./p/srv", "serve"}},
		"pnpm, all":                   {words: []string{"pnpm", "-r", "serve"}},
		"pnpm, directory":             {words: []string{"pnpm", "-C", "p/srv", "serve"}},
		"yarn":                        {words: []string{"yarn", "workspace", "@s/server", "serve"}},
		"yarn, all":                   {words: []string{"yarn", "workspaces", "foreach", "-A", "run", "serve"}},
		"bun":                         {words: []string{"bun", "--filter", "@s/server", "serve"}},
		"below a directory":           {words: []string{"npm", "run", "-w", "@s/server", "serve"}, patterns: `{"packages": ["./**"]}`},
		"pattern in a name":           {words: []string{"npm", "run", "-w", "@s/server", "serve"}, patterns: `["p/s?v"]`},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			if test.words[0] == "pnpm" {
				m.write("proj/pnpm-workspace.yaml", "packages:\n  - 'p/*' # all\n")
			} else if test.patterns == "" {
				test.patterns = `["p/*", "!p/other"]`
			}
			if test.patterns != "" {
				m.write("proj/package.json", `{"workspaces": `+test.patterns+`}`)
			}
			m.write("proj/p/srv/package.json", workspace)
			m.write("proj/p/srv/start", "x")
			m.write("proj/p/other/package.json", `{"name": "other"}`)
			c := m.command("proj", test.words[0], test.words[1:]...)
			for variable, value := range test.env {
				c.Env[variable] = value
			}
			m.remember(c)
			m.mustNotDiffer(c)
			if test.changed == "" {
				test.changed = "package.json"
			}
			m.write("proj/p/srv/"+test.changed, "evil")
			m.must(chmodPrivate(m.path("proj/p/srv/" + test.changed)))
			m.mustDiffer(c, "/proj/p/srv/"+test.changed)
		})
	}
}

func TestOtherWorkspacesAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/package.json", `{"workspaces": ["p/*"]}`)
	m.write("proj/p/server/package.json", `{"name": "server", "scripts": {"serve": "true"}}`)
	m.write("proj/p/other/package.json", `{"name": "other"}`)
	c := m.command("proj", "npm", "run", "-w", "server", "serve")
	m.remember(c)
	m.write("proj/p/other/package.json", `{"name": "other", "version": "1.0.0"}`)
	m.write("proj/p/new/package.json", `{"name": "new"}`)
	m.mustNotDiffer(c)
	m.write("usr/bin/bun", "\x7fELF bun")
	bun := m.command("proj", "bun", "-r", "./hook.js", "server.js") // which is no flag for all workspaces
	m.remember(bun)
	m.write("proj/p/other/package.json", `{"name": "other", "version": "2.0.0"}`)
	m.mustNotDiffer(bun)
}

// The file that names the workspaces names settings of pnpm as well.
func TestCodeOfWorkspacesIsLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/pnpm", "\x7fELF pnpm")
	m.write("proj/pnpm-workspace.yaml", "packages:\n  - web\n")
	m.write("proj/web/package.json", `{"name": "web", "main": "main.js"}`)
	m.write("proj/web/main.js", "1")
	c := m.command("proj", "pnpm", "dlx", "server@1.0.0")
	m.remember(c)
	m.write("proj/web/main.js", "2")
	m.mustNotDiffer(c)
}

func TestWorkspacesThatAreNotFoundOrTooManyAreNamed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/package.json", `{"workspaces": ["p/*"]}`)
	for i := range 20 {
		m.write(fmt.Sprintf("proj/p/%d/package.json", i), `{"scripts": {"serve": "true"}}`)
	}
	for want, words := range map[string][]string{
		"what runs in the workspace server, which is not there": {"npm", "run", "-w", "server", "serve"},
		"because there are more directories than are searched":  {"npm", "run", "--workspaces", "serve"},
	} {
		if got := fmt.Sprint(m.find(m.command("proj", words[0], words[1:]...)).NotCovered); !strings.Contains(got, want) {
			t.Errorf("%q: got %s, want %s", words, got, want)
		}
	}
}
