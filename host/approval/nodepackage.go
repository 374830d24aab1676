package approval

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"path"
	"path/filepath"
	"slices"
)

// nodeManagers are programs that run a package of the project in place of one that they would
// download: from node_modules of the working directory or one above it, or the project itself.
var nodeManagers = map[string]bool{"npx": true, "npm": true, "pnpm": true, "pnpx": true, "yarn": true, "bun": true, "bunx": true, "deno": true}

// foundFirst are programs that packages start by name. The directories node_modules/.bin come
// before PATH then.
var foundFirst = []string{"node", "sh", "bash", "env", "npm", "npx", "git", "python", "python3"}

// maxManifest is the size of a package.json up to which it is read.
const maxManifest = 4 << 20

// manifest is what a package.json says about what runs.
type manifest struct {
	Name        string         `json:"name"`
	Main        string         `json:"main"`
	Bin         jsontext.Value `json:"bin"`
	Directories struct {
		Bin string `json:"bin"`
	} `json:"directories"`
}

// manifest reads the package.json of a directory. Node.js accepts members that occur twice, so
// that this is no reason to find nothing here.
func (c *codeFinder) manifest(dir string) (m manifest, ok bool) {
	text := bytes.TrimPrefix(c.start(filepath.Join(dir, "package.json"), maxManifest), []byte("\ufeff"))
	err := json.Unmarshal(text, &m, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return m, err == nil
}

// programs returns the programs of a package by their names.
func (m manifest) programs() map[string]string {
	lenient := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	programs, single := make(map[string]string), ""
	if json.Unmarshal(m.Bin, &single, lenient) == nil {
		programs[path.Base(m.Name)] = single
	} else if json.Unmarshal(m.Bin, &programs, lenient) != nil {
		return nil
	}
	return programs
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

// hasProgramOf reports whether the package of a directory has a program of one of the names,
// or cannot be read.
func (c *codeFinder) hasProgramOf(dir string, names []string) bool {
	if !c.isRegular(filepath.Join(dir, "package.json")) {
		return false
	}
	m, ok := c.manifest(dir)
	programs := m.programs()
	return !ok || slices.ContainsFunc(names, func(name string) bool { return programs[name] != "" || name == m.Name })
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
	if bin := m.Directories.Bin; bin != "" {
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
