//go:build unix

package commandfiles_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

// npm finds an installed package by the name that its package.json says, and starts the program
// that it names.
func TestPackageInADirectoryWithAnotherNameIsFound(t *testing.T) {
	t.Parallel()
	const manifest = `{"name": " server", "version": "1.0.0", "bin": {"x": "x.js"}}`
	m := newMachine(t)
	for name, test := range map[string]struct {
		words []string
		files map[string]string
		links map[string]string
		want  string
	}{
		"another directory": {
			files: map[string]string{"node_modules/zzz/package.json": manifest, "node_modules/.bin/x": "evil"}, want: "script /proj/node_modules/.bin/x appeared",
		},
		"directory of a scope": {files: map[string]string{"node_modules/@z/z/package.json": manifest}, want: "/proj/node_modules/@z/z/package.json appeared"},
		"package of a package": {files: map[string]string{"node_modules/a/node_modules/b/package.json": manifest}, want: "/proj/node_modules/a/node_modules/b/package.json appeared"},
		"target of a link": {
			files: map[string]string{"lib/z/package.json": manifest}, links: map[string]string{"node_modules/z": "../lib/z"}, want: "script /proj/node_modules/z/package.json appeared",
		},
		"beside the target of a link": {
			files: map[string]string{"node_modules/.pnpm/a@1/node_modules/a/package.json": `{"name": "a"}`, "node_modules/.pnpm/a@1/node_modules/b/package.json": manifest},
			links: map[string]string{"node_modules/a": ".pnpm/a@1/node_modules/a"}, want: "node_modules/b/package.json appeared",
		},
		"link of a scope": {
			files: map[string]string{"lib/scope/z/package.json": manifest}, links: map[string]string{"node_modules/@s": "../lib/scope"}, want: "lib/scope/z/package.json appeared",
		},
		"workspace": {
			files: map[string]string{"package.json": `{"workspaces": ["p/*"]}`, "p/z/package.json": manifest, "node_modules/.bin/x": "evil"},
			want:  "script /proj/node_modules/.bin/x appeared",
		},
		"package of a workspace": {
			files: map[string]string{"package.json": `{"workspaces": ["p/*"]}`, "p/z/package.json": "{}", "p/z/node_modules/y/package.json": manifest},
			want:  "/proj/p/z/node_modules/y/package.json appeared",
		},
		"list of what is installed": {
			files: map[string]string{"node_modules/z/package.json": "{}", "node_modules/.package-lock.json": `{"packages": {"node_modules/z": {"name": "server", "bin": {"x": "x.js"}}}}`},
			want:  "/proj/node_modules/.package-lock.json appeared",
		},
		"package.json that only JavaScript can read": {files: map[string]string{"node_modules/z/package.json": `{"name": "server",}`}, want: "/proj/node_modules/z/package.json appeared"},
		"alias":                                     {words: []string{"npx", "-y", "a@npm:server@1.0.0"}, files: map[string]string{"node_modules/zzz/package.json": manifest}, want: "/proj/node_modules/zzz/package.json appeared"},
		"program with a version":                    {files: map[string]string{"node_modules/.bin/server@1.0.0": "evil"}, want: "/proj/node_modules/.bin/server@1.0.0 appeared"},
		"program with a scope":                      {words: []string{"npx", "-y", "@s/server"}, files: map[string]string{"node_modules/.bin/@s/server": "evil"}, want: "/proj/node_modules/.bin/@s/server appeared"},
		"package of a flag":                         {words: []string{"npx", "-y", "-p", "server@1.0.0", "start"}, files: map[string]string{"node_modules/zzz/package.json": manifest}, want: "/proj/node_modules/zzz/package.json appeared"},
		"shortened command":                         {words: []string{"npm", "exe", "server@1.0.0"}, files: map[string]string{"node_modules/zzz/package.json": manifest}, want: "/proj/node_modules/zzz/package.json appeared"},
		"name of a repository":                      {words: []string{"npx", "git+https://example.com/server.git#v1"}, files: map[string]string{"node_modules/zzz/package.json": manifest}, want: "/proj/node_modules/zzz/package.json appeared"},
		"package that npm init appeared":            {words: []string{"npm", "init", "server@1"}, files: map[string]string{"node_modules/create-server/package.json": "{}"}, want: "create-server/package.json appeared"},
		"program of the project with a longer name": {files: map[string]string{"package.json": `{"bin": {"a/server": "own"}}`, "own": "evil"}, want: "/proj/own appeared"},
		"program in a list":                         {files: map[string]string{"package.json": `{"bin": ["a/server"]}`, "a/server": "evil"}, want: "/proj/a/server appeared"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			words := test.words
			if words == nil {
				words = []string{"npx", "-y", "server@1.0.0"}
			}
			c := m.command("proj", words[0], words[1:]...)
			m.remember(c)
			for file, content := range test.files {
				m.write("proj/"+file, content)
				if strings.Contains(file, ".bin/") {
					m.must(chmodPrivate(m.path("proj/" + file)))
				}
			}
			for link, target := range test.links {
				m.link("proj/"+link, target)
			}
			m.mustDiffer(c, test.want)
		})
	}
}

// Arguments of a package are none, whatever is installed under their names.
func TestArgumentsOfAPackageAreNoPackages(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	c := m.command("proj", "npx", "-y", "@s/files@1.0.0", "docs")
	m.remember(c)
	m.write("proj/node_modules/docs/package.json", `{"name": "docs", "bin": "cli.js"}`)
	m.write("proj/node_modules/docs/cli.js", "x")
	m.write("proj/node_modules/.bin/docs", "x")
	m.mustNotDiffer(c)
}

func TestOtherInstalledPackagesAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	install := func(name string) {
		m.write("proj/node_modules/"+name+"/package.json", fmt.Sprintf(`{"name": %q, "bin": "cli.js"}`, name))
		m.write("proj/node_modules/.package-lock.json", fmt.Sprintf(`{"packages": {"node_modules/%s": {"bin": {"%[1]s": "cli.js"}}, "node_modules/server": {"bin": {"server": "cli.js"}}}}`, name))
	}
	install("server")
	c := m.command("proj", "npx", "-y", "server@1.0.0")
	m.remember(c)
	install("other")
	m.write("proj/node_modules/loop/package.json", `{"name": "loop"}`)
	m.link("proj/node_modules/loop/node_modules", m.path("proj/node_modules"))
	m.mustNotDiffer(c)
}

func TestManifestsAreBounded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/package.json", `{"x": "`+strings.Repeat("y", 4<<20)+`"}`)
	if _, err := commandfiles.Find(m.command("proj", "npm", "run", "serve")); err == nil || !strings.Contains(err.Error(), "package.json has more than 4194304 bytes") {
		t.Errorf("got %v, want a package.json refused that is too large to be read", err)
	}
	m.must(os.Remove(m.path("proj/package.json")))
	m.write("proj/node_modules/.package-lock.json", strings.Repeat(" ", 64<<20+1))
	if _, err := commandfiles.Find(m.command("proj", "npx", "server")); err == nil || !strings.Contains(err.Error(), ".package-lock.json has more than 67108864 bytes") {
		t.Errorf("got %v, want a list refused that is too large to be read", err)
	}
}

// Where a package is named by its repository, any installed package can say that it is it.
func TestPackageOfARepositoryIsNotCovered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, word := range []string{"github:anna/server", "anna/server#v1", "git+https://example.com/server.git", "https://example.com/server.tgz"} {
		if got := fmt.Sprint(m.find(m.command("proj", "npx", "-y", word)).NotCovered); !strings.Contains(got, "a package in node_modules that says that it is from "+word) {
			t.Errorf("%s: got %s, want it named", word, got)
		}
	}
	for _, word := range []string{"server@1", "@s/server@1", "./pkg", "a@npm:server@1", "file:pkg"} {
		if got := fmt.Sprint(m.find(m.command("proj", "npx", "-y", word)).NotCovered); strings.Contains(got, "says that it is from") {
			t.Errorf("%s: got %s, want nothing said about a repository", word, got)
		}
	}
}
