package commandfiles

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// textOfVariable adds the files that are code among those that a variable names.
func (c *codeFinder) textOfVariable(name, value string) {
	if isPath(name) || len(value) > maxVariable {
		return
	}
	suffixes := []string{""}
	loads := LoadsFiles(name)
	if loads {
		suffixes = loadedSuffixes
	}
	if slices.Contains(moduleVariables, strings.ToUpper(name)) {
		c.note("the modules in the directories of %s", name)
	}
	if isPythonPath := strings.EqualFold(name, "PYTHONPATH"); isPythonPath && value != "" && slices.Contains(filepath.SplitList(value), "") {
		for _, base := range c.bases { // an empty element is the working directory
			c.directoryOfVariable(name, base)
		}
	}
	words := fileWords(value)
	for _, word := range words {
		if rest, ok := strings.CutPrefix(word, "@"); ok && loads { // of Java and Lua
			words = append(words, rest)
		}
	}
	for _, word := range words {
		for _, place := range c.places(word) {
			if loads {
				c.directoryOfVariable(name, place)
			}
			for _, suffix := range suffixes {
				if at := place + suffix; c.isRegular(at) && (loads || isCode(at) || c.choosesPrograms(name, at)) {
					c.add(RoleScript, at)
				}
			}
		}
	}
}

// directoryOfVariable adds what interpreters load of a directory that a variable names without
// being told to.
func (c *codeFinder) directoryOfVariable(name, dir string) {
	if !c.isDir(dir) {
		return
	}
	c.note("the files in %s, which %s names", dir, name)
	if strings.HasPrefix(strings.ToUpper(name), "PYTHON") {
		c.startModules(dir)
		return
	}
	if name == "ZDOTDIR" {
		for _, file := range []string{".zshenv", ".zprofile", ".zshrc", ".zlogin"} {
			c.addRegular(filepath.Join(dir, file))
		}
	}
	for _, file := range c.mainFiles(dir) {
		c.addRegular(file)
	}
}

// moduleVariables name directories of which programs load what they need.
var moduleVariables = []string{
	"PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "NODE_PATH", "RUBYLIB", "GEM_PATH", "GEM_HOME", "PERL5LIB", "PERLLIB", "CLASSPATH", "LUA_PATH", "LUA_CPATH",
	"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH",
}

// isPath reports whether a variable has the directories of programs.
func isPath(name string) bool {
	return name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH")
}

// loadedSuffixes are those that interpreters add to the name of a file to load.
var loadedSuffixes = []string{"", ".js", ".cjs", ".mjs", ".ts", ".json", ".node", ".rb", ".pl", ".pm", ".py", ".lua"}

// choosesPrograms reports whether a file that a variable names has settings with which programs
// start others. A login writes into those of the user, so that only those of a project are covered.
func (c *codeFinder) choosesPrograms(name, at string) bool {
	return c.project != "" && userfile.IsBelow(at, c.project) && slices.Contains(choosingVariables, name)
}

var choosingVariables = []string{"KUBECONFIG", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}
