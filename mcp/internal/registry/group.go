package registry

import "reflect"

// Group is a set of features of one kind, with the same options, that are replaced
// together. The zero Group is empty.
type Group struct {
	members map[string]Feature // by key; guarded by the lock of the registry
}

// SetGroup replaces the members of the group by the features, in one change. It skips features
// whose key belongs to a feature outside of the group, and returns these keys. It keeps a member
// if the new definition is equal. The keys of the features must be distinct.
func (r *Registry) SetGroup(k Kind, g *Group, features []Feature) (taken []string) {
	members := make(map[string]Feature, len(features))
	for _, f := range features {
		r.Prepare(f)
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
