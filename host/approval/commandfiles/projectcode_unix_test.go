//go:build unix

package commandfiles_test

import (
	"fmt"
	"strings"
	"testing"
)

// The files of a project by which a program decides what it runs, although no argument is code.
func TestCodeOfTheProjectIsFoundBehindPathsRecipesAndVariables(t *testing.T) {
	t.Parallel()
	type attack struct {
		words   []string
		env     map[string]string
		changed string
	}
	m := newMachine(t)
	for _, program := range []string{"uv", "make", "just", "task", "flock"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	for file, content := range map[string]string{
		"proj/pkg/package.json": `{"name": 1, "bin": {"a": "cli", "b": 2}}`, "proj/pkg/cli": "x", "proj/plain": "x", "proj/py/setup.py": "x", "proj/server.py": "x",
		"package.json": `{"scripts": {"serve": "node --trace-warnings plain", "preserve": "./before.js"}}`, "plain": "x", "before.js": "x", "proj/other": "-include rules\n",
		"proj/Makefile": "include rules\nserve:\n\tsh ./run.sh\n", "proj/rules": "x", "proj/run.sh": "x", "justfile": "x", "proj/Taskfile.yml": "x", "proj/lib/other.py": "x",
		"proj/lib/index.js": "x",
	} {
		m.write(file, content)
	}
	for name, test := range map[string]attack{
		"package by its path":                {words: []string{"npx", "./pkg"}, changed: "proj/pkg/cli"},
		"package by its path, after a flag":  {words: []string{"npx", "-y", "file:pkg", "x"}, changed: "proj/pkg/package.json"},
		"package in a flag":                  {words: []string{"npx", "--package=./pkg", "server"}, changed: "proj/pkg/cli"},
		"package of npm exec":                {words: []string{"npm", "exec", "./pkg"}, changed: "proj/pkg/cli"},
		"package in an archive":              {words: []string{"npx", "-y", "./plain"}, changed: "proj/plain"},
		"package of Python":                  {words: []string{"uvx", "--from", "./py", "server"}, changed: "proj/py/setup.py"},
		"package of uv tool run":             {words: []string{"uv", "tool", "run", "./py"}, changed: "proj/py/setup.py"},
		"script of package.json in Node.js":  {words: []string{"node", "--run", "serve"}, changed: "package.json"},
		"file behind such a script":          {words: []string{"node", "--run=serve"}, changed: "plain"},
		"file behind a script of npm":        {words: []string{"npm", "run", "serve"}, changed: "plain"},
		"file behind the script before":      {words: []string{"npm", "run", "serve"}, changed: "before.js"},
		"recipe of make":                     {words: []string{"make", "serve"}, changed: "proj/Makefile"},
		"included recipe":                    {words: []string{"make", "serve"}, changed: "proj/rules"},
		"script of a recipe":                 {words: []string{"make", "serve"}, changed: "proj/run.sh"},
		"recipe in a flag":                   {words: []string{"make", "-f", "other", "serve"}, changed: "proj/other"},
		"recipe in the same word":            {words: []string{"make", "-fother", "serve"}, changed: "proj/other"},
		"recipe that is included by a flag":  {words: []string{"make", "--file=other", "serve"}, changed: "proj/rules"},
		"recipe of just, above":              {words: []string{"just", "serve"}, changed: "justfile"},
		"recipe of task":                     {words: []string{"task", "serve"}, changed: "proj/Taskfile.yml"},
		"module that Python always loads":    {words: []string{"python3", "server.py"}, env: map[string]string{"PYTHONPATH": "./lib"}, changed: "proj/lib/sitecustomize.py"},
		"module of a directory for Node.js":  {words: []string{"node", "server.py"}, env: map[string]string{"NODE_OPTIONS": "--require ./lib"}, changed: "proj/lib/index.js"},
		"recipes in a variable":              {words: []string{"make", "serve"}, env: map[string]string{"MAKEFILES": "other"}, changed: "proj/other"},
		"package by its path in other words": {words: []string{"flock", "lock", "npx", "./pkg"}, changed: "proj/pkg/cli"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			c := m.command("proj", test.words[0], test.words[1:]...)
			for variable, value := range test.env {
				c.Env[variable] = value
			}
			m.remember(c)
			m.mustNotDiffer(c)
			m.write(test.changed, "evil")
			m.mustDiffer(c, "/"+test.changed)
		})
	}
}

func TestDirectoriesThatVariablesNameAreNotCovered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/server.py", "x")
	m.write("proj/lib/x.py", "x")
	for variable, want := range map[string]string{
		"PYTHONPATH": "the modules in the directories of PYTHONPATH", "NODE_PATH": "the modules in the directories of NODE_PATH",
		"NODE_OPTIONS": "the files in " + m.path("proj/lib") + ", which NODE_OPTIONS names",
	} {
		c := m.command("proj", "python3", "server.py")
		c.Env[variable] = map[string]string{"NODE_OPTIONS": "--import="}[variable] + "./lib"
		if got := fmt.Sprint(m.find(c).NotCovered); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", variable, got, want)
		}
	}
	for want, words := range map[string][]string{
		"the script serve of package.json and what it runs": {"node", "--run", "serve"}, "what just compiles or runs: serve": {"just", "serve"},
	} {
		m.write("usr/bin/just", "\x7fELF just")
		if got := fmt.Sprint(m.find(m.command("proj", words[0], words[1:]...)).NotCovered); !strings.Contains(got, want) {
			t.Errorf("%q: got %s, want %s", words, got, want)
		}
	}
}
