package exchange_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

func TestLoopbackIsDecidedByTheLocalAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		local net.Addr
		want  bool
	}{
		{"IPv4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, true},
		{"IPv6", &net.TCPAddr{IP: net.IPv6loopback}, true},
		{"another address", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}, false},
		{"a socket file", &net.UnixAddr{Name: "s", Net: "unix"}, false},
		{"unknown", nil, true},
	} {
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, tt.local), "POST", "/", nil)
		h := exchange.DescribeHTTP(r)
		if got := h.OnLoopback(); got != tt.want || h.IsZero() {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRequestWithoutHeadersIsStillOne(t *testing.T) {
	t.Parallel()
	bare, none := exchange.DescribeHTTP(new(http.Request)), exchange.DescribeHTTP(nil)
	if bare.IsZero() || !none.IsZero() {
		t.Errorf("got %v and %v, want a request and none", bare, none)
	}
}
