//go:build unix

package commandfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

// The script has no suffix, and the program that starts its interpreter is on no list.
func TestScriptsBehindUnknownProgramsAreFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, program := range []string{"flock", "op", "script", "su", "runuser", "unshare", "direnv", "xvfb-run", "setsid", "stdbuf", "time", "bwrap", "bash", "watchexec", "wrapper"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	m.link("proj/tool", m.path("usr/bin/python3"))
	m.link("proj/wrapper", m.path("usr/bin/env"))
	m.write("proj/sub/data", "x")
	m.write("proj/data", "x")
	m.write("proj/server", "good")
	for _, words := range [][]string{
		{"flock", "lock", "python3", "server"},
		{"flock", "node.lock", "node", "server"},
		{"op", "run", "--", "node", "server"},
		{"op", "run", "--env", "node", "--", "node", "server"},
		{"op", "run", "--", "./tool", "server"},
		{"op", "run", "--", "./wrapper", "server"},
		{"script", "-qc", "python3 server", "/dev/null"},
		{"script", "--command=python3 server", "/dev/null"},
		{"script", "-cpython3 server", "/dev/null"},
		{"su", "anna", "-c", "cd sub && A=b exec python3 ../server"},
		{"su", "-c", "./wrapper server"},
		{"su", "-c", "flock lock python3 server"},
		{"runuser", "-u", "anna", "--", "python3", "server"},
		{"unshare", "-r", "python3", "server"},
		{"direnv", "exec", ".", "python3", "server"},
		{"xvfb-run", "-a", "python3", "server"},
		{"setsid", "-w", "env", "A=b", "stdbuf", "-o0", "python3", "server"},
		{"time", "-o", "out", "python3", "server"},
		{"bwrap", "--ro-bind", "/", "/", "python3", "server"},
		{"bwrap", "--ro-bind", "./data", "./data", "python3", "server"},
		{"flock", "lock", "./tool", "server"},
		{"flock", "lock", "npx", "-y", "tsx@4", "./server"},
		{"python3", "-m", "debugpy", "server"},
		{"python3", "-m", "uv", "run", "server"},
		{"python3", "-c", "import os; os.system('node server')"},
		{"sh", "-c", "exec python3 server"},
		{"bash", "-xc", "python3 server"},
		{"sh", "-c", "date;python3 server 2>&1|tee log"},
		{"sh", "-c", "env >log && { python3 <server; }"},
		{"su", "-c", "if true; then exec ./wrapper \"server\"; fi"},
		{"watchexec", "--", "wrapper", "server"},
		{"flock", "lock", "./server", "data"},
	} {
		t.Run(fmt.Sprint(words), func(t *testing.T) {
			m := m.in(t)
			if words[len(words)-1] == "data" {
				m.keep(m.path("proj/server"))
				m.must(chmodPrivate(m.path("proj/server")))
			}
			if words[0] == "watchexec" {
				m.link("usr/bin/wrapper", m.path("usr/bin/python3"))
			}
			c := m.command("proj", words[0], words[1:]...)
			m.remember(c)
			m.mustNotDiffer(c)
			m.write("proj/server", "evil")
			m.mustDiffer(c, "/proj/server changed")
		})
	}
}

// The interpreter of the first line of a file that an unknown program starts runs, too.
func TestInterpreterOfAFileBehindAnUnknownProgramIsFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/flock", "\x7fELF flock")
	m.write("proj/interpreter/bin/own", "good")
	m.write("proj/start", "#!"+m.path("proj/interpreter/bin/own")+"\n")
	m.must(chmodPrivate(m.path("proj/start")))
	c := m.command("proj", "flock", "lock", "./start")
	m.remember(c)
	m.write("proj/interpreter/bin/own", "evil")
	m.mustDiffer(c, "interpreter /proj/interpreter/bin/own changed")
}

func TestCodeForAShellIsNamedAsNotCovered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/su", "\x7fELF su")
	m.write("usr/bin/mine", "\x7fELF mine")
	m.write("proj/config.json", "{}")
	for want, words := range map[string][]string{
		"what the code 'mine --x' runs":  {"su", "-c", "mine --x"},
		"what the code mine runs":        {"su", "-c", "mine"},
		"what mine reads in its working": {"mine", "-c", "config.json"},
	} {
		got := m.find(m.command("proj", words[0], words[1:]...)).NotCovered
		if text := strings.Join(got, "\n"); !strings.Contains(text, want) || words[0] == "mine" && len(got) > 1 {
			t.Errorf("%q: got %q, want %q", words, got, want)
		}
	}
}

// Words that only look like commands ask nothing and are not reported. What the server itself may
// read is.
func TestProseAndNamesOfProgramsAreNoCommands(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/bin/server", "\x7fELF server")
	m.write("proj/data.db", "1")
	c := m.command("proj", "./bin/server", "--prompt", "make it go with node or python", "--db", "data.db", "--language", "python")
	if got := m.remember(c).NotCovered; len(got) != 1 || got[0] != "what server reads in its working directory by itself" {
		t.Errorf("got %q, want nothing said about other programs", got)
	}
	m.write("proj/data.db", "2")
	m.mustNotDiffer(c)
}

// A program may write into a file at each start.
func TestFilesThatCodeForAShellWritesToAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"env >> log; exec python3 server.py", "env 2>log", "exec env 2>&1 >|log", "env > log 2>&1"} {
		m := newMachine(t)
		m.write("proj/server.py", "x")
		m.write("proj/log", "1")
		c := m.command("proj", "sh", "-c", code)
		m.remember(c)
		m.write("proj/log", "2")
		m.mustNotDiffer(c)
	}
}

func TestCommandsAmongArgumentsAreBounded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/flock", "\x7fELF flock")
	c := m.command("proj", "flock", strings.Fields(strings.Repeat("time ", 260))...)
	if _, err := commandfiles.Find(c); err == nil || !strings.Contains(err.Error(), "its arguments can be more than 256 commands") {
		t.Errorf("got %v, want a command refused that takes too long to search", err)
	}
}
