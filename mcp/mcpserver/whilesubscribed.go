package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp/internal/changes"
)

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

func (w whileWatched) resource(r *resource) { r.whileWatched = w }
