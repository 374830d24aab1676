package mcpauth

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
)

// DialBy lets a client reach what peers name by another way than the network.
func (c *Client) DialBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	for _, hc := range []*http.Client{c.publicHTTP, c.localHTTP} {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy, t.DialContext, t.TLSClientConfig = nil, dial, &tls.Config{RootCAs: c.opts.RootCAs}
		hc.Transport = t
	}
}

// ResolveTo has all names resolve to one address before a browser is opened for them, or a proxy
// asked; none if it is empty.
func ResolveTo(o *ClientOptions, address string) {
	o.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		if address == "" {
			return nil, errors.New("no such host")
		}
		return []netip.Addr{netip.MustParseAddr(address)}, nil
	}
}

// Proxies returns the functions that say which requests of a client and of a resource use a proxy.
func Proxies(o *ClientOptions) []func(*http.Request) (*url.URL, error) {
	return []func(*http.Request) (*url.URL, error){o.orZero().policy(false).Proxy, o.orZero().policy(true).Proxy, newResourceSettings().policy("https://id.example.com").Proxy}
}
