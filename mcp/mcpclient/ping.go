package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

const (
	pingTimeout = 10 * time.Second
	maxMisses   = 3
)

var errUnresponsive = errors.New("no answer to ping")

// Ping checks that the server answers requests. In the stateless era, which has no ping,
// it sends server/discover, whose result does not come from the cache.
func (c *Client) Ping(ctx context.Context, opts ...CallOption) error {
	k, err := c.currentConnection(ctx)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	method := mcp.MethodPing
	if k.stateless() {
		method = mcp.MethodDiscover
	}
	if _, err := request[mcp.EmptyResult](ctx, c, method, nil, append(slices.Clip(opts), NoCache())); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// pingIfIdle pings the server of an idle session and returns the number of consecutive
// pings without an answer. After maxMisses of them it ends the connection.
//
// Spec: 2025-11-25 basic/utilities/ping
func (c *Client) pingIfIdle(k *connection, misses int) int {
	idle := time.Since(time.Unix(0, k.lastReceived.Load()))
	if idle < c.opts.pingInterval()*8/10 {
		return 0
	}
	if k.ping(c.ctx) {
		return 0
	}
	if misses++; misses >= maxMisses {
		c.opts.logger().Warn("connection closed: no answer to ping", "server", c.target, "pings", misses)
		k.link.End(errUnresponsive)
	}
	return misses
}

// ping reports whether the server answers; an error is an answer too.
func (k *connection) ping(ctx context.Context) bool {
	ctx, cancel := exchange.WithTimeout(ctx, pingTimeout, errUnresponsive)
	defer cancel()
	err := k.request(ctx, mcp.MethodPing, nil)
	return err == nil || answered(err)
}
