package commandfiles

import (
	"path/filepath"
	"slices"
	"strings"
)

// packageDirectoryFlags are flags of uv and uvx whose value may be a directory with packages.
var packageDirectoryFlags = []string{"--find-links", "-f", "--index", "--default-index", "--index-url", "-i", "--extra-index-url"}

// addedPathFlags are flags of uv and uvx whose value may be the path of a package.
var addedPathFlags = []string{"--with", "-w", "--with-editable"}

// packageAt adds a package of Python that is named by its path.
func (c *codeFinder) packageAt(path string) {
	if path == "" || filepath.Base(path) == path && path != "." {
		return // the name of a package
	}
	for _, at := range c.places(path) {
		c.addRegular(at)
		if c.isDir(at) {
			c.pythonPackage(at)
		}
	}
}

// archiveSuffixes are those of packages of Python.
var archiveSuffixes = []string{".whl", ".zip", ".gz", ".bz2", ".xz", ".zst"}

// maxArchives is the number of packages in a directory up to which they are covered.
const maxArchives = 32

// shortConstraintFlags are flags of uv and uvx whose value is a file of constraints.
var shortConstraintFlags = []string{"-c", "-b"}

// uvFiles adds the file beside a script that locks what uv installs for it, and the files with
// constraints and the packages that flags of uv name.
func (c *codeFinder) uvFiles(name string, args []string) {
	own, operand := ownFlags(name, args)
	if operand != "" {
		for _, at := range c.places(operand + ".lock") {
			c.addRegular(at)
		}
	}
	for i, arg := range own {
		if file := shortValue(arg, own, i, shortConstraintFlags); file != "" {
			for _, at := range c.places(file) {
				c.addRegular(at)
			}
		}
		for _, pkg := range strings.Split(shortValue(arg, own, i, addedPathFlags), ",") {
			c.packageAt(strings.TrimPrefix(pkg, "file://"))
		}
		value := strings.TrimPrefix(shortValue(arg, own, i, packageDirectoryFlags), "file://")
		for _, at := range c.places(value) {
			if value != "" && c.isDir(at) {
				c.archives(at)
			}
		}
	}
}

// ownFlags returns the arguments of uv or uvx before those of the program that it runs, and the
// name of that.
func ownFlags(name string, args []string) (own []string, operand string) {
	operands, positions := operandsOf(name, args)
	for i, operand := range operands {
		if name == "uvx" || operand != "run" && operand != "tool" {
			return args[:positions[i]], operand
		}
	}
	return args, ""
}

// archives adds the packages of a directory, if they are few.
func (c *codeFinder) archives(dir string) {
	c.note("the packages in %s", dir)
	packages := slices.DeleteFunc(c.names(dir), func(name string) bool { return !slices.Contains(archiveSuffixes, filepath.Ext(name)) })
	if len(packages) > maxArchives {
		return
	}
	for _, name := range packages {
		c.addRegular(filepath.Join(dir, name))
	}
}
