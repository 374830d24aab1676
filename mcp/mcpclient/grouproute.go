package mcpclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

const (
	// maxNamedURIs bounds the URIs of results that a group remembers. The oldest is dropped.
	maxNamedURIs = 1024
	// maxGroupFeatures bounds the features of each kind that a group remembers of a server.
	maxGroupFeatures = 10_000
	// groupListRetry is how long a server whose lists could not be read is not asked again for
	// a URI that leads to another one.
	groupListRetry = time.Minute
)

// groupIndex is what a group remembers of the lists of one server. The zero value is empty.
type groupIndex struct {
	mu        sync.Mutex
	tools     map[string]string // guarded by mu: names at the server that a qualified name does not show
	prompts   map[string]string // guarded by mu: likewise
	resources map[string]bool   // guarded by mu: URIs; nil: not listed yet
	templates []*uritemplate.Template
	failed    time.Time // guarded by mu: of the last attempt to read resources and templates
}

// qualify returns the definitions with qualified names, and the names at the server of those
// whose qualified name does not show it.
func qualify[Def any](server string, defs []Def, name func(*Def) *string) (qualified []Def, hidden map[string]string) {
	defs = slices.Clone(defs)
	slices.SortStableFunc(defs, func(a, b Def) int { return strings.Compare(*name(&a), *name(&b)) })
	hidden = make(map[string]string)
	taken := make(map[string]bool)
	for _, def := range defs {
		original := *name(&def)
		q := mcp.QualifiedName(server, original)
		if taken[q] {
			continue
		}
		taken[q] = true
		if _, after, _ := mcp.CutQualifiedName(q); after != original && len(hidden) < maxGroupFeatures {
			hidden[q] = original
		}
		*name(&def) = q
		qualified = append(qualified, def)
	}
	return qualified, hidden
}

// listTools lists the tools of one server under their qualified names.
func (m *member) listTools(ctx context.Context, opts []CallOption) ([]mcp.Tool, error) {
	tools, err := collect(m.client.Tools(ctx, opts...))
	if err != nil {
		return nil, err
	}
	tools, hidden := qualify(m.name, tools, func(t *mcp.Tool) *string { return &t.Name })
	m.index.mu.Lock()
	defer m.index.mu.Unlock()
	m.index.tools = hidden
	return tools, nil
}

// listPrompts lists the prompts of one server under their qualified names.
func (m *member) listPrompts(ctx context.Context, opts []CallOption) ([]mcp.Prompt, error) {
	prompts, err := collect(m.client.Prompts(ctx, opts...))
	if err != nil {
		return nil, err
	}
	prompts, hidden := qualify(m.name, prompts, func(p *mcp.Prompt) *string { return &p.Name })
	m.index.mu.Lock()
	defer m.index.mu.Unlock()
	m.index.prompts = hidden
	return prompts, nil
}

// listResources lists the resources of one server.
func (m *member) listResources(ctx context.Context, opts []CallOption) ([]mcp.Resource, error) {
	resources, err := collect(m.client.Resources(ctx, opts...))
	if err != nil {
		return nil, err
	}
	uris := make(map[string]bool, len(resources))
	for _, r := range resources[:min(len(resources), maxGroupFeatures)] {
		uris[r.URI] = true
	}
	m.index.mu.Lock()
	defer m.index.mu.Unlock()
	m.index.resources = uris
	return resources, nil
}

// listTemplates lists the resource templates of one server. Those that begin with a variable
// match URIs of any scheme, and so are not used to route.
func (m *member) listTemplates(ctx context.Context, opts []CallOption) ([]mcp.ResourceTemplate, error) {
	templates, err := collect(m.client.Templates(ctx, opts...))
	if err != nil {
		return nil, err
	}
	parsed := []*uritemplate.Template{}
	for _, t := range templates[:min(len(templates), maxGroupFeatures)] {
		scheme, _, literal := strings.Cut(t.URITemplate, ":")
		if p, err := uritemplate.Parse(t.URITemplate); err == nil && literal && !strings.Contains(scheme, "{") {
			parsed = append(parsed, p)
		}
	}
	m.index.mu.Lock()
	defer m.index.mu.Unlock()
	m.index.templates = parsed
	return templates, nil
}

func (m *member) lists(uri string) bool {
	m.index.mu.Lock()
	defer m.index.mu.Unlock()
	return m.index.resources[uri]
}

func (m *member) matches(uri string) bool {
	m.index.mu.Lock()
	defer m.index.mu.Unlock()
	return slices.ContainsFunc(m.index.templates, func(t *uritemplate.Template) bool {
		_, ok := t.Match(uri)
		return ok
	})
}

// featureKind is a list of features that have names.
type featureKind struct {
	name string
	// hidden returns the names that qualified names do not show, and nil before the list was
	// read. The caller holds the lock of the index.
	hidden func(*groupIndex) map[string]string
	read   func(ctx context.Context, m *member) error
}

var (
	toolKind = featureKind{"tool", func(x *groupIndex) map[string]string { return x.tools }, func(ctx context.Context, m *member) error {
		_, err := m.listTools(ctx, nil)
		return err
	}}
	promptKind = featureKind{"prompt", func(x *groupIndex) map[string]string { return x.prompts }, func(ctx context.Context, m *member) error {
		_, err := m.listPrompts(ctx, nil)
		return err
	}}
)

// route returns the server of a qualified name and the name at the server. A truncated name
// is looked up in the list of the server, which is read if it was not.
func (g *Group) route(ctx context.Context, k featureKind, qualified string) (*member, string, error) {
	m, name, certain, err := g.resolve(k, qualified)
	if err != nil || certain {
		return m, name, err
	}
	if err := k.read(ctx, m); err != nil {
		return nil, "", fmt.Errorf("%s %q: %w", k.name, qualified, err)
	}
	m, name, _, err = g.resolve(k, qualified)
	return m, name, err
}

// resolve is route without reading a list. It reports whether the name at the server is
// certain: a qualified name that may be truncated is not, before the list was read.
func (g *Group) resolve(k featureKind, qualified string) (m *member, name string, certain bool, err error) {
	server, name, ok := mcp.CutQualifiedName(qualified)
	if m = g.member(server); !ok || m == nil {
		return nil, "", false, fmt.Errorf("%s %q: the group has no connected server of that name, want a name that begins with one of %q and two underscores", k.name, qualified, g.Servers())
	}
	m.index.mu.Lock()
	defer m.index.mu.Unlock()
	hidden := k.hidden(&m.index)
	if original, known := hidden[qualified]; known {
		return m, original, true, nil
	}
	return m, name, hidden != nil || !looksTruncated(qualified), nil
}

// looksTruncated reports whether a qualified name may end in digits of a digest.
func looksTruncated(qualified string) bool {
	i := strings.LastIndexByte(qualified, '_')
	return i >= 0 && len(qualified)-i-1 == 8 && strings.Trim(qualified[i+1:], "0123456789abcdef") == ""
}

// resourceOwner returns the server that a URI leads to. Before that it reads the lists that were
// not read: a server could otherwise name the resources of another one in its results, and get
// the requests for them.
func (g *Group) resourceOwner(ctx context.Context, uri string) (*member, error) {
	members := g.all()
	owner := func() *member {
		if i := slices.IndexFunc(members, func(m *member) bool { return m.lists(uri) }); i >= 0 {
			return members[i]
		}
		if m := g.member(g.named.server(uri)); m != nil {
			return m
		}
		if i := slices.IndexFunc(members, func(m *member) bool { return m.matches(uri) }); i >= 0 {
			return members[i]
		}
		return nil
	}
	failed := forEach(members, func(m *member) error { return m.readUnread(ctx, groupListRetry) })
	m := owner()
	if m == nil && failed == nil {
		failed = forEach(members, func(m *member) error { return m.readUnread(ctx, 0) })
		m = owner()
	}
	if m != nil {
		return m, nil
	}
	if failed != nil {
		return nil, fmt.Errorf("no server of the group lists it: %w", failed)
	}
	return nil, fmt.Errorf("no server of the group lists it or has a template for it, want a URI of one of %q", g.Servers())
}

// readUnread reads the lists of resources and templates that were not read, unless that failed
// less than pause ago.
func (m *member) readUnread(ctx context.Context, pause time.Duration) (err error) {
	m.index.mu.Lock()
	resources, templates := m.index.resources == nil, m.index.templates == nil
	paused := !m.index.failed.IsZero() && time.Since(m.index.failed) < pause
	m.index.mu.Unlock()
	if paused {
		return nil
	}
	if resources {
		_, err = m.listResources(ctx, nil)
	}
	if templates && err == nil {
		_, err = m.listTemplates(ctx, nil)
	}
	if err != nil && ctx.Err() == nil {
		m.index.mu.Lock()
		defer m.index.mu.Unlock()
		m.index.failed = time.Now()
	}
	return err
}

// namedURIs remembers which server named a resource in a result. Such a resource need not be
// listed. The zero value is empty.
//
// Spec: 2026-07-28 server/tools#resource-links
type namedURIs struct {
	mu      sync.Mutex
	servers map[string]string // guarded by mu: by URI
	order   []string          // guarded by mu: oldest first
}

// addContents remembers the resources that a result contains or links to.
func (n *namedURIs) addContents(server string, contents mcp.Contents) {
	for _, content := range contents {
		switch content := content.(type) {
		case mcp.ResourceLink:
			n.add(server, content.URI)
		case mcp.EmbeddedResource:
			n.add(server, content.Resource.URI)
		}
	}
}

func (n *namedURIs) add(server, uri string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.servers == nil {
		n.servers = make(map[string]string)
	}
	if _, known := n.servers[uri]; !known {
		n.order = append(n.order, uri)
	}
	n.servers[uri] = server
	if len(n.order) > maxNamedURIs {
		delete(n.servers, n.order[0])
		n.order = slices.Delete(n.order, 0, 1)
	}
}

func (n *namedURIs) server(uri string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.servers[uri]
}
