//go:build unix

package commandfiles_test

import (
	"os"
	"strings"
	"testing"
)

// npx and the like run what is in the project in place of what they would download.
func TestPackageOfTheProjectIsFound(t *testing.T) {
	t.Parallel()
	commands := map[string][]string{
		"npx": {"-y", "server@1.0.0", "data"}, "npm": {"exec", "--yes", "--", "server@1.0.0"}, "pnpx": {"server@1.0.0"}, "pnpm": {"dlx", "server@1.0.0"},
		"bunx": {"server@1.0.0"}, "bun": {"x", "server@1.0.0"}, "yarn": {"dlx", "server@1.0.0"}, "deno": {"run", "-A", "npm:server@1.0.0"},
	}
	type file struct{ name, content string }
	m := newMachine(t)
	for name, test := range map[string]struct {
		before, added []file
		want          string
	}{
		"package that appears": {
			added: []file{{"proj/sub/node_modules/server/package.json", `{"bin": "cli.js"}`}, {"proj/sub/node_modules/server/cli.js", "x"}},
			want:  "script /proj/sub/node_modules/server/cli.js appeared",
		},
		"package above the working directory": {
			added: []file{{"proj/node_modules/server/package.json", `{}`}}, want: "/proj/node_modules/server/package.json appeared",
		},
		"program that appears": {added: []file{{"proj/node_modules/.bin/server", "x"}}, want: "/proj/node_modules/.bin/server appeared"},
		"interpreter that is found first": {
			added: []file{{"proj/node_modules/.bin/node", "x"}}, want: "/proj/node_modules/.bin/node appeared",
		},
		"program of the project itself": {
			before: []file{{"proj/package.json", `{"name": "x"}`}}, added: []file{{"proj/package.json", `{"bin": {"server": "own"}}`}, {"proj/own", "x"}},
			want: "script /proj/own appeared",
		},
		"program that changes": {
			before: []file{{"proj/node_modules/server/package.json", `{"bin": {"other": "./cli"}}`}, {"proj/node_modules/server/cli", "good"}},
			added:  []file{{"proj/node_modules/server/cli", "evil"}}, want: "script /proj/node_modules/server/cli changed",
		},
		"program in a directory of programs": {
			before: []file{{"proj/node_modules/server/package.json", `{"directories": {"bin": "bin"}}`}, {"proj/node_modules/server/bin/x", "good"}},
			added:  []file{{"proj/node_modules/server/bin/x", "evil"}}, want: "script /proj/node_modules/server/bin/x changed",
		},
		"program of a manifest with a member twice": {
			before: []file{{"proj/node_modules/server/package.json", "\ufeff" + `{"bin": "a", "bin": {"server": "cli"}}`}, {"proj/node_modules/server/cli", "good"}},
			added:  []file{{"proj/node_modules/server/cli", "evil"}}, want: "script /proj/node_modules/server/cli changed",
		},
		"manifest that changes": {
			before: []file{{"proj/node_modules/server/package.json", `{"bin": "a"}`}}, added: []file{{"proj/node_modules/server/package.json", `{"bin": "b"}`}},
			want: "script /proj/node_modules/server/package.json changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			for program, args := range commands {
				m.write("usr/bin/"+program, "\x7fELF "+program)
				c := m.command("proj/sub", program, args...)
				write := func(files []file) {
					for _, f := range files {
						m.write(f.name, f.content)
						if strings.Contains(f.name, "/.bin/") {
							m.must(chmodPrivate(m.path(f.name)))
						}
					}
				}
				write(test.before)
				m.remember(c)
				m.mustNotDiffer(c)
				write(test.added)
				m.mustDiffer(c, test.want)
				for _, f := range test.added {
					m.must(os.Remove(m.path(f.name)))
				}
			}
		})
	}
}

func TestPackageThatVanishesIsNoLongerFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/node_modules/@example/server/package.json", `{"name": "@example/server", "bin": "cli.js"}`)
	m.write("proj/node_modules/@example/server/cli.js", "x")
	m.link("proj/node_modules/.bin/server", "../@example/server/cli.js")
	c := m.command("proj", "npx", "-y", "--package=@example/server@1.0.0", "server")
	m.remember(c)
	m.write("proj/other.js", "x")
	m.link("proj/node_modules/.bin/server", "../../other.js")
	m.mustDiffer(c, "/proj/node_modules/.bin/server now leads to /proj/other.js")
	m.remember(c)
	m.must(os.RemoveAll(m.path("proj/node_modules")))
	m.mustDiffer(c, "script /proj/node_modules/@example/server/package.json vanished")
}

// What is beside the package is no part of it: the user may install and edit other packages.
func TestOtherPackagesOfTheProjectAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/package.json", `{"bin": {"mine": "mine.js"}}`)
	m.write("proj/mine.js", "1")
	c := m.command("proj", "npx", "-y", "@example/server@1.0.0")
	m.remember(c)
	m.write("proj/package.json", `{"bin": {"mine": "mine.js"}, "dependencies": {"other": "1"}}`)
	m.write("proj/mine.js", "2")
	m.write("proj/node_modules/other/package.json", `{"bin": "cli.js"}`)
	m.write("proj/node_modules/.bin/other", "x")
	m.mustNotDiffer(c)
}

func TestProgramsOfTheWorkingDirectoryThatPipxRunsAreFound(t *testing.T) {
	t.Parallel()
	for _, added := range []string{"proj/server", "proj/__pypackages__/3.12/lib/bin/server"} {
		m := newMachine(t)
		m.write("usr/bin/pipx", "\x7fELF pipx")
		c := m.command("proj", "pipx", "run", "server")
		m.remember(c)
		m.write(added, "evil")
		m.mustDiffer(c, "script /"+added+" appeared")
	}
}
