package mcpclient

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Resources iterates over the resources of the server and requests each page when the
// loop reaches it. There are none if the server does not declare the capability; servers of
// the session era that declare neither tools nor prompts nor resources are requested
// nevertheless. An error is yielded once, as the last value.
func (c *Client) Resources(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Resource, error] {
	return list(ctx, c, mcp.MethodResourcesList, offersResources, opts, func(page *mcp.ListResourcesResult, _ time.Time) ([]mcp.Resource, *string) {
		for i := range page.Resources {
			page.Resources[i].Icons = c.checkedIcons(page.Resources[i].URI, page.Resources[i].Icons)
		}
		return page.Resources, page.NextCursor
	}, func(r mcp.Resource) string { return r.URI })
}

// Templates iterates over the resource templates of the server and requests each page
// when the loop reaches it. There are none if the server does not declare the
// capability, as with [Client.Resources]. An error is yielded once, as the last value.
func (c *Client) Templates(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.ResourceTemplate, error] {
	return list(ctx, c, mcp.MethodResourceTemplatesList, offersResources, opts, func(page *mcp.ListResourceTemplatesResult, _ time.Time) ([]mcp.ResourceTemplate, *string) {
		for i := range page.ResourceTemplates {
			page.ResourceTemplates[i].Icons = c.checkedIcons(page.ResourceTemplates[i].URITemplate, page.ResourceTemplates[i].Icons)
		}
		return page.ResourceTemplates, page.NextCursor
	}, func(t mcp.ResourceTemplate) string { return t.URITemplate })
}

func offersResources(s mcp.ServerCapabilities) bool { return s.Resources != nil }

// ReadResource reads a resource. Contents without a URI get that of the resource. If it does not exist, the error is an *mcp.Error with
// the code CodeResourceNotFound or, in the stateless era, CodeInvalidParams.
func (c *Client) ReadResource(ctx context.Context, uri string, opts ...CallOption) (*mcp.ReadResourceResult, error) {
	result, err := request[mcp.ReadResourceResult](ctx, c, mcp.MethodResourcesRead, &mcp.ReadResourceParams{URI: uri}, opts)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", uri, err)
	}
	for i := range result.Contents {
		result.Contents[i].URI = cmp.Or(result.Contents[i].URI, uri)
	}
	return result, nil
}
