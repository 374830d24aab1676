//go:build unix

package commandfiles_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestRealInterpreterBehindAShimIsNamed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("home/.pyenv/shims/python3", "#!"+m.path("usr/bin/sh")+"\nexec pyenv\n")
	m.write("home/.pyenv/version", "3.11.2\n")
	m.write("home/.pyenv/versions/3.11.2/bin/python3", "\x7fELF 3.11")
	m.write("home/.pyenv/versions/3.12.1/bin/python3", "\x7fELF 3.12")
	m.write("home/.asdf/shims/node", "#!"+m.path("usr/bin/env")+" sh\n# asdf-plugin: nodejs 18.0.0\n# asdf-plugin: nodejs 20.1.0\nexec asdf\n")
	m.write("home/.asdf/installs/nodejs/20.1.0/bin/node", "\x7fELF 20.1")
	m.write("asdf/.tool-versions", "python 3.11\nnodejs 20.1.0\n")
	m.write("home/.volta/bin/volta-shim", "\x7fELF shim")
	m.link("home/.volta/bin/node", "volta-shim")
	m.write("home/.volta/tools/user/platform.json", `{"node": {"runtime": "22.0.0"}}`)
	m.write("home/.volta/tools/image/node/22.0.0/bin/node", "\x7fELF 22")
	m.write("home/mise/shims/node", "\x7fELF mise")
	m.link("venv/bin/python", m.path("usr/bin/python3"))
	for _, project := range []string{"global", "local", "asdf", "volta", "venv", "mise"} {
		m.write(project+"/server.py", "x")
	}
	m.write("local/.python-version", "3.12\n")
	for _, test := range []struct{ project, path, command, want string }{
		{"global", "home/.pyenv/shims", "python3", "interpreter /home/.pyenv/versions/3.11.2/bin/python3"},
		{"local", "home/.pyenv/shims", "python3", "interpreter /home/.pyenv/versions/3.12.1/bin/python3"},
		{"asdf", "home/.asdf/shims", "node", "interpreter /home/.asdf/installs/nodejs/20.1.0/bin/node"},
		{"volta", "home/.volta/bin", "node", "interpreter /home/.volta/tools/image/node/22.0.0/bin/node"},
		{"venv", "venv/bin", "python", "program /venv/bin/python -> /usr/bin/python3"},
	} {
		c := m.command(test.project, test.command, "server.py")
		c.Env["PATH"] = m.path(test.path)
		if got := m.files(m.find(c)); !slices.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %s", test.project, got, test.want)
		}
	}
	unknown := m.command("mise", "node", "server.py")
	unknown.Env["PATH"] = m.path("home/mise/shims")
	m.must(os.MkdirAll(m.path("home/mise/installs"), 0o700))
	if got := m.find(unknown).NotCovered; !strings.Contains(fmt.Sprint(got), "which its version manager chooses") {
		t.Errorf("got %q, want it said that the program is unknown", got)
	}
}

// The links of a version manager lead to the manager, which starts the program of their name.
func TestLinksOfVersionManagersAreReadByTheirNames(t *testing.T) {
	t.Parallel()
	for _, manager := range []string{"mise", "rtx", "asdf", "volta-shim", "unknown-manager"} {
		m := newMachine(t)
		m.write("home/bin/"+manager, "\x7fELF manager")
		m.write("proj/plain", "x")
		for _, program := range []string{"npx", "uvx", "just", "docker", "node"} {
			m.link("home/shims/"+program, m.path("home/bin/"+manager))
		}
		for _, test := range []struct {
			words   []string
			changed string
		}{
			{[]string{"npx", "-y", "server"}, "node_modules/.bin/server"},
			{[]string{"npx", "-y", "server"}, ".npmrc"},
			{[]string{"uvx", "server"}, "uv.toml"},
			{[]string{"just", "serve"}, "justfile"},
			{[]string{"docker", "compose", "up"}, "compose.yaml"},
			{[]string{"node", "plain"}, "plain"},
			{[]string{"env", "just", "serve"}, "justfile"},
		} {
			t.Run(fmt.Sprint(manager, test.words), func(t *testing.T) {
				m := m.in(t)
				c := m.command("proj", test.words[0], test.words[1:]...)
				c.Env["PATH"] = m.path("home/shims") + ":" + m.path("usr/bin")
				m.remember(c)
				m.write("proj/"+test.changed, "evil")
				m.mustDiffer(c, "/proj/"+test.changed)
			})
		}
	}
}

// What the version manager itself reads chooses the program that it starts.
func TestSettingsOfTheManagerBehindALinkAreFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("home/bin/mise", "\x7fELF mise")
	m.link("home/shims/just", m.path("home/bin/mise"))
	c := m.command("proj", "just", "serve")
	c.Env["PATH"] = m.path("home/shims")
	m.remember(c)
	m.write("proj/mise.toml", "evil")
	m.mustDiffer(c, "/proj/mise.toml appeared")
}

// A version file that names another interpreter leads to that one.
func TestVersionFileOfAShimIsCovered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("home/.pyenv/shims/python3", "#!"+m.path("usr/bin/sh")+"\n")
	m.write("home/.pyenv/version", "3.11.2\n")
	m.write("home/.pyenv/versions/3.11.2/bin/python3", "\x7fELF 3.11")
	m.write("home/.pyenv/versions/evil/bin/python3", "\x7fELF evil")
	m.write("proj/server.py", "x")
	c := m.command("proj", "python3", "server.py")
	c.Env["PATH"] = m.path("home/.pyenv/shims")
	m.remember(c)
	m.write("proj/.python-version", "evil\n")
	m.mustDiffer(c, "/home/.pyenv/versions/evil/bin/python3 appeared")
}
