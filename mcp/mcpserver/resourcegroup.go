package mcpserver

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// ResourceGroup is a set of resources that share one handler and are replaced
// together, such as the files of a directory. Server.ResourceGroup makes one. Its
// methods are safe for concurrent use.
type ResourceGroup struct {
	server  *Server
	read    ResourceHandler
	options []ResourceOption
	members registry.Group
}

// ResourceGroup returns a group of resources that read reads. It is empty until Set.
// The options hold for each resource of the group.
func (s *Server) ResourceGroup(read ResourceHandler, opts ...ResourceOption) *ResourceGroup {
	return &ResourceGroup{server: s, read: read, options: append([]ResourceOption(nil), opts...)}
}

// Set makes the group consist of the resources with these definitions, in one change:
// members that are not among them are removed, and those whose definitions differ are
// replaced. A list shows all of the change or nothing of it. Clients hear of it once,
// unless every definition is as before.
//
// The group has only URIs at which nothing else is registered. A resource that was
// registered in another way, also in place of a member, is not touched; Set returns the
// URIs of such resources in the order of the definitions.
//
// Set returns the error that AddResource would panic with, also when two definitions
// have the same URI, and changes nothing then.
func (g *ResourceGroup) Set(definitions []mcp.Resource) (taken []string, err error) {
	resources := make([]registry.Feature, len(definitions))
	uris := make(map[string]bool, len(definitions))
	for i, def := range definitions {
		r := &resource{def: def, read: g.read}
		err := r.applyToURI(g.options)
		if err == nil && uris[def.URI] {
			err = fmt.Errorf("is defined twice")
		}
		if err != nil {
			return nil, fmt.Errorf("resource %q: %w", def.URI, err)
		}
		resources[i], uris[def.URI] = r, true
	}
	return g.server.features.SetGroup(registry.Resources, &g.members, resources), nil
}
