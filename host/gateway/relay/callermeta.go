package relay

import (
	"encoding/json/jsontext"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// callerMeta returns the metadata of a request that is passed on.
func callerMeta(r *mcpserver.Request) mcp.Meta { return withoutOddKeys(r.Meta()) }

// cleanResult removes from a result of an upstream what would make clients refuse the whole of it: metadata keys off
// the grammar, and icons that are none. The result may be nil.
func cleanResult(result mcp.Result) mcp.Result {
	if result == nil {
		return nil
	}
	base := result.Base()
	base.Meta = withoutOddKeys(base.Meta)
	switch r := result.(type) {
	case *mcp.CallToolResult:
		for i := range r.Content {
			r.Content[i] = withoutOddIcons(r.Content[i])
		}
	case *mcp.GetPromptResult:
		for i := range r.Messages {
			r.Messages[i].Content = withoutOddIcons(r.Messages[i].Content)
		}
	}
	return result
}

// withoutOddIcons returns content without the icons that [mcp.Icon.Check] refuses.
func withoutOddIcons(c mcp.Content) mcp.Content {
	link, ok := c.(mcp.ResourceLink)
	isOdd := func(icon mcp.Icon) bool { return icon.Check() != nil }
	if !ok || !slices.ContainsFunc(link.Icons, isOdd) {
		return c
	}
	link.Icons = slices.DeleteFunc(link.Icons, isOdd)
	return link
}

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
