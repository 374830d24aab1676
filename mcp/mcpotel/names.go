package mcpotel

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
)

// other stands for all values that an attribute does not show, as in the conventions.
const other = "_OTHER"

// maxNameBytes is the maximum length of a name in an attribute.
const maxNameBytes = 128

// names is a set that takes a limited number of names. It is safe for concurrent use.
type names struct {
	max   int
	mu    sync.Mutex                          // held while a name is added
	known atomic.Pointer[map[string]struct{}] // never modified; nil is empty
}

// has reports whether the name is in the set.
func (n *names) has(name string) bool {
	known := n.known.Load()
	if known == nil {
		return false
	}
	_, ok := (*known)[name]
	return ok
}

// add adds a name if there is room for it, and returns the name if it is in the set then, else other.
func (n *names) add(name string) string {
	switch {
	case n.has(name):
		return name
	case len(name) > maxNameBytes:
		return other
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.has(name) {
		return name
	}
	known := map[string]struct{}{}
	if p := n.known.Load(); p != nil {
		known = *p
	}
	if len(known) >= n.max {
		return other
	}
	grown := maps.Clone(known)
	grown[name] = struct{}{}
	n.known.Store(&grown)
	return name
}

// protocolMethods are the methods that the protocol defines.
var protocolMethods = setOf(
	mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodPing, mcp.MethodToolsList, mcp.MethodToolsCall,
	mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead,
	mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe, mcp.MethodListen,
	mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodComplete, mcp.MethodSetLevel,
	mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList,
	mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksList, mcp.MethodTasksCancel, mcp.NotificationTaskStatus,
	mcp.NotificationInitialized, mcp.NotificationCancelled, mcp.NotificationProgress, mcp.NotificationMessage,
	mcp.NotificationRootsListChanged, mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged,
	mcp.NotificationResourcesListChanged, mcp.NotificationResourceUpdated,
	mcp.NotificationAcknowledged, mcp.NotificationElicitationComplete,
)

// protocolNumbers are the numbers of the errors that JSON-RPC and the protocol define, and those that
// this library uses. A peer or an application can send any number.
var protocolNumbers = map[int64]string{
	-32700: "-32700", -32600: "-32600", -32601: "-32601", -32602: "-32602", -32603: "-32603",
	-32000: "-32000", -32001: "-32001", -32002: "-32002", -32020: "-32020", -32021: "-32021", -32022: "-32022", -32042: "-32042",
	-1: "-1", 403: "403", 429: "429", 503: "503",
}

func setOf(all ...string) map[string]struct{} {
	set := make(map[string]struct{}, len(all))
	for _, s := range all {
		set[s] = struct{}{}
	}
	return set
}
