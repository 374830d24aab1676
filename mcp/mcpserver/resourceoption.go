package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
)

// Describe is the option that describes a resource to models and users.
func Describe(text string) ResourceOption { return describe(text) }

type describe string

func (d describe) resource(r *resource) { r.def.Description = string(d) }

// Annotate is the option that says for whom a resource is, and how much it matters.
func Annotate(a mcp.Annotations) ResourceOption { return annotate(a) }

type annotate mcp.Annotations

func (a annotate) resource(r *resource) { r.def.Annotations = new(mcp.Annotations(a)) }

// WhileSubscribed is the option that runs a function while a client is subscribed to a
// resource, or to one that a template serves: to poll a sensor, or to follow the
// source of the resource, and call [Server.Updated] when it has changed.
//
// It is called with the URI for the first subscription, on a goroutine of its own, and
// ctx ends when the last one is cancelled or the server is shut down. For one URI it
// never runs twice at once: it is called again only after it has returned.
// Subscriptions to a parent of the resource alone do not count. A panic is logged and
// ends that run. run must not be nil.
func WhileSubscribed(run func(ctx context.Context, uri string)) ResourceOption {
	if run == nil {
		panic("mcpserver.WhileSubscribed: the function is nil")
	}
	return whileWatched(run)
}

type whileWatched changes.WatchFunc

func (w whileWatched) resource(r *resource) { r.whileWatched = changes.WatchFunc(w) }

// CacheResource is the option that says how long clients may keep the contents.
func CacheResource(c Cache) ResourceOption { return cacheResource(c) }

type cacheResource Cache

func (c cacheResource) resource(r *resource) { r.cache = new(Cache(c)) }
