package registry

import "encoding/json/v2"

// MaxPageBytes limits the definitions on one page of a list, in bytes as they are encoded, so
// that the page has at most 1 MiB. A page has at least one feature.
const MaxPageBytes = 1<<20 - 4<<10

// Prepare sets what the registry has to know of a feature: whether callers without its scopes see
// it, by the option HideForbidden, and the size of its definition. Put calls it; features of
// PageParams.More need it, too.
func (r *Registry) Prepare(f Feature) {
	encoded, _ := json.Marshal(f.Definition()) // on error its page fails
	f.access().hides, f.access().size = r.options.HideForbidden, len(encoded)+len(",")
}
