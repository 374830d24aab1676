package mcpclient

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Prompts iterates over the prompts of the server and requests each page when the loop
// reaches it. There are none if the server does not declare the capability; servers of the
// session era that declare neither tools nor prompts nor resources are requested
// nevertheless. An error is yielded once, as the last value.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Prompt, error] {
	offers := func(s mcp.ServerCapabilities) bool { return s.Prompts != nil }
	return list(ctx, c, mcp.MethodPromptsList, offers, opts, func(page *mcp.ListPromptsResult, _ time.Time) ([]mcp.Prompt, *string) {
		for i := range page.Prompts {
			page.Prompts[i].Icons = c.checkedIcons(page.Prompts[i].Name, page.Prompts[i].Icons)
		}
		return page.Prompts, page.NextCursor
	}, func(p mcp.Prompt) string { return p.Name })
}

// GetPrompt gets a prompt with the given arguments, which may be nil. A message without a role is one of the user.
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string, opts ...CallOption) (*mcp.GetPromptResult, error) {
	result, err := request[mcp.GetPromptResult](ctx, c, mcp.MethodPromptsGet, &mcp.GetPromptParams{Name: name, Arguments: args}, opts)
	if err != nil {
		return nil, fmt.Errorf("get prompt %q: %w", name, err)
	}
	for i := range result.Messages {
		result.Messages[i].Role = cmp.Or(result.Messages[i].Role, mcp.RoleUser)
	}
	return result, nil
}
