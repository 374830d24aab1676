package gateway

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// offer is a feature as clients see it, and where it comes from.
type offer[Def any] struct {
	from *upstream
	name string // that the upstream knows it by
	def  Def
	// verdict says whether calls of a tool need consent.
	verdict host.Verdict
}

// offers are features by the key that clients know them by: a wire name, a URI,
// a URI template.
type offers struct {
	tools     map[string]offer[mcp.Tool]
	resources map[string]offer[mcp.Resource]
	templates map[string]offer[mcp.ResourceTemplate]
	prompts   map[string]offer[mcp.Prompt]
}

func newOffers() *offers {
	return &offers{
		tools:     make(map[string]offer[mcp.Tool]),
		resources: make(map[string]offer[mcp.Resource]),
		templates: make(map[string]offer[mcp.ResourceTemplate]),
		prompts:   make(map[string]offer[mcp.Prompt]),
	}
}

// merger keeps what the server offers equal to what the upstreams have.
type merger struct {
	mu  sync.Mutex // one merge at a time
	now *offers    // guarded by mu: what is registered
}

// merge registers what the upstreams have now, and removes what they have no
// more. Clients hear of all changes at once, and of nothing when there is none.
func (g *Gateway) merge() {
	m := &g.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	refused := make(refusals)
	upstreams := g.all()
	wanted := wantedOf(upstreams, refused)
	s := g.server
	s.Change(func() {
		reconcile(m.now.tools, wanted.tools, refused, "tool", s.RemoveTool, func(o offer[mcp.Tool]) error {
			return s.SetTool(o.def, o.from.callTool(o))
		})
		reconcile(m.now.resources, wanted.resources, refused, "resource", s.RemoveResource, func(o offer[mcp.Resource]) error {
			return s.SetResource(o.def, o.from.readResource)
		})
		reconcile(m.now.templates, wanted.templates, refused, "template", s.RemoveTemplate, func(o offer[mcp.ResourceTemplate]) error {
			return s.SetTemplate(o.def, o.from.readResource, o.from.completeTemplate(o.name)...)
		})
		reconcile(m.now.prompts, wanted.prompts, refused, "prompt", s.RemovePrompt, func(o offer[mcp.Prompt]) error {
			return s.SetPrompt(o.def, o.from.getPrompt(o.name), o.from.completePrompt(o.name)...)
		})
	})
	for _, u := range upstreams {
		u.merged(m.now, refused[u])
	}
}

// wantedOf returns what upstreams have together. What two of them claim goes to
// the first.
func wantedOf(upstreams []*upstream, refused refusals) *offers {
	w := newOffers()
	for _, u := range upstreams {
		cat := u.present()
		for _, t := range cat.kept {
			verdict := u.Settings.Rules.Verdict(&t)
			if verdict == host.Deny {
				continue
			}
			if t.TaskSupport() == mcp.TaskRequired {
				refused.add(u, "tool %q: it can be called as a task only, and tasks are not passed on", t.Name)
				continue
			}
			o := offer[mcp.Tool]{u, t.Name, t, verdict}
			o.def.Name, o.def.Execution = host.WireName(u.Key, t.Name), nil
			claim(w.tools, o.def.Name, o, refused, "tool")
		}
		for _, r := range cat.resources {
			claim(w.resources, r.URI, offer[mcp.Resource]{from: u, name: r.URI, def: r}, refused, "resource")
		}
		for _, t := range cat.templates {
			claim(w.templates, t.URITemplate, offer[mcp.ResourceTemplate]{from: u, name: t.URITemplate, def: t}, refused, "template")
		}
		for _, p := range cat.prompts {
			o := offer[mcp.Prompt]{from: u, name: p.Name, def: p}
			o.def.Name = host.WireName(u.Key, p.Name)
			claim(w.prompts, o.def.Name, o, refused, "prompt")
		}
	}
	return w
}

// claim adds an offer unless its key is taken.
func claim[Def any](all map[string]offer[Def], key string, o offer[Def], refused refusals, kind string) {
	if holder, taken := all[key]; taken {
		refused.add(o.from, "%s %q: upstream %q has it already", kind, o.name, holder.from.Key)
		return
	}
	all[key] = o
}

// reconcile makes the registered offers of one kind, now, the wanted ones. What
// the server refuses is removed.
func reconcile[Def any](now, wanted map[string]offer[Def], refused refusals, kind string, remove func(string) bool, set func(offer[Def]) error) {
	for key := range now {
		if _, ok := wanted[key]; !ok {
			remove(key)
			delete(now, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		o := wanted[key]
		if have, ok := now[key]; ok && have.from == o.from && have.verdict == o.verdict && reflect.DeepEqual(have.def, o.def) {
			continue
		}
		if err := set(o); err != nil {
			refused.add(o.from, "%s %q: %v", kind, o.name, err)
			remove(key)
			delete(now, key)
			continue
		}
		now[key] = o
	}
}

// refusals tell of each upstream what of it is not offered, and why.
type refusals map[*upstream][]string

// maxRefusals bounds what is told of one upstream.
const maxRefusals = 100

func (r refusals) add(u *upstream, format string, args ...any) {
	if len(r[u]) < maxRefusals {
		r[u] = append(r[u], fmt.Sprintf(format, args...))
	}
}

// holder returns the upstream whose resource is offered at a URI, or nil.
func (m *merger) holder(uri string) *upstream {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.resources[uri].from
}
