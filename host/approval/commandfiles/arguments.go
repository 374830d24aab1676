package commandfiles

import (
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// argumentsOf finds the files that run among the arguments of a program: by the name that is
// written, and by that of the file to which a symbolic link with that name leads. A link does not
// hide what the program is, and some programs do what the name of the link to them says.
func (c *codeFinder) argumentsOf(file string, args []string, depth int) {
	written, real := programName(file), programName(userfile.RealPath(file))
	if isKnown(written) || !isKnown(real) || dispatchers[real] {
		c.arguments(written, args, depth)
	}
	if real != written && isKnown(real) && !(isKnown(written) && multiCall[real]) {
		c.arguments(real, args, depth)
	}
}

// arguments finds the files that run among the arguments of a program with a name.
func (c *codeFinder) arguments(program string, args []string, depth int) {
	if c.err != nil {
		return
	}
	name := programName(program)
	c.directories(args)
	c.recipes(name, args)
	c.startup(name, args)
	var settings []string
	if nodeManagers[name] {
		settings = c.settings(name, args)
		args = slices.Concat(args, settings)
	}
	if configurationFiles[name] != nil || name == "node" {
		c.filesOfFlags(name, args)
	}
	if name == "uv" || name == "uvx" {
		c.uvFiles(name, args)
	}
	if name == "deno" {
		c.denoTasks(args)
	}
	if environmentRunners[name] {
		c.virtualEnvironments(name, args)
	}
	if inner, ok := wrapped(name, args); ok && depth < maxDepth {
		c.wrappedCommand(name, args, inner, depth)
		return
	}
	if slices.Contains(containerPrograms, name) {
		c.containers(name, args)
	} else {
		c.environmentFiles(name, args)
		c.commandsAmong(name, args, depth)
	}
	for i := 0; i < len(args) && c.err == nil; i++ {
		c.file(args[i])
		c.moduleOf(args[i])
	}
	if in, ok := interpreterNamed(name); ok {
		c.script(in, name, args)
	}
	c.configurations(name)
	c.packages(name, args, settings, depth)
	c.downloaded(name, args)
}

// packages adds what package managers run that is in the project.
func (c *codeFinder) packages(name string, args, settings []string, depth int) {
	if packageFlags[name] != nil {
		c.packagesByPath(name, args, depth)
		if read := c.asSystemReads(args); read != nil {
			c.packagesByPath(name, read, depth)
		}
	}
	switch {
	case nodeManagers[name]:
		c.codeOfSettings(name, settings, depth)
		c.localPackages(name, args, settings, depth)
		if !strings.HasSuffix(name, "x") { // npx and the like
			c.packageScripts(args, depth)
		}
	case name == "pipx":
		for _, arg := range args {
			c.pipxPrograms(withoutVersion(arg))
		}
	}
}

// wrappedCommand finds the files of a command that a wrapper starts.
func (c *codeFinder) wrappedCommand(name string, args, inner []string, depth int) {
	for _, arg := range args[:len(args)-min(len(inner), len(args))] {
		c.file(arg)
		c.assigned(arg)
	}
	c.environmentFiles(name, args)
	c.inner(inner[0], inner[1:], depth+1)
	c.commandsAmong(name, args, depth) // the first word may be the value of a flag
	c.configurations(name)
	if slices.Contains(installers, name) {
		c.note("the packages that %s installs before", name)
	}
	c.packages(name, args, nil, depth)
	c.downloaded(name, args) // such as "uv tool run PACKAGE"
}

// downloaded says what a program gets from elsewhere, or else that it may read other files.
func (c *codeFinder) downloaded(name string, args []string) {
	note := downloads(name, args)
	if note != "" {
		c.note("%s", note)
	}
	c.ownFiles(name, note)
}

// assigned regards a variable that a wrapper sets for its program, such as env does.
func (c *codeFinder) assigned(arg string) {
	name, value, _ := strings.Cut(arg, "=")
	c.settingAssigned(arg)
	switch {
	case !assignment.MatchString(arg):
	case isPath(name):
		c.path = strings.ReplaceAll(value, "$PATH", c.path)
	default:
		c.textOfVariable(name, value)
	}
}

// file adds the files that an argument names, as code or as data.
func (c *codeFinder) file(arg string) {
	for _, word := range fileWords(arg) {
		for _, at := range c.places(word) {
			switch {
			case !c.isRegular(at) || c.found.has(at):
			case isCode(at):
				c.add(RoleScript, at)
			case !slices.Contains(c.found.Data, at):
				c.found.Data = append(c.found.Data, at)
			}
		}
	}
}
