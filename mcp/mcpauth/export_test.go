package mcpauth

import (
	"context"
	"net"
	"net/http"
	"net/netip"
)

// DialBy lets a client reach what peers name by another way than the network.
func (c *Client) DialBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	for _, hc := range []*http.Client{c.publicHTTP, c.localHTTP} {
		hc.Transport.(*http.Transport).DialContext = dial
	}
}

// ResolveTo has all names resolve to one address before a browser is opened for them.
func ResolveTo(o *ClientOptions, address string) {
	o.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr(address)}, nil
	}
}
