package mcpclient

import (
	"maps"
	"os"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxWatchedRoots bounds the roots that are checked.
const maxWatchedRoots = 1024

// rememberSentRoots records the roots that were sent to a server of the session era and
// starts to check whether they exist. It keeps those that were sent before, because they
// may exist again later.
func (c *Client) rememberSentRoots(roots []mcp.Root) {
	if c.opts.rootsInterval() < 0 {
		return
	}
	existing := make(map[string]bool, len(roots))
	for _, root := range roots {
		if path, err := root.Path(); err == nil {
			existing[path] = exists(path)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sentRoots == nil {
		c.sentRoots = make(map[string]bool)
		c.goTrackedLocked(c.watchRoots)
	}
	for path, found := range existing {
		if len(c.sentRoots) < maxWatchedRoots {
			c.sentRoots[path] = found
		}
	}
}

// watchRoots notifies the server when a root was created or deleted. It checks every
// Options.Ask.RootsInterval.
//
// Spec: 2025-11-25 client/roots#root-list-changes
func (c *Client) watchRoots() {
	tick := time.NewTicker(c.opts.rootsInterval())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return
		}
		if !c.rootsDiffer() || c.connectionErr() != nil {
			continue
		}
		if err := c.RootsChanged(c.ctx); err != nil && c.ctx.Err() == nil {
			c.opts.logger().Warn("the server was not notified of changed roots", "error", err)
		}
	}
}

// rootsDiffer reports whether a root was created or deleted since the last check.
func (c *Client) rootsDiffer() bool {
	c.mu.Lock()
	before := maps.Clone(c.sentRoots)
	c.mu.Unlock()
	differ := false
	for path, was := range before {
		now := exists(path)
		differ = differ || now != was
		before[path] = now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.sentRoots, before)
	return differ
}

// connectionErr returns why the current connection ended, or nil if it has not.
func (c *Client) connectionErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.link.Err()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
