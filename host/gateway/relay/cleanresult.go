package relay

import (
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

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
