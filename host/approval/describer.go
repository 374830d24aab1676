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

// isOutside reports whether a file is not in the project that names it. Symbolic links are
// followed, but to no other machine.
func (d *describer) isOutside(path string) bool {
	project := d.upstream.Origin.Project
	if project == "" {
		return false
	}
	return d.checkLocal(path) != nil || !userfile.IsBelow(path, project) || !userfile.IsBelow(userfile.RealPath(path), userfile.RealPath(project))
}
