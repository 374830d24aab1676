package httpserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestProxiesCannotBeGoneAround(t *testing.T) {
	t.Parallel()
	var proxies []netip.Prefix
	for _, network := range []string{"10.0.0.7/32", "192.168.1.0/24", "2001:db8::1/128"} {
		proxies = append(proxies, netip.MustParsePrefix(network))
	}
	h := onlyFrom(proxies, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "served")
	}))
	for remote, served := range map[string]bool{
		"10.0.0.7:4000": true, "[::ffff:10.0.0.7]:4000": true, "192.168.1.200:1": true, "[2001:db8::1]:1": true, "127.0.0.1:1": true, "[::1]:1": true,
		"10.0.0.8:4000": false, "203.0.113.9:1": false, "[2001:db8::2]:1": false, "[fe80::1%eth0]:1": false, "nonsense": false, "": false,
	} {
		for _, path := range []string{"/mcp", "/sse", "/", "/.well-known/oauth-protected-resource", "/mcp/../readyz", "//readyz", "/readyz", "/healthz"} {
			r := httptest.NewRequest(http.MethodPost, "http://host.test"+path, nil)
			r.RemoteAddr = remote
			r.Header.Set("X-Forwarded-For", "10.0.0.7")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if want := served || path == "/readyz" || path == "/healthz"; (w.Body.String() == "served") != want {
				t.Errorf("%s from %q: got %d %s, want served %v", path, remote, w.Code, w.Body, want)
			}
		}
	}
}
