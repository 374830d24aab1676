// Package commandfiles finds the files that a command runs: the program, the interpreters of
// scripts, and the files among its arguments, its variables and in its working directory that
// are code. It starts nothing, and decides nothing.
//
// Find digests programs, scripts and recipes before it reads them, so that one that is exchanged
// meanwhile is found by Verify. Settings and manifests, which decide what is searched, are read first.
package commandfiles

import (
	"maps"
	"os"
	"slices"

	"github.com/fondaco/fondaco/host/userfile"
)

// Command is a command as it would be started.
type Command struct {
	// Program is a path, or a name that is looked up in the PATH: that of Env, or else of this process.
	Program string
	Args    []string
	Env     map[string]string
	// Dir is the absolute working directory, and DirTarget the directory that it leads to if it has
	// symbolic links.
	Dir, DirTarget string
	// Home is the home directory of the user, and Project the directory of the project that the
	// command is from. Both may be empty.
	Home, Project string
	// DevDir is a directory whose scripts are not digested. Empty for none.
	DevDir string
	// Texts are files whose content is an argument or the value of a variable.
	Texts []string
	// CheckLocal returns an error for a path that must not be looked at. It is called before
	// anything looks at a path, also at those that a file of the project names.
	CheckLocal func(path string) error
}

// A ProgramError says why the program of a command cannot be found. Its text may contain the
// name of the program.
type ProgramError struct{ Err error }

func (e *ProgramError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ProgramError) Unwrap() error { return e.Err }

// Find returns what a command runs. It is a *ProgramError if the program is not there. A command
// that names more than can be searched or digested is an error, too.
func Find(command *Command) (*Found, error) {
	c := &codeFinder{
		dir: command.Dir, bases: []string{command.Dir}, path: searchPath(command.Env), env: command.Env, devDir: command.DevDir,
		home: command.Home, project: command.Project, fileAccess: fileAccess{checkLocal: command.CheckLocal},
		found: new(Found), commands: make(map[foundCommand]bool), code: make(map[string][][]string), read: make(map[string]bool),
	}
	if userfile.HasParent(command.Dir) && command.DirTarget != "" {
		c.bases = append(c.bases, command.DirTarget)
	}
	if err := c.command(command.Program, command.Args); err != nil {
		return nil, &ProgramError{err}
	}
	for _, name := range slices.Sorted(maps.Keys(command.Env)) {
		c.textOfVariable(name, command.Env[name])
	}
	for _, file := range command.Texts {
		c.add(RoleText, file)
	}
	if c.err != nil {
		return nil, c.err
	}
	c.found.Data = slices.DeleteFunc(c.found.Data, c.found.has)
	return c.found, nil
}

// searchPath returns the PATH of a command: its own, or that of this process.
func searchPath(env map[string]string) string {
	for name, value := range env {
		if isPath(name) {
			return value
		}
	}
	return os.Getenv("PATH")
}
