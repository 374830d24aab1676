package mcpclient

import (
	"maps"
	"os"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxWatchedRoots bounds the roots that are looked after.
const maxWatchedRoots = 1024

// toldRoots notes the roots that a server of the session era was told, and begins
// to look after them. Those that it was told before stay noted: they may come back.
func (c *Client) toldRoots(roots []mcp.Root) {
	if c.opts.rootsInterval() < 0 {
		return
	}
	there := make(map[string]bool, len(roots))
	for _, root := range roots {
		if path, err := root.Path(); err == nil {
			there[path] = exists(path)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rootPaths == nil {
		c.rootPaths = make(map[string]bool)
		c.beginLocked(c.watchRoots)
	}
	for path, now := range there {
		if len(c.rootPaths) < maxWatchedRoots {
			c.rootPaths[path] = now
		}
	}
}

// watchRoots looks now and then whether roots have vanished or come back, and
// tells the server.
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
		if !c.rootsDiffer() || c.connected() != nil {
			continue
		}
		if err := c.RootsChanged(c.ctx); err != nil && c.ctx.Err() == nil {
			c.opts.logger().Warn("the server was not told of changed roots", "error", err)
		}
	}
}

// rootsDiffer reports whether a root has vanished or come back since the last time.
func (c *Client) rootsDiffer() bool {
	c.mu.Lock()
	before := maps.Clone(c.rootPaths)
	c.mu.Unlock()
	differ := false
	for path, was := range before {
		now := exists(path)
		differ = differ || now != was
		before[path] = now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.rootPaths, before)
	return differ
}

// connected returns nil while the connection lasts, and otherwise its end.
func (c *Client) connected() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.link.Err()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
