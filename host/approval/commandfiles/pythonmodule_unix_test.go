//go:build unix

package commandfiles_test

import (
	"fmt"
	"strings"
	"testing"
)

// A module that appears in a directory of PYTHONPATH runs at the next start of Python.
func TestModulesThatPythonLoadsByItselfAreFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/server.py", "x")
	m.write("proj/src/other.py", "x")
	m.write("proj/pkg/server.py", "x")
	for _, test := range []struct {
		words []string
		path  string
		added string
	}{
		{words: []string{"python3", "server.py"}, path: "src:", added: "sitecustomize.py"},
		{words: []string{"python3", "server.py"}, path: ":src", added: "usercustomize.py"},
		{words: []string{"python3", "server.py"}, path: "src", added: "src/sitecustomize.py"},
		{words: []string{"python3", "server.py"}, path: "src", added: "src/sitecustomize.pyc"},
		{words: []string{"python3", "server.py"}, path: "src", added: "src/sitecustomize.cpython-312-x86_64-linux-gnu.so"},
		{words: []string{"python3", "server.py"}, path: "src", added: "src/sitecustomize/__init__.py"},
		{words: []string{"python3", "server.py"}, path: "src", added: "src/usercustomize/__init__.abi3.so"},
		{words: []string{"python3", "server.py"}, path: "src", added: "src/encodings/__init__.py"},
		{words: []string{"uvx", "server@1.0.0"}, path: "src", added: "src/sitecustomize.py"},
		{words: []string{"sh", "-c", "PYTHONPATH=src exec python3 server.py"}, added: "src/sitecustomize.py"},
		{words: []string{"sh", "-c", "export PYTHONPATH=src; python3 server.py"}, added: "src/sitecustomize.py"},
		{words: []string{"env", "PYTHONPATH=src:", "python3", "server.py"}, added: "sitecustomize.py"},
		{words: []string{"python3", "-m", "pkg.server"}, added: "pkg/__init__.py"},
		{words: []string{"python3", "-m", "pkg.server"}, added: "pkg/server/__main__.py"},
		{words: []string{"python3", "-m", "server"}, added: "server.cpython-312-x86_64-linux-gnu.so"},
	} {
		t.Run(fmt.Sprint(test.words, test.path), func(t *testing.T) {
			m := m.in(t)
			c := m.command("proj", test.words[0], test.words[1:]...)
			if test.path != "" {
				c.Env["PYTHONPATH"] = test.path
			}
			m.remember(c)
			for _, other := range []string{"src/other.py", "src/sitecustomize2.py", "src/customize.py", "other.py", "src/__pycache__/other.pyc"} {
				m.write("proj/"+other, "another")
			}
			m.mustNotDiffer(c)
			m.write("proj/"+test.added, "evil")
			m.mustDiffer(c, "script /proj/"+test.added+" appeared")
		})
	}
}

func TestDirectoriesThatCodeForAShellAddsToThePathAreSearched(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"PATH=./bin:$PATH exec server", "export PATH=./bin:${PATH}; server", "PATH=./bin true; server"} {
		m := newMachine(t)
		m.write("proj/bin/server", "good")
		c := m.command("proj", "sh", "-c", code)
		m.remember(c)
		m.write("proj/bin/server", "evil")
		m.mustDiffer(c, "/proj/bin/server")
	}
}

func TestFilesThatUvReadsAreFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/uv", "\x7fELF uv")
	for _, file := range []string{"server.py", "pkg/server.py", "pkg/__main__.py", "pkg/setup.py", "plain", "wheels/server-1.0.0-py3-none-any.whl"} {
		m.write("proj/"+file, "x")
	}
	for _, test := range []struct {
		words   []string
		changed string
	}{
		{[]string{"uv", "run", "-m", "server"}, "server.py"},
		{[]string{"uv", "run", "--module=pkg.server", "--x"}, "pkg/server.py"},
		{[]string{"uv", "run", "--with", "mcp", "--module", "pkg"}, "pkg/__main__.py"},
		{[]string{"uv", "run", "server.py"}, "server.py.lock"},
		{[]string{"uv", "run", "--script", "plain"}, "plain.lock"},
		{[]string{"uvx", "-c", "plain", "server@1.0.0"}, "plain"},
		{[]string{"uvx", "-bplain", "server@1.0.0"}, "plain"},
		{[]string{"uv", "tool", "run", "--build-constraint", "plain", "server@1.0.0"}, "plain"},
		{[]string{"uvx", "--with", "mcp,./wheels/server-1.0.0-py3-none-any.whl", "server@1.0.0"}, "wheels/server-1.0.0-py3-none-any.whl"},
		{[]string{"uvx", "-w./pkg", "server@1.0.0"}, "pkg/setup.py"},
		{[]string{"uv", "run", "--with", "mcp", "--", "fastmcp", "run", "plain"}, "plain"},
		{[]string{"uvx", "--from", "fastmcp@2", "fastmcp", "run"}, "fastmcp.json"},
		{[]string{"uvx", "--override=plain", "server@1.0.0"}, "plain"},
		{[]string{"uvx", "--find-links", "wheels", "server==1.0.0"}, "wheels/server-1.0.0-py3-none-any.whl"},
		{[]string{"uvx", "-f./wheels", "server==1.0.0"}, "wheels/server-2.0.0.tar.gz"},
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

// A server behind uv may have flags with the same names, and a lock beside its data.
func TestFlagsOfTheProgramThatUvRunsAreItsOwn(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"uv", "run", "server.py", "-c", "data"}, {"uvx", "server@1.0.0", "-b", "data"}} {
		m := newMachine(t)
		m.write("usr/bin/uv", "\x7fELF uv")
		for _, file := range []string{"server.py", "data", "data.lock", "setup.cfg"} {
			m.write("proj/"+file, "1")
		}
		c := m.command("proj", words[0], words[1:]...)
		m.remember(c)
		m.write("proj/data", "2")
		m.write("proj/data.lock", "2")
		m.write("proj/setup.cfg", "2")
		m.mustNotDiffer(c)
	}
}

func TestDirectoryWithManyPackagesIsNamedAsNotCovered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for i := range 33 {
		m.write(fmt.Sprintf("proj/wheels/%d.whl", i), "x")
	}
	p := m.find(m.command("proj", "uvx", "--find-links=wheels", "server==1.0.0"))
	if got := strings.Join(p.NotCovered, "\n"); !strings.Contains(got, "the packages in "+m.path("proj/wheels")) || len(p.Files) != 1 {
		t.Errorf("got %q, want the directory named", got)
	}
}
