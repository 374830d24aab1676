package relay

import (
	"encoding/json/jsontext"
	"maps"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// callerMeta returns the metadata of a request that is passed on.
func callerMeta(r *mcpserver.Request) mcp.Meta { return withoutOddKeys(r.Meta()) }

// withoutOddKeys returns metadata without the keys that are off the grammar. Nothing of the protocol has such
// keys, and a peer must not send them.
//
// Spec: 2026-07-28 basic#meta
func withoutOddKeys(meta mcp.Meta) mcp.Meta {
	isOdd := func(key string, _ jsontext.Value) bool { return mcp.CheckMetaKey(key) != nil }
	for key := range meta {
		if isOdd(key, nil) {
			meta = maps.Clone(meta)
			maps.DeleteFunc(meta, isOdd)
			return meta
		}
	}
	return meta
}
