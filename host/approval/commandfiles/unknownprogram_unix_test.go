//go:build unix

package commandfiles_test

import (
	"strings"
	"testing"
)

// Of a program that is no interpreter, the host cannot know what it reads.
func TestWhatUnknownProgramsReadIsNamedAsNotCovered(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pixi", "nix-shell", "mix", "composer", "nodemon", "uvicorn", "bundle", "direnv", "poetry", "mise", "nr"} {
		m := newMachine(t)
		for _, program := range []string{name, "flock"} {
			m.write("usr/bin/"+program, "\x7fELF "+program)
		}
		want := "what " + name + " reads in its working directory by itself"
		for _, words := range [][]string{{name, "run", "x"}, {"flock", "lock", m.path("usr/bin/" + name), "run"}, {"env", name, "run"}, {"sh", "-c", "exec " + name + " run"}} {
			got := m.find(m.command("proj", words[0], words[1:]...)).NotCovered
			if !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("%q: got %q, want %s", words, got, want)
			}
		}
	}
	m := newMachine(t)
	m.write("proj/server.py", "x")
	m.write("proj/gradlew", "#!"+m.path("usr/bin/sh")+"\n")
	m.must(chmodPrivate(m.path("proj/gradlew")))
	for want, words := range map[string][]string{"what gradlew reads in its": {"./gradlew", "run"}, "": {"env", "python3", "server.py"}} {
		got := strings.Join(m.find(m.command("proj", words[0], words[1:]...)).NotCovered, "\n")
		if strings.Contains(got, "by itself") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", words, got, want)
		}
	}
}
