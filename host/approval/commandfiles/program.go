package commandfiles

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// command finds the files of a command with its arguments.
func (c *codeFinder) command(name string, args []string) error {
	file, err := c.lookUp(name, c.path)
	switch {
	case c.err != nil:
		return c.err
	case err != nil:
		return err
	}
	c.run(RoleProgram, file, 0)
	c.argumentsOf(file, args, 0)
	return nil
}

// lookUp returns the absolute path of the file that a command runs: a name is looked up in
// a PATH, in its absolute directories only; a path is relative to the working directory.
func (c *codeFinder) lookUp(name, path string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("it is empty")
	case filepath.Base(name) != name:
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.dir, name)
		}
		return c.executable(name)
	}
	for _, at := range filepath.SplitList(path) {
		if !filepath.IsAbs(at) {
			continue
		}
		if found, err := c.executable(filepath.Join(at, name)); err == nil {
			return found, nil
		}
	}
	if _, err := c.executable(filepath.Join(c.dir, name)); err == nil {
		return "", fmt.Errorf("it is not in the PATH; for the program in %s write %s", c.dir, filepath.Join(c.dir, name))
	}
	return "", errors.New("it is not in the PATH")
}

// inner finds the files of a command that another program starts. The program is looked up as
// the system does for a process in each of the directories.
func (c *codeFinder) inner(name string, args []string, depth int) {
	programs := c.lookUpInner(name)
	for _, file := range programs {
		c.run(RoleInterpreter, file, depth)
	}
	for _, at := range c.places(name) { // such as a script for "uv run"
		if c.isRegular(at) {
			c.run(RoleScript, at, depth)
		}
	}
	if len(programs) == 0 {
		if c.guesses == 0 {
			c.note("the program %s, which is not there", name)
		}
		c.arguments(name, args, depth)
		return
	}
	for _, file := range programs {
		c.argumentsOf(file, args, depth)
	}
}

// lookUpInner returns the files that a name or path can lead to in another process: several
// if that depends on its working directory, none if there is none.
func (c *codeFinder) lookUpInner(name string) (found []string) {
	add := func(at string) bool {
		file, err := c.executable(at)
		if err == nil && !slices.Contains(found, file) {
			found = append(found, file)
		}
		return err == nil
	}
	if name == "" || filepath.Base(name) != name {
		for _, at := range c.places(name) {
			add(at)
		}
		return found
	}
	for _, dir := range filepath.SplitList(c.path) {
		isThere := false
		for _, base := range c.bases {
			for _, at := range c.readings(dir, base) {
				isThere = add(filepath.Join(at, name)) || isThere
			}
		}
		if isThere && (filepath.IsAbs(dir) || len(c.bases) == 1) {
			break
		}
	}
	return found
}

// run adds a file that is executed, the files that its first line names, and the program
// behind it if it is a shim.
func (c *codeFinder) run(role Role, file string, depth int) {
	if c.found.has(file) {
		return
	}
	c.add(role, file)
	if c.err != nil {
		return
	}
	c.environmentOf(file)
	if real := c.behindShim(file); real != "" {
		c.run(RoleInterpreter, real, depth+1)
	}
	words := shebang(file)
	if len(words) == 0 || depth >= maxDepth {
		return
	}
	interpreters := c.lookUpInner(words[0])
	if len(interpreters) == 0 {
		c.note("the interpreter %s of %s, which is not there", words[0], file)
	}
	for _, interpreter := range interpreters {
		c.run(RoleInterpreter, interpreter, depth+1)
		if filepath.Base(filepath.Dir(file)) != "shims" {
			c.note("modules that the script imports")
		}
		if len(words) > 1 {
			c.argumentsOf(interpreter, append(words[1:], file), depth+1)
		}
	}
}
