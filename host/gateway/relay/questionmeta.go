package relay

import "github.com/fondaco/fondaco/mcp"

// cleanSampling removes from the messages and tools of a sampling request the metadata keys that a server must not
// send to another server's client: those off the grammar, and those of the protocol, which would speak for the host.
// Others stay: models need them to recognize what they have said.
func cleanSampling(p *mcp.CreateMessageParams) {
	for i := range p.Messages {
		p.Messages[i].Meta = ownKeys(p.Messages[i].Meta)
		cleanContents(p.Messages[i].Content)
	}
	for i := range p.Tools {
		p.Tools[i].Meta = ownKeys(p.Tools[i].Meta)
	}
}

func cleanContents(contents mcp.Contents) {
	for i, content := range contents {
		switch c := content.(type) {
		case mcp.TextContent:
			c.Meta = ownKeys(c.Meta)
			contents[i] = c
		case mcp.ImageContent:
			c.Meta = ownKeys(c.Meta)
			contents[i] = c
		case mcp.AudioContent:
			c.Meta = ownKeys(c.Meta)
			contents[i] = c
		case mcp.EmbeddedResource:
			c.Meta, c.Resource.Meta = ownKeys(c.Meta), ownKeys(c.Resource.Meta)
			contents[i] = c
		case mcp.ResourceLink:
			c.Meta = ownKeys(c.Meta)
			contents[i] = c
		case mcp.ToolUseContent:
			c.Meta = ownKeys(c.Meta)
			contents[i] = c
		case mcp.ToolResultContent:
			c.Meta = ownKeys(c.Meta)
			cleanContents(c.Content)
			contents[i] = c
		}
	}
}

// ownKeys returns metadata without the keys that are off the grammar or of the protocol.
func ownKeys(meta mcp.Meta) mcp.Meta {
	return withoutKeys(meta, func(key string) bool { return isOddKey(key) || mcp.ReservedMetaKey(key) })
}
