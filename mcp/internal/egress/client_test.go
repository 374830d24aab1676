package egress_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// counting is a server that counts its requests.
func counting(t *testing.T, h http.HandlerFunc) (url string, hits *atomic.Int32) {
	t.Helper()
	hits = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if h != nil {
			h(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, hits
}

func get(t *testing.T, c *http.Client, url string) error {
	t.Helper()
	resp, err := c.Get(url)
	if err == nil {
		resp.Body.Close()
	}
	c.CloseIdleConnections()
	return err
}

func TestGuardedClientDoesNotReachThisMachine(t *testing.T) {
	t.Parallel()
	url, hits := counting(t, nil)
	port := url[strings.LastIndex(url, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"} {
		err := get(t, egress.Guarded(nil), "http://"+host+port)
		if err == nil {
			t.Errorf("%s: connected", host)
		}
		if blocked, ok := errors.AsType[*egress.BlockedError](err); ok && blocked.Addr == (netip.Addr{}) {
			t.Errorf("%s: the error names no address", host)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests came through", hits.Load())
	}
	if err := get(t, egress.Guarded(&egress.Policy{Loopback: true}), url); err != nil || hits.Load() != 1 {
		t.Errorf("where loopback is allowed: %v", err)
	}
}

func TestGuardedClientWithoutAProxyUsesNone(t *testing.T) {
	proxy, proxied := counting(t, nil)
	target, hits := counting(t, nil)
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	if err := get(t, egress.Guarded(&egress.Policy{Loopback: true}), target); err != nil || hits.Load() != 1 || proxied.Load() != 0 {
		t.Errorf("%v: %d direct, %d by the proxy", err, hits.Load(), proxied.Load())
	}
}

func TestGuardedRedirects(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-184b")
	target, hits := counting(t, nil)
	away, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	})
	loop, _ := counting(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) })
	c := egress.Guarded(&egress.Policy{Loopback: true})
	defer c.CloseIdleConnections()
	if err := get(t, c, away); err != nil || hits.Load() != 1 {
		t.Errorf("GET: %v", err)
	}
	if _, err := c.Post(away, "application/json", strings.NewReader("{}")); err == nil || hits.Load() != 1 {
		t.Errorf("POST was redirected: %v", err)
	}
	if err := get(t, c, loop+"/"); err == nil || !strings.Contains(err.Error(), "at most 3") {
		t.Errorf("loop: %v", err)
	}
}

func TestConfiguredClientIsACopyWithoutTimeout(t *testing.T) {
	t.Parallel()
	base := &http.Client{Timeout: time.Nanosecond, Transport: new(http.Transport)}
	c := egress.Configured(base, slog.Default())
	if c.Timeout != 0 || c.CheckRedirect == nil || c.Transport != base.Transport || base.Timeout != time.Nanosecond || base.CheckRedirect != nil {
		t.Errorf("got %+v of %+v", c, base)
	}
	if c := egress.Configured(nil, slog.Default()); c.Transport == nil || c.Transport == http.DefaultTransport {
		t.Error("want a transport of its own")
	}
}

func TestPanicOfAProxyFunctionIsAnErrorOfItsRequest(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	c := egress.Configured(&http.Client{Transport: &http.Transport{
		Proxy: func(*http.Request) (*url.URL, error) { panic("no proxy today") },
	}}, slog.New(slog.NewTextHandler(&log, nil)))
	if err := get(t, c, "http://127.0.0.1:1/"); err == nil || !strings.Contains(err.Error(), "panic: no proxy today") {
		t.Errorf("got %v, want the panic as an error", err)
	}
	if !strings.Contains(log.String(), "HTTP client panicked") {
		t.Errorf("got the log %q, want the panic in it", log.String())
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"https://Example.com/a", "https://example.com:443/b?c", "HTTPS://user@EXAMPLE.COM"},
		{"http://example.com", "http://example.com:80/"},
		{"http://[::1]:8080/", "http://[::1]:8080"},
		{"http://example.com:443"},
		{"https://example.com:80"},
		{"https://example.com.:443"},
	} {
		for _, text := range same {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			first, _ := url.Parse(same[0])
			if got, want := egress.Origin(u), egress.Origin(first); got != want {
				t.Errorf("%s: got %s, want %s", text, got, want)
			}
		}
	}
	seen := map[string]string{}
	for _, text := range []string{"http://a", "https://a", "http://b", "http://a:81", "http://[::1]", "https://a:80"} {
		u, _ := url.Parse(text)
		if other, ok := seen[egress.Origin(u)]; ok {
			t.Errorf("%s and %s have one origin", text, other)
		}
		seen[egress.Origin(u)] = text
	}
}
