package commandfiles

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// nodeManagers are programs that run a package of the project in place of one that they would
// download: from node_modules of the working directory or one above it, or the project itself.
var nodeManagers = map[string]bool{"npx": true, "npm": true, "pnpm": true, "pnpx": true, "yarn": true, "bun": true, "bunx": true, "deno": true, "run-s": true, "run-p": true, "npm-run-all": true, "nr": true}

// foundFirst are programs that packages start by name. The directories node_modules/.bin come
// before PATH then.
var foundFirst = []string{"node", "sh", "bash", "env", "npm", "npx", "git", "python", "python3"}

// localPackages adds the programs of the packages among the arguments that are in the project,
// which run instead of packages that are downloaded.
func (c *codeFinder) localPackages(name string, args, settings []string, depth int) {
	words := nodePackages(name, args)
	names := namesOf(words)
	for _, word := range words {
		if (name == "npx" || name == "npm") && isFromElsewhere(word) {
			c.note("a package in node_modules that says that it is from %s, which %s runs instead of one that it downloads", word, name)
		}
	}
	for _, dir := range c.searched() {
		if c.hasProgramOf(dir, names) {
			c.nodePackage(dir, depth)
			c.programsOf(dir, depth)
		}
		c.installedPackages(filepath.Join(dir, "node_modules"), names, depth)
	}
	c.ownCaches(settings, names, depth)
}

// installedPackages adds the packages and programs of some names in a directory node_modules.
func (c *codeFinder) installedPackages(modules string, names []string, depth int) {
	c.programsIn(filepath.Join(modules, ".bin"), slices.Concat(foundFirst, names), depth)
	for _, name := range names {
		c.nodePackage(filepath.Join(modules, filepath.FromSlash(name)), depth)
	}
	c.installedAs(modules, names, depth)
}

// isFromElsewhere reports whether a package is named by the place of its repository or archive,
// so that its name is not known.
func isFromElsewhere(word string) bool {
	word = strings.TrimPrefix(word, "git+")
	before, _, isPlace := strings.Cut(word, ":")
	if isPlace && before != "file" && before != "npm" && !strings.Contains(before, "@npm") && len(before) > 1 {
		return true
	}
	owner, rest, isHosted := strings.Cut(word, "/")
	return isHosted && rest != "" && strings.IndexAny(owner, "@.~") != 0 && owner != "" && !strings.HasPrefix(owner, "file:")
}

// packagesByPath adds the packages that the arguments of a program name by the path of a
// directory or an archive.
func (c *codeFinder) packagesByPath(name string, args []string, depth int) {
	places := make([]string, 0, len(args))
	for i, arg := range args {
		places = append(places, argumentOf(arg, args, i, append([]string{"--from", "--with-editable"}, packageFlags[name]...)...))
	}
	_, positions := operandsOf(name, args)
	for _, i := range positions {
		place := args[i]
		if rest, ok := strings.CutPrefix(place, "file:"); ok {
			place = absolute(strings.TrimPrefix(rest, "//"), c.dir)
		}
		places = append(places, place)
		afterFlag := i > 0 && strings.HasPrefix(args[i-1], "-") && !slices.Contains(packageSwitches, args[i-1]) // whose value it may be
		if !afterFlag && !isPackageVerb(args[i]) {
			break // further operands are those of the package
		}
	}
	for _, place := range places {
		if place == "" || filepath.Base(place) == place && place != "." && place != ".." {
			continue // the name of a package
		}
		for _, base := range c.bases {
			switch at := c.expanded(place, base); {
			case c.isRegular(at):
				c.add(RoleScript, at)
			case c.isDir(at):
				c.nodePackage(at, depth)
				c.lifecycle(at, depth)
				c.pythonPackage(at)
			}
		}
	}
}

// hasProgramOf reports whether the package of a directory has a program of one of the names,
// or cannot be read.
func (c *codeFinder) hasProgramOf(dir string, names []string) bool {
	if !c.isRegular(filepath.Join(dir, "package.json")) {
		return false
	}
	m, ok := c.manifest(dir)
	programs := c.programs(dir, m)
	return !ok || slices.ContainsFunc(names, func(name string) bool { return programs[name] != "" || name == m.name() })
}

// nodePackage adds what decides which program of a package runs, and the programs. Their
// appearing, vanishing or changing changes what is found.
func (c *codeFinder) nodePackage(dir string, depth int) {
	if !c.isDir(dir) {
		return
	}
	c.note("the modules of the package in %s, which is run instead of one that is downloaded", dir)
	if at := filepath.Join(dir, "package.json"); c.isRegular(at) {
		c.add(RoleScript, at)
	}
	m, ok := c.manifest(dir)
	if !ok {
		return
	}
	programs := c.programs(dir, m)
	for _, file := range sortedFiles(programs) {
		c.packageProgram(dir, file, depth)
	}
	if parent := filepath.Dir(dir); filepath.Base(parent) == "node_modules" {
		c.programsIn(filepath.Join(parent, ".bin"), slices.Sorted(maps.Keys(programs)), depth)
	}
}

func (c *codeFinder) packageProgram(dir, file string, depth int) {
	if at := filepath.Join(dir, filepath.FromSlash(file)); c.isRegular(at) {
		c.run(RoleScript, at, depth+1)
	}
}

// programsIn adds the programs of some names in a directory such as node_modules/.bin.
func (c *codeFinder) programsIn(bin string, names []string, depth int) {
	if !c.isDir(bin) {
		return
	}
	c.note("other programs in %s that are started by name", bin)
	for _, name := range names {
		for _, at := range []string{filepath.Join(bin, path.Base(name)), filepath.Join(bin, filepath.FromSlash(name))} {
			if found, err := c.executable(at); err == nil {
				at = found
			}
			if c.isRegular(at) {
				c.run(RoleScript, at, depth+1)
			}
		}
	}
}
