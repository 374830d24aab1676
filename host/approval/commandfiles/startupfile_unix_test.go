//go:build unix

package commandfiles_test

import "testing"

func TestFilesThatInterpretersLoadByThemselvesAreFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, program := range []string{"Rscript", "octave", "erl", "bb", "clojure", "julia", "flock"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	m.write("proj/server", "x")
	m.write("proj/sub/server", "x")
	for added, words := range map[string][]string{
		".Rprofile": {"Rscript", "server"}, "sub/.Renviron": {"Rscript", "sub/server"}, ".octaverc": {"octave", "server"}, ".erlang": {"erl", "-s", "server"},
		"bb.edn": {"flock", "lock", "bb", "server"}, "deps.edn": {"clojure", "-X:mcp"}, "Project.toml": {"julia", "--project", "server"},
		"node.config.json": {"node", "--experimental-default-config-file", "server"},
	} {
		t.Run(added, func(t *testing.T) {
			m := m.in(t)
			c := m.command("proj", words[0], words[1:]...)
			m.remember(c)
			m.mustNotDiffer(c)
			m.write("proj/"+added, "evil")
			m.mustDiffer(c, "/proj/"+added+" appeared")
		})
	}
}
