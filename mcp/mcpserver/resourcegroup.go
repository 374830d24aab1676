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

// ResourceGroup returns an empty group of resources. read is the handler, and the options
// are the options, of each resource that Set adds.
func (s *Server) ResourceGroup(read ResourceHandler, opts ...ResourceOption) *ResourceGroup {
	return &ResourceGroup{server: s, read: read, options: append([]ResourceOption(nil), opts...)}
}

// Set replaces the resources of the group by the resources with these definitions, in one
// atomic change: a list has either all or none of it. Resources with an equal definition
// stay as they are. Clients are notified once if a definition has changed.
//
// A URI at which another resource is registered, by Resource, AddResource or another group,
// is left alone; Set returns these URIs in the order of the definitions.
//
// Set returns the error that AddResource would panic with, and an error when two definitions
// have the same URI; it changes nothing then.
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
