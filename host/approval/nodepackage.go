package approval

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// nodeManagers are programs that run a package of the project in place of one that they would
// download: from node_modules of the working directory or one above it, or the project itself.
var nodeManagers = map[string]bool{"npx": true, "npm": true, "pnpm": true, "pnpx": true, "yarn": true, "bun": true, "bunx": true, "deno": true}

// foundFirst are programs that packages start by name. The directories node_modules/.bin come
// before PATH then.
var foundFirst = []string{"node", "sh", "bash", "env", "npm", "npx", "git", "python", "python3"}

// maxManifest is the size of a package.json up to which it is read.
const maxManifest = 4 << 20

// manifest has the members of a package.json.
type manifest map[string]jsontext.Value

// lenient are the options of JavaScript, so that what it accepts is no reason to find nothing.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// manifest reads the package.json of a directory.
func (c *codeFinder) manifest(dir string) (m manifest, ok bool) {
	text := bytes.TrimPrefix(c.start(filepath.Join(dir, "package.json"), maxManifest), []byte("\ufeff"))
	return m, json.Unmarshal(text, &m, lenient) == nil
}

// text returns a member that is a string.
func (m manifest) text(name string) (text string) {
	_ = json.Unmarshal(m[name], &text, lenient)
	return text
}

// texts returns the strings of a member that is an object.
func (m manifest) texts(name string) map[string]string {
	var members manifest
	_ = json.Unmarshal(m[name], &members, lenient)
	texts := make(map[string]string)
	for name := range members {
		if text := members.text(name); text != "" {
			texts[name] = text
		}
	}
	return texts
}

// programs returns the programs of a package by their names.
func (m manifest) programs() map[string]string {
	if single := m.text("bin"); single != "" {
		return map[string]string{path.Base(m.text("name")): single}
	}
	return m.texts("bin")
}

// localPackages adds the programs of the packages among the arguments that are in the project,
// which run instead of packages that are downloaded.
func (c *codeFinder) localPackages(args []string, depth int) {
	var names []string
	for _, arg := range args {
		for _, word := range fileWords(arg) {
			name := withoutVersion(word)
			if filepath.IsLocal(name) && filepath.Clean(name) != "." && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, dir := range c.searched() {
		if c.hasProgramOf(dir, names) {
			c.nodePackage(dir, depth)
		}
		modules := filepath.Join(dir, "node_modules")
		if !c.isDir(modules) {
			continue
		}
		c.linkedPrograms(modules, slices.Concat(foundFirst, names), depth)
		for _, name := range names {
			c.nodePackage(filepath.Join(modules, filepath.FromSlash(name)), depth)
		}
	}
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
		if !afterFlag && !slices.Contains(packageVerbs, args[i]) {
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
				c.pythonPackage(at)
			}
		}
	}
}

// packageVerbs are operands before the one that names a package.
var packageVerbs = []string{"exec", "x", "dlx", "run", "tool", "create", "init"}

// packageSwitches are common flags without a value.
var packageSwitches = []string{"-y", "--yes", "-q", "--quiet", "--silent", "--offline", "--no-cache", "--isolated", "--bun", "-A", "--"}

// packageScripts adds the files that scripts of package.json run if arguments name the scripts.
func (c *codeFinder) packageScripts(args []string, depth int) {
	for _, dir := range c.searched() {
		m, ok := c.manifest(dir)
		if !ok {
			continue
		}
		scripts := m.texts("scripts")
		for _, arg := range args {
			for _, name := range []string{"pre" + arg, arg, "post" + arg} {
				if code := scripts[name]; code != "" {
					c.directory(dir)
					c.shellCode(c.splitCode(code), depth)
					c.file(code)
				}
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
	programs := m.programs()
	return !ok || slices.ContainsFunc(names, func(name string) bool { return programs[name] != "" || name == m.text("name") })
}

// nodePackage adds what decides which program of a package runs, and the programs. Their
// appearing, vanishing or changing needs approval.
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
	programs := m.programs()
	for _, file := range slices.Sorted(maps.Values(programs)) {
		c.packageProgram(dir, file, depth)
	}
	if bin := m.texts("directories")["bin"]; bin != "" {
		for _, name := range c.names(filepath.Join(dir, filepath.FromSlash(bin))) {
			c.packageProgram(dir, path.Join(bin, name), depth)
		}
	}
	if parent := filepath.Dir(dir); filepath.Base(parent) == "node_modules" {
		c.linkedPrograms(parent, slices.Sorted(maps.Keys(programs)), depth)
	}
}

func (c *codeFinder) packageProgram(dir, file string, depth int) {
	if at := filepath.Join(dir, filepath.FromSlash(file)); c.isRegular(at) {
		c.run(RoleScript, at, depth+1)
	}
}

// linkedPrograms adds the programs of some names in node_modules/.bin.
func (c *codeFinder) linkedPrograms(modules string, names []string, depth int) {
	bin := filepath.Join(modules, ".bin")
	if !c.isDir(bin) {
		return
	}
	c.note("other programs in %s that are started by name", bin)
	for _, name := range names {
		at := filepath.Join(bin, path.Base(name))
		if found, err := c.executable(at); err == nil {
			at = found
		}
		if c.isRegular(at) {
			c.run(RoleScript, at, depth+1)
		}
	}
}
