//go:build unix

package commandfiles_test

import (
	"fmt"
	"testing"
)

func TestFilesThatCodeNamesInOtherWaysAreFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, program := range []string{"bash", "socat", "uvicorn", "nodemon", "jbang"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	for _, file := range []string{"plain", "server.py", "pkg/server.py", ".venv/activate", "Server.java", "x.js", "sub/plain", "sub/inner/data"} {
		m.write("proj/"+file, "x")
	}
	m.link("proj/link", m.path("proj/sub/inner"))
	for _, test := range []struct {
		words   []string
		env     map[string]string
		changed string
	}{
		{words: []string{"bash", "-c", "source .venv/activate && exec python3 server.py"}, changed: ".venv/activate"},
		{words: []string{"sh", "-c", ". ./plain; exec python3 server.py"}, changed: "plain"},
		{words: []string{"sh", "-c", "exec python3 \"$PWD/plain\""}, changed: "plain"},
		{words: []string{"sh", "-c", `exec python3 pl""ain`}, changed: "plain"},
		{words: []string{"npx", "-y", "--call=node plain"}, changed: "plain"},
		{words: []string{"socat", "-", "EXEC:python3 plain"}, changed: "plain"},
		{words: []string{"uvx", "uvicorn@0.30", "server:app"}, changed: "server.py"},
		{words: []string{"uvicorn", "pkg.server:app"}, changed: "pkg/server.py"},
		{words: []string{"nodemon", "plain"}, changed: "plain"},
		{words: []string{"jbang", "Server.java"}, changed: "Server.java"},
		{words: []string{"node", "x.js"}, env: map[string]string{"JDK_JAVA_OPTIONS": "@plain"}, changed: "plain"},
		{words: []string{"node", "x.js"}, env: map[string]string{"LUA_INIT": "@plain"}, changed: "plain"},
		{words: []string{"sh", "x.js"}, env: map[string]string{"ZDOTDIR": "."}, changed: ".zshenv"},
		{words: []string{"uvx", "server@1.0.0"}, env: map[string]string{"GIT_CONFIG_GLOBAL": "./plain"}, changed: "plain"},
		{words: []string{"uvx", "server@1.0.0"}, env: map[string]string{"KUBECONFIG": "./plain"}, changed: "plain"},
		{words: []string{"uvx", "server@1.0.0"}, env: map[string]string{"AWS_CONFIG_FILE": "link/../plain"}, changed: "sub/plain"},
	} {
		t.Run(fmt.Sprint(test.words, test.env), func(t *testing.T) {
			m := m.in(t)
			c := m.command("proj", test.words[0], test.words[1:]...)
			for variable, value := range test.env {
				c.Env[variable] = value
			}
			m.remember(c)
			m.mustNotDiffer(c)
			m.write("proj/"+test.changed, "evil")
			m.mustDiffer(c, "/proj/"+test.changed)
		})
	}
}

// A login writes into the settings that a variable of the user's own file names.
func TestSettingsOfTheUserThatAVariableNamesAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("home/.kube/config", "1")
	for _, project := range []string{"", m.path("proj")} {
		c := m.command("proj", "uvx", "server@1.0.0")
		c.Project = project
		c.Env["KUBECONFIG"] = m.path("home/.kube/config")
		m.remember(c)
		m.write("home/.kube/config", "2"+project)
		m.mustNotDiffer(c)
	}
}
