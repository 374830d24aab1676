package commandfiles

import (
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
)

// A codeFinder finds the files that a command runs: the program, the interpreters of
// scripts, and the files among its arguments and variables that are code. It rather takes
// data for code, which only adds a digest, than code for data.
type codeFinder struct {
	fileAccess

	dir    string            // working directory
	bases  []string          // directories to which relative arguments may refer
	path   string            // PATH
	env    map[string]string // of the program
	devDir string            // whose scripts are not digested; empty for none
	// home is the home directory of the user, and project that of the project. Both may be empty.
	home, project string

	commands map[foundCommand]bool
	code     map[string][][]string // code for a shell with its commands
	read     map[string]bool       // files that were searched for others
	guesses  int                   // above 0 while words are regarded that may be no command
	texts    int                   // above 0 while words of a text are regarded, which may be prose
	tree     nodeTree
	found    *Found
}

// maxDepth limits the chain of interpreters and of programs that start programs.
const maxDepth = 8

// add digests a file that runs.
func (c *codeFinder) add(role Role, file string) {
	if c.found.has(file) || !c.mayLookAt(file) {
		return
	}
	digested := role != RoleScript || c.devDir == "" || !userfile.IsBelow(userfile.RealPath(file), c.devDir)
	if err := c.found.add(role, file, digested); err != nil && c.err == nil {
		c.err = err
	}
}

// places returns the absolute paths that a path can lead to in the working directories.
func (c *codeFinder) places(path string) (all []string) {
	for _, base := range c.bases {
		for _, at := range c.readings(path, base) {
			if !slices.Contains(all, at) {
				all = append(all, at)
			}
		}
	}
	return all
}

// note says what runs and is covered by no digest, once.
func (c *codeFinder) note(format string, args ...any) {
	note := sprintEscaped(format, args...)
	if !slices.Contains(c.found.NotCovered, note) {
		c.found.NotCovered = append(c.found.NotCovered, note)
	}
}

func sprintEscaped(format string, args ...any) string {
	return host.EscapeUnprintable(fmt.Sprintf(format, args...))
}
