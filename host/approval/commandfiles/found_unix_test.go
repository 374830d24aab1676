//go:build unix

package commandfiles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	huge := m.path("proj/huge.py")
	m.write("proj/huge.py", "")
	m.must(os.Truncate(huge, 3<<30)) // without content, so that it takes no room
	if _, err := commandfiles.Find(m.command("proj", "python3", "huge.py")); err == nil || !strings.Contains(err.Error(), "more than 2147483648 bytes") {
		t.Errorf("got %v, want a file refused that is too large to be read at each start", err)
	}
	var args []string
	for i := range 300 {
		args = append(args, filepath.Base(m.write(fmt.Sprintf("proj/s%d.py", i), "x")))
	}
	if _, err := commandfiles.Find(m.command("proj", "python3", args...)); err == nil || !strings.Contains(err.Error(), "more than 256 files") {
		t.Errorf("got %v, want too many files refused", err)
	}
	// Programs that start programs, in many directories, under names of other programs.
	var chain []string
	for i, wrapper := range []string{"nice", "nohup", "env", "setsid", "time", "sudo", "doas", "stdbuf", "ionice", "chronic", "unbuffer", "firejail"} {
		dir := fmt.Sprintf("d%d", i)
		m.link("proj/"+dir+"/x", m.write("usr/bin/"+wrapper, "\x7fELF "+wrapper))
		chain = append(chain, "./x", "-C"+m.path("proj/"+dir))
	}
	words := strings.Fields(strings.Repeat("a,b,c,d,e,f,g,h ", 200))
	if _, err := commandfiles.Find(m.command("proj", "env", slices.Concat(chain, chain, words)...)); err == nil || !strings.Contains(err.Error(), "more than 100000 files") {
		t.Errorf("got %v, want a command refused that takes too long to search", err)
	}
}

func TestInterpretersBehindEachOtherAreBounded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for i := range 10 {
		m.write(fmt.Sprintf("proj/bin/s%d", i), fmt.Sprintf("#!%s\n", m.path(fmt.Sprintf("proj/bin/s%d", i+1))))
	}
	files := m.files(m.find(m.command("proj", "./bin/s0")))
	if want := "interpreter /proj/bin/s8"; len(files) != 9 || files[8] != want {
		t.Errorf("got %q, want the last to be %s", files, want)
	}
}

func TestLongTextsAreNotSearchedForFiles(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/evil.js", "x")
	for filler, want := range map[int]bool{16<<10 - len("./evil.js"): true, 16<<10 - len("./evil.js") + 1: false} {
		text := strings.Repeat(" ", filler) + "./evil.js"
		argument, variable := m.command("proj", "docker", "run", text), m.command("proj", "node", "-v")
		variable.Env["X"] = text
		for what, c := range map[string]*commandfiles.Command{"argument": argument, "variable": variable} {
			if got := slices.Contains(m.files(m.find(c)), "script /proj/evil.js"); got != want {
				t.Errorf("%s of %d bytes: got the file found: %v, want %v", what, len(text), got, want)
			}
		}
	}
}
