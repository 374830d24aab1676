package mcpclient

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

// SetLogLevel chooses the least urgent level of the log messages that OnLog is
// to get from now on. In the session era the server is told; in the stateless
// era every call says it.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LoggingLevel) error {
	err := c.setLogLevel(ctx, level)
	if err != nil {
		return fmt.Errorf("%s: %w", mcp.MethodSetLevel, err)
	}
	return nil
}

func (c *Client) setLogLevel(ctx context.Context, level mcp.LoggingLevel) error {
	if !level.Valid() {
		return fmt.Errorf("level %.32q: want one of RFC 5424, such as %q", level, mcp.LevelInfo)
	}
	k, err := c.live(ctx)
	if err != nil {
		return err
	}
	if !k.stateless() {
		if _, err := ask[mcp.EmptyResult](ctx, c, mcp.MethodSetLevel, &mcp.SetLevelParams{Level: level}, nil); err != nil {
			return err
		}
	}
	c.level.Store(&level)
	return nil
}

// logLevel returns the level that a call of the stateless era asks for, or none.
func (c *Client) logLevel(r *Request) mcp.LoggingLevel {
	if r.opts.level != "" {
		return r.opts.level
	}
	if l := c.level.Load(); l != nil {
		return *l
	}
	if c.opts.OnLog != nil {
		return mcp.LevelInfo
	}
	return ""
}

// restoreLogLevel tells a new session the level that was chosen. A server that
// refuses is a server without that level, and no worse.
func (c *Client) restoreLogLevel(ctx context.Context, k *connection) {
	level := c.level.Load()
	if level == nil || k.stateless() || k.agreed.Load().capabilities.Logging == nil {
		return
	}
	if err := k.ask(ctx, mcp.MethodSetLevel, &mcp.SetLevelParams{Level: *level}); err != nil {
		c.opts.logger().Warn("log level not taken", "level", string(*level), "error", err)
	}
}
