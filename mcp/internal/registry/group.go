package registry

import "reflect"

// Group is a set of features of one kind, with the same options, that are replaced
// together. The zero Group is empty.
type Group struct {
	members map[string]Feature // by key; guarded by the lock of the registry
}

// SetGroup makes the features the members of the group, in one change, and returns the
// keys of those that it leaves out because features outside of the group have them. A
// member whose definition stays equal is kept. Each of the features has another key.
func (r *Registry) SetGroup(k Kind, g *Group, features []Feature) (taken []string) {
	members := make(map[string]Feature, len(features))
	for _, f := range features {
		f.access().hides = r.options.HideForbidden
		members[f.Key()] = f
	}
	r.update(k, func() (seen []Feature, ok bool) {
		for key, old := range g.members {
			if members[key] == nil && r.features[k][key] == old {
				removed, _ := r.dropLocked(k, key)
				seen = append(seen, removed...)
			}
		}
		for _, f := range features {
			key := f.Key()
			old, now := g.members[key], r.features[k][key]
			switch {
			case now != nil && now != old:
				taken = append(taken, key)
				delete(members, key)
			case now != nil && reflect.DeepEqual(now.Definition(), f.Definition()):
				members[key] = now
			default:
				seen = append(seen, r.placeLocked(k, f)...)
			}
		}
		g.members = members
		return seen, true
	})
	return taken
}
