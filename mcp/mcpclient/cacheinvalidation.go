package mcpclient

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// NoCache sends the request even if its result is in the cache of the client. The new
// result replaces the cached one.
func NoCache() CallOption {
	return func(o *callOptions) { o.noCache = true }
}

// reportHit sets receivedAt to when a result from the cache was received, and to zero if the
// result is that of the server.
func reportHit(receivedAt *time.Time) CallOption {
	return func(o *callOptions) { o.receivedAt = receivedAt }
}

// ClearCache removes all results from the cache. Call it when Options.HTTP.Client or
// Options.HTTP.Auth begins to act for another principal. If that happens often, use one
// client for each principal. With CacheOptions.Store that is required, and ClearCache removes
// what the clients of this server and principal share.
func (c *Client) ClearCache() { c.cache.Clear() }

// invalidatedBy holds, by notification, the methods whose results it makes stale.
var invalidatedBy = map[string][]string{
	mcp.NotificationToolsListChanged:     {mcp.MethodToolsList},
	mcp.NotificationPromptsListChanged:   {mcp.MethodPromptsList},
	mcp.NotificationResourcesListChanged: {mcp.MethodResourcesList, mcp.MethodResourceTemplatesList},
}

// invalidateResource removes the cached contents of a resource, of its parts, and of the
// resources that it is a part of. From a shared cache it removes the contents of all resources.
func (c *Client) invalidateResource(uri string) {
	c.cache.InvalidateResources(func(cached string) bool { return isPart(cached, uri) || isPart(uri, cached) })
}
