package spawn

import (
	"fmt"
	"os"
)

// openedProgram returns a path at which the child finds an opened file although its name
// may have been given to another one. It is empty for scripts, whose interpreters would
// see that path as the name of the script, and where /proc is missing.
func openedProgram(f *os.File) string {
	if f == nil {
		return ""
	}
	start := make([]byte, 4)
	if _, err := f.ReadAt(start, 0); err != nil || string(start) != "\x7fELF" {
		return ""
	}
	path := fmt.Sprintf("/proc/self/fd/%d", f.Fd()) // "self" is the child when it is read
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
