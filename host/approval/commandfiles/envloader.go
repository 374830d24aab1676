package commandfiles

import (
	"path/filepath"
	"slices"
	"strings"
)

// environmentFlags are the flags of programs in front of another command whose value may be a file
// with variables for it, such as NODE_OPTIONS.
var environmentFlags = []string{"--env-file", "--env-file-if-exists", "--env-files", "--envfile", "--env", "--file", "-e", "-f"}

// maxVariableFiles is the number of files with variables in a directory up to which they are covered.
const maxVariableFiles = 64

// environmentFiles adds the files with variables that a program loads for the command behind its
// own flags.
func (c *codeFinder) environmentFiles(name string, args []string) {
	own := c.beforeCommand(args)
	if _, isInterpreter := interpreterNamed(name); isInterpreter || plainPrograms[name] || len(own) == len(args) && !environmentLoaders[name] {
		return
	}
	for i, arg := range own {
		for _, value := range strings.Split(shortValue(arg, args, i, environmentFlags), ",") {
			if !environmentLoaders[name] && isWritten(value) {
				continue
			}
			for _, at := range c.places(value) {
				c.addRegular(at)
			}
		}
	}
	if name != "envdir" && name != "chpst" && name != "sops" {
		return
	}
	for _, arg := range own { // whose operands name files
		for _, at := range c.places(arg) {
			c.addRegular(at)
			c.variablesIn(at)
		}
	}
}

// variablesIn adds the files of a directory, each of which has the value of a variable.
func (c *codeFinder) variablesIn(dir string) {
	names := c.names(dir)
	if len(names) > maxVariableFiles {
		c.note("the variables in %s", dir)
		return
	}
	for _, name := range names {
		c.addRegular(filepath.Join(dir, name))
	}
}

// beforeCommand returns the arguments in front of the command that a program may start: all, if
// there is none among them.
func (c *codeFinder) beforeCommand(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i]
	}
	for i, arg := range args {
		if i > 0 && slices.Contains(environmentFlags, args[i-1]) { // a file may have the name of a program
			continue
		}
		if c.startsPrograms(arg) || i > 0 && codeFlag.MatchString(args[i-1]) {
			return args[:i]
		}
	}
	return args
}

// environmentLoaders are programs that load variables for another command.
var environmentLoaders = map[string]bool{"dotenv": true, "dotenvx": true, "env-cmd": true, "envdir": true, "foreman": true, "honcho": true, "op": true, "sops": true}
