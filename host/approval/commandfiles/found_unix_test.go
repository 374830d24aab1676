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
