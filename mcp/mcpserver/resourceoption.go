package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
)

// Describe is the option that sets the description of a resource or template, for models
// and users.
func Describe(text string) ResourceOption { return describe(text) }

type describe string

func (d describe) resource(r *resource) { r.def.Description = string(d) }

// Annotate is the option that sets the annotations of a resource or template: audience,
// priority and time of the last change.
func Annotate(a mcp.Annotations) ResourceOption { return annotate(a) }

type annotate mcp.Annotations

func (a annotate) resource(r *resource) { r.def.Annotations = new(mcp.Annotations(a)) }

// WhileSubscribed is the option that runs a function while clients are subscribed to a
// resource (resources/subscribe), or to a URI that a resource template serves. Use it to poll the source of the resource
// and call [Server.Updated] when it has changed.
//
// run is called with the URI, on its own goroutine, when the first client subscribes. ctx
// ends when the last subscription ends or the server is shut down. Two calls for one URI
// never overlap. Subscriptions to a parent of the resource do not count. A panic is logged
// and ends that run. WhileSubscribed panics when run is nil.
func WhileSubscribed(run func(ctx context.Context, uri string)) ResourceOption {
	if run == nil {
		panic("mcpserver.WhileSubscribed: the function is nil")
	}
	return whileWatched(run)
}

type whileWatched changes.WatchFunc

func (w whileWatched) resource(r *resource) { r.whileWatched = changes.WatchFunc(w) }

// CacheResource is the option that sets the caching hints of a resource's contents.
func CacheResource(c Cache) ResourceOption { return cacheResource(c) }

type cacheResource Cache

func (c cacheResource) resource(r *resource) { r.cache = new(Cache(c)) }
