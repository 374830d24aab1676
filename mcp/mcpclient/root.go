package mcpclient

import (
	"context"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// roots tells the server the roots.
//
// Spec: 2026-07-28 client/roots
func (c *Client) roots(ctx context.Context, f *dialect.Facts) (any, error) {
	if c.opts.Roots == nil {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "%s: this client has no roots", mcp.MethodRootsList)
	}
	roots, err := c.opts.Roots(ctx)
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		if !strings.HasPrefix(root.URI, "file://") {
			return nil, fmt.Errorf("roots: the handler returned %q: want a file URI", root.URI)
		}
	}
	if c.opts.Ask.ShareRoots != nil {
		if err := c.opts.Ask.ShareRoots(ctx, roots); err != nil {
			return nil, err
		}
	}
	if f != nil && f.Era == dialect.SessionEra {
		c.rememberSentRoots(roots)
	}
	return &mcp.ListRootsResult{Roots: roots}, nil
}

// RootsChanged tells the server that it should ask for the roots again. In the
// stateless era servers ask whenever they need them, and are told nothing.
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func (c *Client) RootsChanged(ctx context.Context) error {
	k, err := c.currentConnection(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", mcp.NotificationRootsListChanged, err)
	}
	if k.stateless() {
		return nil
	}
	return c.Notify(ctx, mcp.NotificationRootsListChanged, nil)
}
