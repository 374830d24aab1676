package httpserver_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/fondaco/fondaco/host/httpserver"
)

// TestMetricsAreForThisMachineAndForReaders: the sender decides, not what the request says about itself.
func TestMetricsAreForThisMachineAndForReaders(t *testing.T) {
	t.Parallel()
	h := httpserver.Metrics(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fe80::/10")})
	for _, test := range []struct {
		from, host, forwarded string
		want                  int
	}{
		{"127.0.0.1:5000", "localhost:9464", "", http.StatusOK},
		{"[::1]:5000", "[::1]:9464", "", http.StatusOK},
		{"127.0.0.1:5000", "evil.example", "", http.StatusForbidden},
		{"10.1.2.3:5000", "host.internal:9464", "", http.StatusOK},
		{"[::ffff:10.1.2.3]:5000", "host.internal:9464", "", http.StatusOK},
		{"[fe80::1%eth0]:5000", "host.internal:9464", "", http.StatusOK},
		{"192.0.2.1:5000", "localhost:9464", "", http.StatusForbidden},
		{"192.0.2.1:5000", "localhost:9464", "10.1.2.3", http.StatusForbidden},
		{"", "localhost:9464", "", http.StatusForbidden},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+test.host+"/metrics", nil)
		r.RemoteAddr = test.from
		r.Header.Set("X-Forwarded-For", test.forwarded)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("from %q for %q: got %d, want %d", test.from, test.host, w.Code, test.want)
		}
	}
}
