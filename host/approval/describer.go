package approval

import (
	"maps"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
)

// A describer describes one upstream as it would be started or connected to now.
type describer struct {
	upstream *host.Upstream
	key      []byte // of digests of texts that may be secrets
	home     string // of the user; empty if there is none
	// checkLocal returns an error for a path on another machine that a project names.
	checkLocal func(path string) error
}

// variables describes texts by their names.
func (d *describer) variables(texts map[string]host.Text) (all []Variable) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, describeText(name, texts[name], d.key))
	}
	return all
}

// roots describes the roots of the configuration. No link to another machine is followed.
func (d *describer) roots(paths []string) (all []Root) {
	for _, path := range paths {
		root := Root{Path: path}
		if d.checkLocal(path) == nil {
			if target := userfile.ResolveLinks(path); target != path {
				root.Target = target
			}
		}
		all = append(all, root)
	}
	return all
}

// outsideRoots names the roots that a project gives to its server and that are not in the project.
func (d *describer) outsideRoots() (concerns []string) {
	for _, path := range d.upstream.Settings.Roots {
		if d.isOutside(path) {
			concerns = append(concerns, host.EscapeUnprintable("the directory "+path+", which the server gets as a root, is outside of the project"))
		}
	}
	return concerns
}

// isOutside reports whether a file is not in the project that names it. Symbolic links are
// followed, but to no other machine.
func (d *describer) isOutside(path string) bool {
	project := d.upstream.Origin.Project
	if project == "" {
		return false
	}
	return d.checkLocal(path) != nil || !userfile.IsBelow(path, project) || !userfile.IsBelow(userfile.ResolveLinks(path), userfile.RealPath(project))
}
