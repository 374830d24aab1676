package mcpclient

import (
	"context"
	"fmt"
	"iter"

	"github.com/fondaco/fondaco/mcp"
)

// Prompts returns the prompts of the server, page by page as they are taken. It
// is empty for a server that offers none. An error ends it.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Prompt, error] {
	offers := func(s mcp.ServerCapabilities) bool { return s.Prompts != nil }
	return list(ctx, c, mcp.MethodPromptsList, offers, opts, func(page *mcp.ListPromptsResult) ([]mcp.Prompt, *string) {
		for i := range page.Prompts {
			page.Prompts[i].Icons = c.icons(page.Prompts[i].Name, page.Prompts[i].Icons)
		}
		return page.Prompts, page.NextCursor
	}, func(p mcp.Prompt) string { return p.Name })
}

// GetPrompt gets a prompt, filled in with the arguments, which may be nil.
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string, opts ...CallOption) (*mcp.GetPromptResult, error) {
	result, err := request[mcp.GetPromptResult](ctx, c, mcp.MethodPromptsGet, &mcp.GetPromptParams{Name: name, Arguments: args}, opts)
	if err != nil {
		return nil, fmt.Errorf("get prompt %q: %w", name, err)
	}
	return result, nil
}
