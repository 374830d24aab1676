package mcpauth_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// loggingProxy is the proxy of a company. It is the only one that knows where names lead.
type loggingProxy struct {
	*httptest.Server

	mu     sync.Mutex
	routes map[string]string // by host:port
	log    []string          // "CONNECT host:port"
}

func newLoggingProxy(tb testing.TB, routes map[string]string) *loggingProxy {
	tb.Helper()
	p := &loggingProxy{routes: routes}
	p.Server = httptest.NewServer(p)
	tb.Cleanup(p.Close)
	return p
}

func (p *loggingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.log = append(p.log, r.Method+" "+r.Host)
	route := p.routes[r.Host]
	p.mu.Unlock()
	if r.Method != http.MethodConnect || route == "" {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	there, err := net.Dial("tcp", route)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, received, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(there, received); _ = there.(*net.TCPConn).CloseWrite() }()
	_, _ = io.Copy(here, there)
	_ = here.Close()
	<-done
}

// took returns what the proxy was asked for, each once.
func (p *loggingProxy) took() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := slices.Compact(slices.Sorted(slices.Values(p.log)))
	p.log = nil
	return asked
}

// newProxiedRealm returns a realm whose servers have names, and the proxy that leads to them.
func newProxiedRealm(tb testing.TB) (*realm, *loggingProxy) {
	r := newRealm(tb)
	p := newLoggingProxy(tb, map[string]string{
		"mcp.example.com:443": r.server.Listener.Addr().String(), "id.example.com:443": r.issuer.Listener.Addr().String(),
	})
	r.server.URL, r.issuer.URL = "https://mcp.example.com", "https://id.example.com"
	r.challenge = `Bearer resource_metadata="` + r.server.URL + `/prm"`
	r.resource = map[string]members{"/prm": {"resource": r.mcp(), "authorization_servers": []string{r.issuer.URL}}}
	r.metadata = map[string]members{serverPlace: r.issuerMetadata("")}
	return r, p
}

// TestSignInUsesTheProxy has a machine that knows no names, as behind the proxy of a company.
func TestSignInUsesTheProxy(t *testing.T) {
	t.Parallel()
	r, p := newProxiedRealm(t)
	o := r.options()
	o.Proxy, _ = url.Parse(p.URL)
	mcpauth.ResolveTo(o, "")
	c := mcpauth.NewClient(o)
	r.succeeds(c)
	r.kill(false)
	r.succeeds(c)
	want := []string{"CONNECT id.example.com:443", "CONNECT mcp.example.com:443"}
	if got := p.took(); !slices.Equal(got, want) {
		t.Errorf("the proxy was asked for %q, want %q", got, want)
	}
	if len(r.clients) != 1 || len(r.asked) != 1 || len(r.forms) != 2 {
		t.Errorf("got %d registrations, %d sign-ins and %d token requests, want 1, 1 and 2", len(r.clients), len(r.asked), len(r.forms))
	}
}

// TestProxiesOfTheEnvironmentAreTheDefault compares functions, because net/http reads the
// environment once in a process.
func TestProxiesOfTheEnvironmentAreTheDefault(t *testing.T) {
	t.Parallel()
	want := reflect.ValueOf(http.ProxyFromEnvironment).Pointer()
	for i, proxy := range mcpauth.Proxies(nil) {
		if reflect.ValueOf(proxy).Pointer() != want {
			t.Errorf("policy %d: got another function, want http.ProxyFromEnvironment", i)
		}
	}
}

func TestProxyIsNotAskedForAddressesInside(t *testing.T) {
	t.Parallel()
	for name, lead := range map[string]func(r *realm, to string){
		"resource_metadata":     func(r *realm, to string) { r.challenge = `Bearer resource_metadata="` + to + `"` },
		"authorization_server":  func(r *realm, to string) { r.resource["/prm"]["authorization_servers"] = []string{to} },
		"token_endpoint":        func(r *realm, to string) { r.metadata[serverPlace]["token_endpoint"] = to },
		"registration_endpoint": func(r *realm, to string) { r.metadata[serverPlace]["registration_endpoint"] = to },
	} {
		for _, host := range []string{"169.254.169.254", "10.0.0.1", "[fd00::1]", "127.0.0.1"} {
			r, p := newProxiedRealm(t)
			lead(r, "https://"+host+"/latest")
			o := r.options()
			o.Proxy, _ = url.Parse(p.URL)
			mcpauth.ResolveTo(o, "")
			err := r.fails(mcpauth.NewClient(o), "ClientOptions.Prefixes")
			if _, blocked := errors.AsType[*egress.BlockedError](err); !blocked {
				t.Errorf("%s at %s: got %v", name, host, err)
			}
			if got := strings.Join(p.took(), " "); strings.Contains(got, host) {
				t.Errorf("%s: the proxy was asked for %s", name, got)
			}
		}
	}
}
