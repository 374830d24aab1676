package egress_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/egress"
)

// net/http sends such a host to the proxy in ASCII, as browsers do: 127.0.0.1, 169.254.169.254, localhost.
func TestHostsThatBecomeAddressesInASCIIAreNotRequestedOfAProxy(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-184b")
	proxy, proxied := counting(t, nil)
	for _, host := range []string{"１２７.0.0.1", "169。254。169。254", "ⓛocalhost", "127.0.0.1\u00ad", "metadata．example"} {
		p := behind(proxy, names{"metadata.example": {"169.254.169.254"}})
		if err := get(t, egress.Guarded(p), "http://"+host+"/"); err == nil || proxied.Load() != 0 {
			t.Errorf("%s: got %v, and %d requests at the proxy, want none", host, err, proxied.Load())
		}
		if err := p.CheckHost(t.Context(), host); err == nil {
			t.Errorf("%s: a browser may be sent there", host)
		}
	}
}
