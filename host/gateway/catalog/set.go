// Package catalog knows what upstreams offer, and to whom. It reads the lists of each upstream within
// limits, filters the definitions, gives them names that no other upstream has, and registers them in one
// server. A URI leads to the upstream that has claimed it first.
//
//	Set, the upstreams together ──▶ the registered features of the server
//	 └─▶ Source, one upstream
//	      ├── Catalog          the features of everybody, as they were listed last
//	      ├── capabilityLists  features for clients with certain capabilities
//	      └── ownFeatures      features of the caller of one connection
//
// The package calls no feature: the handlers of requests are given to it.
package catalog

import (
	"sync"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Set has the sources of all upstreams, and registers what they offer in a server. It is safe for
// concurrent use.
type Set struct {
	// readResource is the handler of all resources and templates. It is set before the first merge.
	readResource mcpserver.ResourceHandler

	server         *mcpserver.Server
	merger         merger
	namedResources namedResources
	claimOrder     claimOrder
	unlisted       sync.Map // *mcpserver.FeatureSet by *mcpserver.Request, see AddUnlisted

	mu      sync.Mutex
	sources []*Source // guarded by mu: in the order in which templates compete
}

// NewSet returns a set without sources.
func NewSet() *Set {
	return &Set{merger: merger{registered: newMergedCatalog()}, namedResources: newNamedResources()}
}

// Register sets the server in which features are registered. It is called before the first merge.
func (set *Set) Register(server *mcpserver.Server, read mcpserver.ResourceHandler) {
	set.server, set.readResource = server, read
}

// Add adds a source that offers nothing yet.
func (set *Set) Add(s *Source) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.sources = append(set.sources, s)
}

func (set *Set) list() []*Source {
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.sources
}

// byKey returns the source of a key, or nil.
func (set *Set) byKey(key string) *Source {
	for _, s := range set.list() {
		if s.Key == key {
			return s
		}
	}
	return nil
}

// otherKeys returns the keys of all upstreams but one.
func (set *Set) otherKeys(key string) []string { return otherKeys(key, set.list()) }

func otherKeys(key string, all []*Source) (keys []string) {
	for _, other := range all {
		if other.Key != key {
			keys = append(keys, other.Key)
		}
	}
	return keys
}
