package catalog

import (
	"context"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	// defaultListAge is the age at which lists are read again if the upstream does not say one.
	defaultListAge = 5 * time.Minute
	// maxListAge limits what an upstream says.
	maxListAge = 24 * time.Hour
)

// listTTL is the shortest time for which an upstream allows to keep its lists.
type listTTL struct {
	mu  sync.Mutex
	ttl time.Duration // guarded by mu
}

// record is middleware of a client that records the ttlMs of lists.
//
// Spec: 2026-07-28 server/utilities/caching
func (t *listTTL) record(next mcpclient.Handler) mcpclient.Handler {
	return func(ctx context.Context, r *mcpclient.Request) (any, error) {
		result, err := next(ctx, r)
		var hints *mcp.Caching
		switch result := result.(type) {
		case *mcp.ListToolsResult:
			hints = &result.Caching
		case *mcp.ListResourcesResult:
			hints = &result.Caching
		case *mcp.ListResourceTemplatesResult:
			hints = &result.Caching
		case *mcp.ListPromptsResult:
			hints = &result.Caching
		}
		if hints != nil && err == nil {
			ttl := defaultListAge
			if hints.TTLMs != nil {
				ttl = hints.TTL()
			}
			t.mu.Lock()
			t.ttl = min(t.ttl, ttl)
			t.mu.Unlock()
		}
		return result, err
	}
}

// reset forgets what was recorded, before the lists are read.
func (t *listTTL) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ttl = maxListAge
}

// maxAge returns the age at which the lists that the client has just read are to be read again, and
// false if the upstream announces all changes instead. Over HTTP a server of the session era may
// declare that it announces changes, but offer no stream for the announcements.
func (t *listTTL) maxAge(target mcpclient.Target, client *mcpclient.Client) (time.Duration, bool) {
	caps, stateless := client.Capabilities(), client.Revision().Stateless()
	_, program := target.(*mcpclient.CommandTarget)
	announces := (caps.Tools == nil || caps.Tools.ListChanged) && (caps.Prompts == nil || caps.Prompts.ListChanged) &&
		(caps.Resources == nil || caps.Resources.ListChanged)
	if program || announces && stateless {
		return 0, false
	}
	if !stateless {
		return defaultListAge, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ttl, true
}

// tooOld reports whether the lists of an upstream are to be read again before they are shown.
func (c *Catalog) tooOld() bool {
	return c.ages && time.Since(c.read) >= max(c.maxAge, link.MinRefreshInterval)
}
