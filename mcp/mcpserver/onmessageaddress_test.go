package mcpserver_test

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMessagesHaveTheAddressOfTheirClient(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ peer, forwarded, want string }{
		{"203.0.113.9:4000", "198.51.100.7", "203.0.113.9"}, // a claim of the client
		{"10.0.0.1:4000", "198.51.100.7", "198.51.100.7"},
		{"nowhere", "", "invalid IP"},
	} {
		var got []string
		s := mcpserver.New("weather", "1.0.0", &mcpserver.Options{
			HTTP:      &mcpserver.HTTPOptions{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, AllowedHosts: []string{"weather.example"}},
			OnMessage: func(m mcp.WireMessage) { got = append(got, m.Address.String()) },
		})
		r := httptest.NewRequest("POST", "http://weather.example/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("X-Forwarded-For", test.forwarded)
		r.RemoteAddr = test.peer
		s.HTTPHandler().ServeHTTP(httptest.NewRecorder(), r)
		if len(got) < 2 || got[0] != test.want || got[len(got)-1] != test.want {
			t.Errorf("%s: got %q, want the request and the response with %s", test.peer, got, test.want)
		}
	}
}
