package commandfiles

import (
	"slices"
	"strings"
)

// script finds the script that an interpreter runs, and says if there is none.
func (c *codeFinder) script(in interpreter, name string, args []string) {
	found := false
	for i, arg := range args {
		switch {
		case c.err != nil:
			return
		case slices.Contains(in.code, arg):
			c.note("the programs and modules that the code after %s runs", arg)
			return
		case name == "node" && (arg == "--run" || strings.HasPrefix(arg, "--run=")):
			c.packageScript(argumentOf(arg, args, i, "--run"))
			return
		case arg == in.module && in.module != "" && i+1 < len(args):
			c.module(args[i+1])
			if slices.Contains(runningModules, args[i+1]) {
				c.script(in, name, args[i+2:])
			}
			return
		case strings.HasPrefix(arg, "-"):
			if value := valueInWord(name, arg); value != "" {
				c.addScript(in, value)
			}
			continue
		case strings.HasPrefix(arg, "@"): // a file with arguments
			c.addScript(in, arg[1:])
		}
		definite := !slices.Contains(in.commands, arg) && (i == 0 || !strings.HasPrefix(args[i-1], "-") || isSwitch(in, args[i-1]))
		if c.addScript(in, arg) {
			found = true
			if manager := managerOfScript(arg); manager != "" && name == "node" && i+1 < len(args) {
				c.arguments(manager, args[i+1:], 1)
			}
			if definite {
				break
			}
		}
	}
	switch {
	case !found && c.guesses > 0:
		return
	case !found:
		c.note("what %s runs, because its arguments name no file that is there", name)
		return
	}
	c.note("modules that the script imports")
}

// packageScript adds what "node --run" runs: a script of the nearest package.json.
func (c *codeFinder) packageScript(name string) {
	c.configurations("npm")
	c.packageScripts([]string{name}, 0)
	c.note("the script %s of package.json and what it runs", name)
}

// runningModules are modules of Python that run the script among their arguments.
var runningModules = []string{"pdb", "debugpy", "runpy", "trace", "profile", "cProfile", "coverage", "viztracer", "memory_profiler", "scalene"}

// valueInWord returns the value of a flag in the same word: --require=FILE or -rFILE. The
// properties of Java programs are no such flags.
func valueInWord(name, arg string) string {
	if _, value, ok := strings.Cut(arg, "="); ok {
		if name == "java" && strings.HasPrefix(arg, "-D") {
			return ""
		}
		return strings.TrimPrefix(value, "file://")
	}
	if len(arg) > 2 && arg[1] != '-' {
		return arg[2:]
	}
	return ""
}
