package egress_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/egress"
)

// behind is the policy of a client in a company: everything goes through the proxy at the URL, but
// hosts that end in ".direct" or are the proxy itself.
func behind(proxy string, n names) *egress.Policy {
	u, _ := url.Parse(proxy)
	return &egress.Policy{Lookup: n.lookup, Proxy: func(req *http.Request) (*url.URL, error) {
		if strings.HasSuffix(req.URL.Hostname(), ".direct") || req.URL.Host == u.Host {
			return nil, nil
		}
		return u, nil
	}}
}

func TestGuardHoldsBehindAProxy(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-184b")
	proxy, proxied := counting(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "moved.example" {
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
		}
	})
	known := names{
		"public.example": {"93.184.216.34"}, "moved.example": {"93.184.216.34"}, "inside.example": {"10.0.0.1"}, "metadata.example": {"169.254.169.254"},
		"one-of-two.example": {"93.184.216.34", "127.0.0.1"},
	}
	for host, want := range map[string]struct {
		requests int32 // that the proxy gets
		blocked  bool
	}{
		"public.example": {1, false}, "unknown.example": {1, false}, "93.184.216.34": {1, false},
		"inside.example": {0, true}, "metadata.example": {0, true}, "one-of-two.example": {0, true},
		"10.0.0.1": {0, true}, "169.254.169.254": {0, true}, "[fd00::1]": {0, true}, "127.0.0.1": {0, true}, "localhost": {0, true}, "a.localhost": {0, true},
		"moved.example": {1, true},                        // the redirect leads inside
		"2130706433":    {0, false}, "0x7f.1": {0, false}, // numbers that the proxy could take for an address
	} {
		before := proxied.Load()
		err := get(t, egress.Guarded(behind(proxy, known)), "http://"+host+"/")
		_, blocked := errors.AsType[*egress.BlockedError](err)
		if n := proxied.Load() - before; n != want.requests || blocked != want.blocked || (err == nil) != (want.requests == 1 && !want.blocked) {
			t.Errorf("%s: got %v, and %d requests at the proxy, want %d", host, err, n, want.requests)
		}
	}
}

func TestTargetsWithoutTheProxyHaveTheWholeGuard(t *testing.T) {
	t.Parallel()
	proxy, proxied := counting(t, nil)
	for _, target := range []string{proxy, strings.Replace(proxy, "127.0.0.1", "localhost", 1)} {
		p := behind(proxy, nil)
		p.Proxy = func(req *http.Request) (*url.URL, error) { return nil, nil }
		err := get(t, egress.Guarded(p), target)
		if _, blocked := errors.AsType[*egress.BlockedError](err); !blocked || proxied.Load() != 0 {
			t.Errorf("%s: got %v, and %d requests", target, err, proxied.Load())
		}
	}
	// The proxy is no target that a peer may name, also after a request has gone through it.
	c := egress.Guarded(behind(proxy, names{"": {"93.184.216.34"}}))
	defer c.CloseIdleConnections()
	if resp, err := c.Get("http://public.example/"); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
	_, err := c.Get(proxy)
	if _, blocked := errors.AsType[*egress.BlockedError](err); !blocked || proxied.Load() != 1 {
		t.Errorf("got %v, and %d requests, want the one through the proxy", err, proxied.Load())
	}
}

func TestErrorsOfProxiesHaveNoPassword(t *testing.T) {
	t.Parallel()
	refusing, _ := counting(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
	u, _ := url.Parse(strings.Replace(refusing, "://", "://user:CANARY@", 1))
	for want, proxy := range map[string]func(*http.Request) (*url.URL, error){
		"the proxy answered with HTTP status 407": http.ProxyURL(u),
		"the proxy is no URL: want one such as":   func(*http.Request) (*url.URL, error) { return nil, fmt.Errorf("invalid proxy %q", u.User) },
	} {
		err := get(t, egress.Guarded(&egress.Policy{Proxy: proxy, Lookup: names{"": {"93.184.216.34"}}.lookup}), "https://public.example/")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("got %v, want %q and no password", err, want)
		}
	}
}
