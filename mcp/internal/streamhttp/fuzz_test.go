package streamhttp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// FuzzGate looks for headers with which a page of another origin, or a name
// that was made to point here, passes a server on loopback with no options set.
func FuzzGate(f *testing.F) {
	for _, seed := range [][5]string{
		{"localhost:8080", "", "", "application/json", "*/*"},
		{"LOCALHOST.", "http://localhost.", "same-origin", "application/json; charset=utf-8", "application/json, text/event-stream"},
		{"[::1]:1", "http://[::1]:1", "none", "text/plain", "text/html;q=0"},
		{"127.0.0.1.nip.io", "null", "cross-site", "", ""},
		{"localhost@evil.example", "http://localhost:8080@evil.example", "", "application/json;charset=\"utf-8\"", "a,,;q=,*/*;q=1e9"},
		{"[::ffff:127.0.0.1%25lo]", "http://evil.example", "same-site", "multipart/form-data", "text/*;q=0.0"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	g := newOriginCheck(nil)
	f.Fuzz(func(t *testing.T, host, origin, site, contentType, accept string) {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, loopback4))
		r.Host = host
		for name, value := range map[string]string{httpheader.Origin: origin, httpheader.SecFetchSite: site, httpheader.ContentType: contentType, httpheader.Accept: accept} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		if g.admit(w, r) == nil {
			if !namesLoopback(host) {
				t.Errorf("host %q passed", host)
			}
			if origin != "" && !strings.EqualFold(origin, "http://"+host) && !strings.EqualFold(origin, "https://"+host) {
				t.Errorf("origin %q passed for host %q", origin, host)
			}
			if site == "cross-site" {
				t.Error("a cross-site request passed")
			}
		}
		if len(w.Header()) > 0 {
			t.Errorf("got headers %v, want none", w.Header())
		}
		if checkContent(r.Header) == nil && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), httpheader.TypeJSON) {
			t.Errorf("content type %q passed", contentType)
		}
		if checkAccept(r.Header, httpheader.TypeEventStream) == nil && accept != "" && !strings.Contains(accept, "*") && !strings.Contains(strings.ToLower(accept), httpheader.TypeEventStream) {
			t.Errorf("accept %q passed", accept)
		}
	})
}

// namesLoopback is what the gate is held against: the name without its port.
func namesLoopback(host string) bool {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" && (strings.HasSuffix(host[:i], "]") || !strings.Contains(host[:i], ":")) {
		host = host[:i]
	}
	name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
