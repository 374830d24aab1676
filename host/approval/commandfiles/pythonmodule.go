package commandfiles

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// startModules are the modules that Python loads at each start, from a directory of PYTHONPATH
// rather than from its library.
var startModules = []string{
	"sitecustomize", "usercustomize", "encodings", "codecs", "io", "abc", "site", "os", "stat", "posixpath", "ntpath", "genericpath", "_collections_abc", "_sitebuiltins",
}

// moduleFile matches the suffixes of the files of a module: source, compiled, and a library.
var moduleFile = regexp.MustCompile(`^(\.pyw?|\.pyc|(\..*)?\.(so|pyd))$`)

// startModules adds the modules of a directory that Python loads without being told to.
func (c *codeFinder) startModules(dir string) {
	names := c.names(dir)
	for _, module := range startModules {
		c.pythonModule(dir, module, names)
	}
}

// pythonModule adds the files of a module in a directory, of which the names are given: the
// module itself, or the files by which its package starts.
func (c *codeFinder) pythonModule(dir, module string, names []string) {
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, module)
		switch {
		case !ok:
		case rest == "":
			at := filepath.Join(dir, name)
			within := c.names(at)
			for _, start := range []string{"__init__", "__main__"} {
				if module != start {
					c.pythonModule(at, start, within)
				}
			}
		case moduleFile.MatchString(rest):
			c.addRegular(filepath.Join(dir, name))
		}
	}
}

// moduleAttribute matches an object of a module of Python, which servers such as uvicorn load.
var moduleAttribute = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.]*):[A-Za-z_][A-Za-z0-9_.()]*$`)

// moduleOf adds the file of a module if an argument names an object in one of the project.
func (c *codeFinder) moduleOf(arg string) {
	match := moduleAttribute.FindStringSubmatch(arg)
	if match == nil {
		return
	}
	for _, at := range c.places(strings.ReplaceAll(match[1], ".", "/")) {
		c.addRegular(at + ".py")
		c.addRegular(filepath.Join(at, "__init__.py"))
	}
}

// module adds the files of a Python module in a working directory, and those by which the
// packages that it is in start.
func (c *codeFinder) module(name string) {
	parts := strings.Split(name, ".")
	for _, dir := range slices.Clone(c.bases) {
		for _, part := range parts[:min(len(parts), maxBases)] {
			if part == "" || filepath.Base(part) != part {
				break
			}
			c.pythonModule(dir, part, c.names(dir))
			dir = filepath.Join(dir, part)
		}
	}
	c.note("the module %s and what it imports", name)
}
