package relay

import (
	"encoding/json/jsontext"
	"maps"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// callerMeta returns the metadata of a request that is passed on: keys off the grammar are left out.
// Nothing of the protocol has such keys, and a client must not send them.
//
// Spec: 2026-07-28 basic#meta
func callerMeta(r *mcpserver.Request) mcp.Meta {
	meta := r.Meta()
	for key := range meta {
		if mcp.CheckMetaKey(key) != nil {
			meta = maps.Clone(meta)
			maps.DeleteFunc(meta, func(key string, _ jsontext.Value) bool { return mcp.CheckMetaKey(key) != nil })
			return meta
		}
	}
	return meta
}
