package commandfiles

import (
	"path/filepath"
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

// addScript adds the files that an interpreter runs for a text, and reports whether there is
// one: the file itself, one with a suffix, or the main file of a directory, in each of the
// working directories.
func (c *codeFinder) addScript(in interpreter, text string) (found bool) {
	for _, at := range c.places(text) {
		if file := c.scriptFile(in, at); file != "" {
			c.add(RoleScript, file)
			found = true
		}
	}
	return found
}

// scriptFile returns the file that an interpreter runs for a path, empty if there is none.
func (c *codeFinder) scriptFile(in interpreter, at string) string {
	for _, suffix := range append([]string{""}, in.suffixes...) {
		if c.isRegular(at + suffix) {
			return at + suffix
		}
	}
	for _, main := range c.mainFiles(at) {
		if c.isRegular(main) {
			return main
		}
	}
	return ""
}

// mainFiles returns the files that interpreters run for a directory.
func (c *codeFinder) mainFiles(dir string) (files []string) {
	if manifest, ok := c.manifest(dir); ok && manifest.text("main") != "" {
		main := filepath.Join(dir, filepath.FromSlash(manifest.text("main")))
		files = append(files, main, main+".js", filepath.Join(main, "index.js"))
	}
	return append(files, filepath.Join(dir, "index.js"), filepath.Join(dir, "__main__.py"))
}
