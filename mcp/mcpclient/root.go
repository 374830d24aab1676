package mcpclient

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// roots answers roots/list of the server.
//
// Spec: 2026-07-28 client/roots
func (c *Client) roots(ctx context.Context, f *dialect.Facts) (any, error) {
	if c.opts.Roots == nil {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "%s: this client does not support roots", mcp.MethodRootsList)
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

// RootsChanged notifies the server that the roots have changed, so that it lists them
// again. In the stateless era it does nothing, because a server lists the roots whenever
// it needs them.
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

// Directories returns a handler for Options.Roots. Its roots are those of the given
// directories and files that exist when the server asks. It panics if a path is not
// absolute.
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func Directories(paths ...string) func(context.Context) ([]mcp.Root, error) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			panic(fmt.Sprintf("mcpclient.Directories: %q: want an absolute path", path))
		}
	}
	return func(context.Context) ([]mcp.Root, error) {
		roots := []mcp.Root{}
		for _, path := range paths {
			if _, err := os.Stat(path); err == nil {
				name := strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "/")
				u := url.URL{Scheme: "file", Path: "/" + name}
				roots = append(roots, mcp.Root{URI: u.String(), Name: filepath.Base(path)})
			}
		}
		return roots, nil
	}
}
