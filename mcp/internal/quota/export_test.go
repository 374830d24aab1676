package quota

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	MaxEntries       = maxEntries
	MaxSyncing       = maxSyncing
	MaxOperations    = maxOperations
	MaxReplicas      = maxReplicas
	OperationTimeout = operationTimeout
)

// MembersPrefix returns the prefix of the keys that count the replicas.
func (g *Group) MembersPrefix() string { return g.prefix("members", mcp.Principal{}) }

// Len returns the number of owners in the table.
func (g *Group) Len() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.entries)
}

// Prefix returns the prefix of the records of an owner.
func (g *Group) Prefix(k Key) string { return g.prefix(k.Name, k.Principal) }

// Replicas returns how many replicas there are.
func (g *Group) Replicas() int64 { return g.replicas.Load() }

// SetClock replaces the clock. It is to be called before the first Take.
func (g *Group) SetClock(now func() time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = now
}
