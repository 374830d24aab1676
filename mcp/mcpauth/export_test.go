package mcpauth

import (
	"context"
	"net"
	"net/http"
)

// DialBy lets a client reach what peers name by another way than the network.
func (c *Client) DialBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	for _, hc := range []*http.Client{c.publicHTTP, c.localHTTP} {
		hc.Transport.(*http.Transport).DialContext = dial
	}
}
