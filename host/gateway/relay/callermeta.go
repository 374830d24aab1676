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
func withoutOddKeys(meta mcp.Meta) mcp.Meta { return withoutKeys(meta, isOddKey) }

func isOddKey(key string) bool { return mcp.CheckMetaKey(key) != nil }

// withoutKeys returns metadata without the keys for which isLeftOut is true. It copies only what it changes.
func withoutKeys(meta mcp.Meta, isLeftOut func(key string) bool) mcp.Meta {
	for key := range meta {
		if isLeftOut(key) {
			meta = maps.Clone(meta)
			maps.DeleteFunc(meta, func(key string, _ jsontext.Value) bool { return isLeftOut(key) })
			return meta
		}
	}
	return meta
}
