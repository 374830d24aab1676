package apps

import (
	"context"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The names below were replaced. The next minor version removes them.

// Of returns Load(ctx, c, o).
//
// Deprecated: use [Load].
//
//go:fix inline
func Of(ctx context.Context, c *mcpclient.Client, o *HostOptions) (*Interfaces, error) {
	return Load(ctx, c, o)
}

// Shown returns Supported(ctx).
//
// Deprecated: use [Supported].
//
//go:fix inline
func Shown(ctx context.Context) bool { return Supported(ctx) }

// To returns l.VisibleTo(v).
//
// Deprecated: use [Link.VisibleTo].
//
//go:fix inline
func (l Link) To(v Visibility) bool { return l.VisibleTo(v) }

// Both returns p.Intersect(q).
//
// Deprecated: use [Permissions.Intersect].
//
//go:fix inline
func (p Permissions) Both(q Permissions) Permissions { return p.Intersect(q) }
