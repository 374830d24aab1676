//go:build unix

package commandfiles_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

// The directory link leads to sub/inner: the system finds link/../x in sub, and Node.js beside
// the link.
func TestPathsThatLeaveASymbolicLinkAreReadInBothWays(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-363a")
	m := newMachine(t)
	for _, program := range []string{"uv", "make"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	for _, dir := range []string{"proj/", "proj/sub/"} {
		for _, file := range []string{"plain", "hook.js", "lib/sitecustomize.py", "bin/own", "pkg/setup.py"} {
			m.write(dir+file, "\x7fELF")
		}
	}
	m.write("proj/sub/inner/data", "x")
	m.link("proj/link", m.path("proj/sub/inner"))
	m.write("proj/first", "#!link/../bin/own\n")
	m.must(chmodPrivate(m.path("proj/first")))
	for name, test := range map[string]struct {
		words []string
		env   map[string]string
		dir   string
		file  string
	}{
		"script":                             {words: []string{"python3", "link/../plain"}, file: "plain"},
		"absolute script":                    {words: []string{"python3", "/PROJ/link/../plain"}, file: "plain"},
		"script after a linked directory":    {words: []string{"env", "-C", "link", "python3", "../plain"}, file: "plain"},
		"script in code for a shell":         {words: []string{"sh", "-c", "exec python3 link/../plain"}, file: "plain"},
		"script with a suffix":               {words: []string{"node", "link/../hook"}, file: "hook.js"},
		"code behind a program":              {words: []string{"docker", "link/../hook.js"}, file: "hook.js"},
		"module in a variable":               {words: []string{"node", "x.js"}, env: map[string]string{"NODE_OPTIONS": "--require ./link/../hook"}, file: "hook.js"},
		"directory in a variable":            {words: []string{"python3", "x.py"}, env: map[string]string{"PYTHONPATH": "link/../lib"}, file: "lib/sitecustomize.py"},
		"directory of the PATH":              {words: []string{"env", "own"}, env: map[string]string{"PATH": "link/../bin:/PATH"}, file: "bin/own"},
		"working directory of a wrapper":     {words: []string{"env", "-C", "link/..", "python3", "plain"}, file: "plain"},
		"working directory of a runner":      {words: []string{"uv", "--directory", "link/..", "run", "plain"}, file: "plain"},
		"program of a wrapper":               {words: []string{"env", "link/../bin/own"}, file: "bin/own"},
		"interpreter of a first line":        {words: []string{"./first"}, file: "bin/own"},
		"settings that a flag names":         {words: []string{"npx", "--userconfig=link/../plain", "x"}, file: "plain"},
		"recipe":                             {words: []string{"make", "-f", "link/../plain"}, file: "plain"},
		"package":                            {words: []string{"uvx", "--from", "./link/../pkg", "x"}, file: "pkg/setup.py"},
		"file of Compose":                    {words: []string{"docker", "compose", "-f", "link/../plain", "up"}, file: "plain"},
		"working directory of the server":    {words: []string{"python3", "plain"}, dir: "link/..", file: "plain"},
		"file from a linked directory":       {words: []string{"python3", "../plain"}, dir: "link", file: "plain"},
		"text of a path in linked directory": {words: []string{"node", "x/../../hook"}, dir: "link", file: "hook.js"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			for _, changed := range []string{"proj/", "proj/sub/"} {
				c := m.command("proj", test.words[0], expanded(m, test.words[1:])...)
				for variable, value := range test.env {
					c.Env[variable] = expanded(m, []string{value})[0]
				}
				if c.Dir += "/" + test.dir; test.dir == "link" && changed == "proj/" {
					continue // "..", from its real place, never leads there
				}
				m.remember(c)
				m.mustNotDiffer(c)
				m.write(changed+test.file, "evil")
				m.mustDiffer(c, "/"+changed+test.file)
			}
		})
	}
}

// A path without symbolic links has one reading, and nothing else is covered because of "..".
func TestPathsWithoutSymbolicLinksAreReadOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/sub/plain", "x")
	m.write("proj/plain", "x")
	c := m.command("proj", "python3", "sub/../plain", "--data", "sub/../../data")
	m.write("data", "1")
	if got := m.files(m.remember(c)); len(got) != 2 {
		t.Errorf("got %q, want the interpreter and its script", got)
	}
	m.write("data", "2")
	m.write("proj/sub/plain", "another")
	m.mustNotDiffer(c)
}
