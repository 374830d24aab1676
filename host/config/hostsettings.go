package config

import (
	"fmt"
	"maps"
	"slices"
)

// hostMember is the member beside the servers with the settings of the host itself. It has an
// effect only in the user's own file: the file of a project cannot weaken what the user
// decides.
const hostMember = "fondaco"

// hostReaders parse the members of the settings of the host.
var hostReaders = map[string]func(*file, value){
	"audit":   func(f *file, v value) { f.auditSettings(v) },
	"consent": func(f *file, v value) { f.consentSettings(v) },
}

// loadHostSettings returns one member of the settings of the host in the user's own file, at
// DefaultPath. It is zero if there is none.
func loadHostSettings[Settings any](env Env, name string, read func(*file, value) Settings) (settings Settings, err error) {
	path := Find(env)
	if path == "" {
		return settings, nil
	}
	f, err := open(path, "")
	if err != nil {
		return settings, fmt.Errorf("configuration: %w", err)
	}
	if f.root == nil {
		return settings, Join(f.errors)
	}
	before := len(f.errors)
	if at, ok := (value{node: f.root}).find([]string{hostMember, name}); ok {
		settings = read(f, at)
	}
	return settings, Join(f.errors[before:])
}

// checkHostSettings reports errors in the settings of the host, and that they have no effect
// in another file than the user's own.
func (f *file) checkHostSettings(env Env) {
	if f.root == nil {
		return
	}
	at, ok := value{node: f.root}.find([]string{hostMember})
	switch {
	case !ok:
		return
	case f.absolute != DefaultPath(env):
		f.addWarning(at, "has no effect: the host reads its own settings from the user's file only, %s", DefaultPath(env))
		return
	case !f.requireKind(at, kindObject):
		return
	}
	f.each(at, func(m member, v value) {
		if read := hostReaders[m.name]; read != nil {
			read(f, v)
			return
		}
		known := slices.Sorted(maps.Keys(hostReaders))
		f.addError(at.named(m), "found %q, want %s%s", m.name, oneOf(known), suggest(m.name, known))
	})
}
