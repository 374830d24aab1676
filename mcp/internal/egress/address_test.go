package egress_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/egress"
)

func TestOnlyPublicAddressesAreAllowed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-184b")
	for text, want := range map[string]bool{
		"8.8.8.8":                true,
		"2606:4700::1111":        true,
		"::ffff:8.8.8.8":         true,
		"64:ff9b::808:808":       true, // NAT64 of 8.8.8.8
		"2002:808:808::1":        true, // 6to4 of 8.8.8.8
		"0.0.0.0":                false,
		"0.1.2.3":                false,
		"10.0.0.1":               false,
		"100.64.0.1":             false,
		"127.0.0.1":              false,
		"127.255.255.254":        false,
		"169.254.169.254":        false,
		"172.16.0.1":             false,
		"172.31.255.255":         false,
		"192.0.0.1":              false,
		"192.0.2.1":              false,
		"192.88.99.1":            false,
		"192.168.1.1":            false,
		"198.18.0.1":             false,
		"198.19.255.255":         false,
		"198.51.100.1":           false,
		"203.0.113.1":            false,
		"224.0.0.1":              false,
		"240.0.0.1":              false,
		"255.255.255.255":        false,
		"::":                     false,
		"::1":                    false,
		"::127.0.0.1":            false,
		"::ffff:127.0.0.1":       false,
		"::ffff:169.254.169.254": false,
		"64:ff9b::7f00:1":        false,
		"64:ff9b::a9fe:a9fe":     false,
		"64:ff9b:1::1":           false,
		"100::1":                 false,
		"2001::1":                false,
		"2001:db8::1":            false,
		"2002:7f00:1::1":         false,
		"2002:a9fe:a9fe::1":      false,
		"3fff::1":                false,
		"5f00::1":                false,
		"fc00::1":                false,
		"fd12::1":                false,
		"fe80::1":                false,
		"fe80::1%eth0":           false,
		"fec0::1":                false,
		"ff02::1":                false,
	} {
		if got := new(egress.Policy).Allows(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestPolicyAllowsMoreAddresses(t *testing.T) {
	t.Parallel()
	p := &egress.Policy{Loopback: true, Prefixes: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for text, want := range map[string]bool{
		"127.0.0.1": true, "::1": true, "10.1.2.3": true, "::ffff:10.1.2.3": true,
		"10.2.0.1": false, "169.254.169.254": false, "192.168.0.1": false,
	} {
		if got := p.Allows(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestBrowsersAreSentOnlyToPublicHosts(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-184b")
	loopback := &egress.Policy{Loopback: true}
	for host, want := range map[string][2]bool{ // by the zero policy, by one that allows loopback
		"as.example": {true, true}, "8.8.8.8": {true, true}, "2606:4700::1111": {true, true}, "localhost.example": {true, true}, "a1.example": {true, true},
		"localhost": {false, true}, "LOCALHOST.": {false, true}, "as.localhost": {false, true}, "127.0.0.1": {false, true}, "::1": {false, true}, "127.0.0.1.": {false, true},
		"10.0.0.1": {}, "169.254.169.254": {}, "::ffff:10.0.0.1": {}, "64:ff9b::a00:1": {}, "fe80::1%eth0": {},
		"127.1": {}, "2130706433": {}, "0x7f000001": {}, "0177.0.0.1": {}, "127.0.0.0x1": {}, "a.09": {}, "1.2.3.4.5": {}, "": {}, ".": {},
	} {
		for i, p := range []*egress.Policy{{}, loopback} {
			p.Lookup = names{"": {"93.184.216.34"}}.lookup
			if err := p.CheckHost(t.Context(), host); err == nil != want[i] {
				t.Errorf("%q, loopback %v: got %v", host, p.Loopback, err)
			}
		}
	}
}

// names are the addresses of names; those of "" belong to all other names.
type names map[string][]string

func (n names) lookup(_ context.Context, _, host string) ([]netip.Addr, error) {
	texts, ok := n[host]
	if !ok {
		texts = n[""]
	}
	var addrs []netip.Addr
	for _, text := range texts {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	if len(addrs) == 0 {
		return nil, errors.New("no such host")
	}
	return addrs, nil
}

func TestBrowsersAreNotSentToNamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-184b")
	lookup := names{
		"public.example": {"93.184.216.34", "2606:4700::1111"}, "loopback.example": {"127.0.0.1"}, "loopback6.example": {"::1"},
		"one-of-two.example": {"93.184.216.34", "10.0.0.1"}, "metadata.example": {"169.254.169.254"}, "mapped.example": {"::ffff:192.168.1.1"},
	}.lookup
	proxy := http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:3128"})
	for host, want := range map[string][4]bool{ // by the zero policy, and with loopback, 10.0.0.0/8 and a proxy
		"public.example": {true, true, true, true}, "PUBLIC.example.": {true, true, true, true},
		"loopback.example": {false, true, false, false}, "loopback6.example": {false, true, false, false},
		"one-of-two.example": {false, false, true, false}, "metadata.example": {}, "mapped.example": {},
		"unknown.example": {false, false, false, true},
	} {
		for i, p := range []*egress.Policy{{}, {Loopback: true}, {Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, {Proxy: proxy}} {
			p.Lookup = lookup
			err := p.CheckHost(t.Context(), host)
			if err == nil != want[i] {
				t.Errorf("%q, policy %d: got %v", host, i, err)
			}
			if _, blocked := errors.AsType[*egress.BlockedError](err); err != nil && !blocked && host != "unknown.example" {
				t.Errorf("%q, policy %d: got %v, want the blocked address", host, i, err)
			}
		}
	}
}
