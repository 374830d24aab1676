//go:build unix

package commandfiles_test

import (
	"fmt"
	"strings"
	"testing"
)

// Programs in node_modules/.bin come before the PATH where a script of package.json runs.
func TestCodeBehindScriptsOfPackagesIsFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/run-s", "\x7fELF run-s")
	for name, test := range map[string]struct {
		words   []string
		scripts string
		changed string
	}{
		"program of a script":                            {scripts: `{"serve": "tsx plain"}`, changed: "node_modules/.bin/tsx"},
		"program that is not known":                      {scripts: `{"serve": "server --x"}`, changed: "node_modules/.bin/server"},
		"shell of a script":                              {scripts: `{"serve": "true"}`, changed: "node_modules/.bin/sh"},
		"program of a script of Node.js":                 {words: []string{"node", "--run", "serve"}, scripts: `{"serve": "tsx plain"}`, changed: "node_modules/.bin/tsx"},
		"directory in a script":                          {scripts: `{"serve": "cd sub && node server"}`, changed: "sub/server"},
		"script of a script":                             {scripts: `{"serve": "npm run inner", "inner": "node plain"}`, changed: "plain"},
		"scripts that name each other":                   {scripts: `{"serve": "node --run inner", "inner": "node --run serve && node plain"}`, changed: "plain"},
		"scripts of a pattern":                           {scripts: `{"serve": "run-s build:*", "build:x": "node plain"}`, changed: "plain"},
		"script that concurrently starts":                {scripts: `{"serve": "concurrently 'npm:in*' 'npm:serve'", "inner": "node plain"}`, changed: "plain"},
		"start without a script":                         {words: []string{"npm", "start"}, scripts: `{}`, changed: "server.js"},
		"short command":                                  {words: []string{"npm", "t"}, scripts: `{"test": "node plain"}`, changed: "plain"},
		"beginning of a command":                         {words: []string{"npm", "tes"}, scripts: `{"pretest": "node plain"}`, changed: "plain"},
		"installation and test":                          {words: []string{"npm", "it"}, scripts: `{"test": "node plain"}`, changed: "plain"},
		"installation":                                   {words: []string{"npm", "ci"}, scripts: `{"postinstall": "node plain"}`, changed: "plain"},
		"restart":                                        {words: []string{"npm", "restart"}, scripts: `{"start": "node plain"}`, changed: "plain"},
		"npm that Node.js runs":                          {words: []string{"node", "lib/npm-cli.js", "run", "serve"}, scripts: `{"serve": "node plain"}`, changed: "plain"},
		"script of a package by its path":                {words: []string{"npx", "./pkg"}, changed: "pkg/setup"},
		"file for the compiler of a package by its path": {words: []string{"npx", "-y", "./pkg"}, changed: "pkg/binding.gyp"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			m.write("proj/package.json", `{"scripts": `+test.scripts+`}`)
			m.write("proj/pkg/package.json", `{"scripts": {"prepare": "node setup"}}`)
			for _, file := range []string{"plain", "server.js", "sub/server", "pkg/setup", "lib/npm-cli.js"} {
				m.write("proj/"+file, "x")
			}
			words := test.words
			if words == nil {
				words = []string{"npm", "run", "serve"}
			}
			c := m.command("proj", words[0], words[1:]...)
			m.remember(c)
			m.mustNotDiffer(c)
			m.write("proj/"+test.changed, "evil")
			if strings.Contains(test.changed, ".bin/") {
				m.must(chmodPrivate(m.path("proj/" + test.changed)))
			}
			m.mustDiffer(c, "/proj/"+test.changed)
		})
	}
}

// Programs are named only by what they run, also where Node.js runs npx itself.
func TestScriptsAndPackagesAreNamedAsNotCovered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/npx", "#!"+m.path("usr/bin/env")+" node\n")
	m.write("usr/bin/npm", "#!"+m.path("usr/bin/env")+" node\n")
	m.write("usr/bin/yarn", "\x7fELF yarn")
	for want, words := range map[string][]string{
		"the package server@1.0.0, which npx downloads and runs": {"npx", "-y", "server@1.0.0"},
		"the script start of package.json and what it runs":      {"npm", "start"},
		"the script test of package.json and what it runs":       {"npm", "t"},
		"the script serve of package.json and what it runs":      {"npm", "run", "-w", "server", "serve"},
		"the script build of package.json and what it runs":      {"yarn", "workspace", "server", "run", "build"},
	} {
		got := m.find(m.command("proj", words[0], words[1:]...)).NotCovered
		text := strings.Join(got, "\n")
		if !strings.Contains(text, want) {
			t.Errorf("%q: got %q, want %s", words, got, want)
		}
		for _, empty := range []string{"the package ,", "the script  of"} {
			if strings.Contains(text, empty) {
				t.Errorf("%q: got %q, want no name left out", words, got)
			}
		}
	}
}

func TestPackagesThatAPackageByItsPathNeedsAreNotCovered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/pkg/package.json", `{"dependencies": {"x": "file:../x"}, "scripts": {"prepare": "make"}}`)
	m.write("proj/pkg/binding.gyp", "{}")
	got := fmt.Sprint(m.find(m.command("proj", "npx", "./pkg")).NotCovered)
	for _, want := range []string{"the packages that the package in " + m.path("proj/pkg") + " needs", "what the script prepare of the package in", "what is compiled of the package in"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
