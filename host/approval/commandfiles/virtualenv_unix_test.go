//go:build unix

package commandfiles_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestVirtualEnvironmentThatIsSwitchedIsFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, program := range []string{"uv", "poetry", "pipenv", "pdm", "conda", "flock", "python3.12"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	m.write("proj/server.py", "x")
	m.write("proj/sub/server.py", "x")
	for name, test := range map[string]struct {
		words []string
		env   map[string]string
		venv  string // where it is
	}{
		"uv":                             {words: []string{"uv", "run", "server.py"}, venv: "proj/.venv"},
		"uv, above":                      {words: []string{"uv", "run", "--directory", "sub", "python", "server.py"}, venv: "proj/.venv"},
		"uv with a variable":             {words: []string{"uv", "run", "server.py"}, env: map[string]string{"UV_PROJECT_ENVIRONMENT": "mine"}, venv: "proj/mine"},
		"poetry":                         {words: []string{"poetry", "run", "server"}, venv: "proj/.venv"},
		"pipenv":                         {words: []string{"pipenv", "run", "server"}, venv: "proj/.venv"},
		"pdm":                            {words: []string{"pdm", "run", "server"}, venv: "proj/.venv"},
		"conda with a directory":         {words: []string{"conda", "run", "-p", "./mine", "server"}, venv: "proj/mine"},
		"uv behind another program":      {words: []string{"flock", "lock", "uv", "run", "server.py"}, venv: "proj/.venv"},
		"interpreter of the environment": {words: []string{"./.venv/bin/python", "server.py"}, venv: "proj/.venv"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			m.write(test.venv+"/pyvenv.cfg", "home = /usr/bin")
			m.write(test.venv+"/bin/server", "#!"+m.path(test.venv+"/bin/python")+"\n")
			m.link(test.venv+"/bin/python", m.path("usr/bin/python3.12"))
			m.write("evil/bin/python", "\x7fELF evil")
			c := m.command("proj", test.words[0], test.words[1:]...)
			for variable, value := range test.env {
				c.Env[variable] = value
			}
			m.remember(c)
			m.mustNotDiffer(c)
			m.write(test.venv+"/pyvenv.cfg", "home = /evil")
			m.mustDiffer(c, "script /"+test.venv+"/pyvenv.cfg changed")
			m.remember(c)
			m.link(test.venv+"/bin/python", m.path("evil/bin/python"))
			m.mustDiffer(c, "/"+test.venv+"/bin/python now leads to /evil/bin/python")
		})
	}
}

func TestProgramOfAVirtualEnvironmentIsFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/uv", "\x7fELF uv")
	m.write("usr/bin/server", "\x7fELF server")
	c := m.command("proj", "uv", "run", "server")
	if got := fmt.Sprint(m.remember(c).NotCovered); !strings.Contains(got, "the virtual environment that uv chooses or makes") {
		t.Errorf("got %s, want the environment named that is not there yet", got)
	}
	m.write("proj/.venv/bin/server", "\x7fELF evil")
	m.mustDiffer(c, "interpreter /proj/.venv/bin/server appeared")
	if got := fmt.Sprint(m.remember(c).NotCovered); !strings.Contains(got, "the packages in "+m.path("proj/.venv")) {
		t.Errorf("got %s, want its packages named", got)
	}

	elsewhere := m.command("other", "pipenv", "run", "server")
	m.write("usr/bin/pipenv", "\x7fELF pipenv")
	m.write("data/venv/bin/server", "\x7fELF server")
	m.write("other/.venv", m.path("data/venv")+"\n")
	m.remember(elsewhere)
	m.write("other/.venv", m.path("proj/.venv")+"\n")
	m.mustDiffer(elsewhere, "/proj/.venv/bin/server appeared")
}
