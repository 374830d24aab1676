package commandfiles

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// nodeTree has the installed packages that were searched for. npm finds a package by the name
// in its package.json, wherever below node_modules or in a workspace it is.
type nodeTree struct {
	packages []installedPackage
	seen     map[string]bool // directories, and targets of links
	queue    []string        // directories node_modules that are to be listed
	// workspaces are the directories of workspaces by that of their project.
	workspaces map[string][]string
	assigned   []string        // variables with settings that a command sets
	scripts    map[string]bool // code of scripts that was regarded, with where
}

// installedPackage is a package below node_modules, or a workspace.
type installedPackage struct {
	dir  string
	name string // in its package.json, which is empty if there is none
	// isUnread is set if there is a package.json that cannot be read, which may have any name.
	isUnread bool
}

// installedAs adds the packages that have one of the names and that npm finds for a directory
// node_modules, also those in directories with another name.
func (c *codeFinder) installedAs(modules string, names []string, depth int) {
	for _, p := range c.installed(modules) {
		if !p.isUnread && !slices.Contains(names, p.name) {
			continue
		}
		c.nodePackage(p.dir, depth)
		c.programsOf(p.dir, depth)
		m, _ := c.manifest(p.dir)
		c.programsIn(filepath.Join(modules, ".bin"), slices.Sorted(maps.Keys(c.programs(p.dir, m))), depth)
	}
	c.hiddenLock(modules, names, depth)
}

// installed returns the packages in a directory node_modules, the workspaces beside it, the
// packages in theirs, and those in and above what symbolic links lead to, where npm searches for
// the packages that they need. Those of directories that were searched before are among them.
func (c *codeFinder) installed(modules string) []installedPackage {
	t := &c.tree
	if t.seen == nil {
		t.seen = make(map[string]bool)
	}
	for _, dir := range c.workspacesOf(filepath.Dir(modules)) {
		c.addInstalled(dir, userfile.RealPath(dir))
	}
	t.queue = append(t.queue, modules)
	for len(t.queue) > 0 && c.err == nil {
		next := t.queue[0]
		t.queue = t.queue[1:]
		if info, err := os.Lstat(next); err != nil || !c.mayLookAt(next) {
			continue
		} else if info.Mode()&os.ModeSymlink != 0 || next == modules {
			next = userfile.RealPath(next)
		}
		if !t.seen[next] {
			t.seen[next] = true
			c.listInstalled(next, true)
		}
	}
	if c.lookups > maxLookups {
		c.err = fmt.Errorf("more than %d files were searched for with the packages in %s; start the server in another working directory", maxLookups, modules)
	}
	return t.packages
}

// listInstalled adds the packages of a directory. In node_modules are directories of scopes, too.
func (c *codeFinder) listInstalled(dir string, hasScopes bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		at := filepath.Join(dir, entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), "."):
		case entry.Type()&os.ModeSymlink != 0:
			c.linkInstalled(at, hasScopes)
		case !entry.IsDir():
		case hasScopes && strings.HasPrefix(entry.Name(), "@"):
			c.listInstalled(at, false)
		default:
			c.addInstalled(at, at)
		}
	}
}

// linkInstalled adds what a symbolic link in node_modules leads to: a package, or the packages of a
// scope.
func (c *codeFinder) linkInstalled(at string, hasScopes bool) {
	target, err := os.Readlink(at)
	if err != nil {
		return
	}
	isScope := hasScopes && strings.HasPrefix(filepath.Base(at), "@")
	target = absolute(target, filepath.Dir(at))
	if c.tree.seen[target] && !isScope || !c.mayLookAt(at) {
		return
	}
	c.tree.seen[target] = true
	real := userfile.RealPath(at)
	if isScope {
		c.listInstalled(real, false)
		return
	}
	c.addInstalled(at, real)
	for above := filepath.Dir(real); ; above = filepath.Dir(above) {
		c.tree.queue = append(c.tree.queue, filepath.Join(above, "node_modules"))
		if above == filepath.Dir(above) {
			return
		}
	}
}

// addInstalled adds a package once, and lists its own packages later.
func (c *codeFinder) addInstalled(dir, real string) {
	key := real + "/" // as a package
	if c.tree.seen[key] || !c.mayLookAt(filepath.Join(dir, "package.json")) {
		return
	}
	c.tree.seen[key] = true
	p := installedPackage{dir: dir}
	p.name, p.isUnread = nameOfPackage(filepath.Join(real, "package.json"))
	c.tree.packages = append(c.tree.packages, p)
	c.tree.queue = append(c.tree.queue, filepath.Join(real, "node_modules"))
}

// nameOfPackage returns the name in a package.json.
func nameOfPackage(file string) (name string, isUnread bool) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	var members struct {
		Name jsontext.Value `json:"name"`
	}
	text := bytes.TrimPrefix(firstBytes(file, maxManifest), []byte("\ufeff"))
	if json.Unmarshal(text, &members, lenient) != nil {
		return "", true
	}
	return manifest{"name": members.Name}.name(), false
}

// programsOf adds the programs that npm starts by the names that the package in a directory
// gives to its programs. It looks for them in all directories node_modules/.bin.
func (c *codeFinder) programsOf(dir string, depth int) {
	m, _ := c.manifest(dir)
	names := slices.Sorted(maps.Keys(c.programs(dir, m)))
	for _, above := range c.searched() {
		c.programsIn(filepath.Join(above, "node_modules", ".bin"), names, depth)
	}
}

// maxLock is the size of the list of installed packages in bytes up to which it is read.
const maxLock = 64 << 20

// hiddenLock regards the list of what is installed, which npm reads in place of the packages.
// The list is covered if it says something else about a package of one of the names than its
// package.json.
func (c *codeFinder) hiddenLock(modules string, names []string, depth int) {
	at := filepath.Join(modules, ".package-lock.json")
	text := c.start(at, maxLock+1)
	if len(text) > maxLock && c.err == nil {
		c.err = fmt.Errorf("%s has more than %d bytes", at, maxLock)
	}
	var lock struct {
		Packages map[string]lockedPackage `json:"packages"`
	}
	if len(text) == 0 || json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &lock, lenient) != nil {
		return
	}
	for _, place := range slices.Sorted(maps.Keys(lock.Packages)) {
		locked := manifest{"name": lock.Packages[place].Name, "bin": lock.Packages[place].Bin}
		name := locked.name()
		if name == "" {
			name = nameOfPlace(place)
		}
		if place == "" || !slices.Contains(names, name) {
			continue
		}
		dir := filepath.Join(filepath.Dir(modules), filepath.FromSlash(place))
		m, _ := c.manifest(dir)
		if m.name() != name || !containsKeys(c.programs(dir, m), locked.programs()) {
			c.add(RoleScript, at)
		}
		c.nodePackage(dir, depth)
	}
}

// lockedPackage is what a list of installed packages says about one.
type lockedPackage struct {
	Name jsontext.Value `json:"name"`
	Bin  jsontext.Value `json:"bin"`
}

// nameOfPlace returns the name that a directory in node_modules gives its package.
func nameOfPlace(place string) string {
	if scope := path.Base(path.Dir(place)); strings.HasPrefix(scope, "@") {
		return scope + "/" + path.Base(place)
	}
	return path.Base(place)
}

func containsKeys(all, some map[string]string) bool {
	for name := range some {
		if _, ok := all[name]; !ok {
			return false
		}
	}
	return true
}
