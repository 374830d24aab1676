//go:build unix

package commandfiles_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// The variables that a program loads for another one can make that load other code.
func TestFilesWithVariablesForACommandAreFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, program := range []string{"op", "dotenvx", "env-cmd", "envdir", "dotenv", "sops", "foreman", "some-launcher"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	for _, file := range []string{"server.js", "server", "vars", "more", "make", ".env", "vardir/A", "vardir/NODE_OPTIONS", "sub/vars", "sub/inner/data"} {
		m.write("proj/"+file, "x")
	}
	m.write("proj/Procfile", "web: node server")
	m.link("proj/link", m.path("proj/sub/inner"))
	for _, test := range []struct {
		words   []string
		changed string
	}{
		{[]string{"op", "run", "--env-file=vars", "--", "node", "server.js"}, "vars"},
		{[]string{"op", "run", "--env-file", "make", "--env-file", "vars", "--", "node", "server.js"}, "vars"},
		{[]string{"op", "run", "--env-file", "make", "--", "node", "server.js"}, "make"},
		{[]string{"dotenvx", "run", "--", "node", "server.js"}, ".env"},
		{[]string{"dotenvx", "run", "-f", "vars", "--", "node", "server.js"}, "vars"},
		{[]string{"env-cmd", "-f", "vars", "node", "server.js"}, "vars"},
		{[]string{"env-cmd", "-f", "make", "node", "server.js"}, "make"},
		{[]string{"env-cmd", "node", "server.js"}, ".env-cmdrc"},
		{[]string{"envdir", "./vardir", "node", "server.js"}, "vardir/NODE_OPTIONS"},
		{[]string{"dotenv", "-e", "vars", "node", "server.js"}, "vars"},
		{[]string{"npx", "-y", "dotenv-cli@7", "-evars", "--", "node", "server.js"}, "vars"},
		{[]string{"sops", "exec-env", "vars", "node server.js"}, "vars"},
		{[]string{"foreman", "start", "-e", "vars"}, "vars"},
		{[]string{"foreman", "start"}, "server"},
		{[]string{"some-launcher", "--env", "vars,more", "node", "server.js"}, "more"},
		{[]string{"env", "some-launcher", "-e", "link/../vars", "--", "node", "server.js"}, "sub/vars"},
	} {
		t.Run(fmt.Sprint(test.words), func(t *testing.T) {
			m := m.in(t)
			c := m.command("proj", test.words[0], test.words[1:]...)
			m.remember(c)
			m.mustNotDiffer(c)
			m.write("proj/"+test.changed, "evil")
			m.mustDiffer(c, "/proj/"+test.changed)
		})
	}
}

// What a server writes at each start has no variables.
func TestFilesThatServersWriteAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, program := range []string{"script", "flock", "server"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	for _, file := range []string{"server.py", "data", "data.db"} {
		m.write("proj/"+file, "1")
	}
	for _, words := range [][]string{
		{"script", "-f", "data", "-c", "python3 server.py"},
		{"flock", "-e", "data", "python3", "server.py"},
		{"server", "-f", "data.db", "--language", "python"},
		{"server", "-f", "data"},
		{"python3", "server.py", "-e", "data"},
		{"uvx", "server@1.0.0", "--file", "data"},
	} {
		t.Run(fmt.Sprint(words), func(t *testing.T) {
			m := m.in(t)
			c := m.command("proj", words[0], words[1:]...)
			m.remember(c)
			m.write("proj/data", "2")
			m.write("proj/data.db", "2")
			m.mustNotDiffer(c)
		})
	}
}

func TestDirectoryWithManyVariablesIsNamedAsNotCovered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/envdir", "\x7fELF envdir")
	for i := range 65 {
		m.write(fmt.Sprintf("proj/vars/V%d", i), "x")
	}
	c := m.command("proj", "envdir", "./vars", "node", "-v")
	if got := m.find(c); !slices.Contains(got.NotCovered, "the variables in "+m.path("proj/vars")) || len(got.Files) != 2 {
		t.Errorf("got %+v, want the directory named", got)
	}
	m.must(os.Remove(m.path("proj/vars/V0")))
	if got := m.find(c); len(got.Files) != 66 {
		t.Errorf("got %d files, want 64 of variables", len(got.Files))
	}
}
