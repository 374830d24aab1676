package streamhttp

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// Addresses at which a request can arrive.
var (
	loopback4 = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	loopback6 = &net.TCPAddr{IP: net.IPv6loopback, Port: 8080}
	outside   = &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 8080}
	socket    = &net.UnixAddr{Name: "/run/mcp.sock", Net: "unix"}
)

// admitted returns the status with which the gate refuses a request, or 200.
func admitted(o *Options, local net.Addr, host string, headers ...string) int {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Host = host
	if local != nil {
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	if refused := newOriginCheck(o).admit(httptest.NewRecorder(), r); refused != nil {
		return refused.status
	}
	return http.StatusOK
}

// S-029, A04.
func TestHostHeaderMustNameTheServer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-128c")
	named := &Options{AllowedHosts: []string{"mcp.example.com", "other.example.com:8443", "[2001:db8::1]"}}
	for _, tt := range []struct {
		name  string
		o     *Options
		local net.Addr
		host  string
		want  int
	}{
		{"localhost", nil, loopback4, "localhost", 200},
		{"localhost with port", nil, loopback4, "localhost:8080", 200},
		{"case", nil, loopback4, "LOCALHOST:8080", 200},
		{"trailing dot", nil, loopback4, "localhost.:8080", 200},
		{"IPv4", nil, loopback4, "127.0.0.1:8080", 200},
		{"IPv4 elsewhere on loopback", nil, loopback4, "127.8.9.1", 200},
		{"IPv6", nil, loopback6, "[::1]:8080", 200},
		{"IPv6 without port", nil, loopback6, "[::1]", 200},
		{"IPv4 in IPv6", nil, loopback6, "[::ffff:127.0.0.1]:8080", 200},

		{"foreign name", nil, loopback4, "evil.example", 403},
		{"foreign name on IPv6", nil, loopback6, "evil.example:8080", 403},
		{"foreign name with dot", nil, loopback4, "evil.example.", 403},
		{"suffix", nil, loopback4, "localhost.evil", 403},
		{"prefix", nil, loopback4, "evil-localhost", 403},
		{"name that resolves to loopback", nil, loopback4, "127.0.0.1.nip.io", 403},
		{"subdomain of localhost", nil, loopback4, "evil.localhost", 403},
		{"any address", nil, loopback4, "0.0.0.0:8080", 403},
		{"short address", nil, loopback4, "127.1", 403},
		{"octal address", nil, loopback4, "0177.0.0.1", 403},
		{"zone", nil, loopback6, "[::1%25lo]:8080", 403},
		{"address of the network", nil, loopback4, "192.168.1.5:8080", 403},
		{"configured elsewhere", nil, loopback4, "mcp.example.com", 403},

		{"missing", nil, loopback4, "", 400},
		{"missing outside", nil, outside, "", 400},
		{"port alone", nil, loopback4, ":8080", 400},
		{"user", nil, loopback4, "localhost@evil.example", 400},
		{"path", nil, loopback4, "localhost/evil.example", 400},
		{"two ports", nil, loopback4, "localhost:1:2", 400},
		{"bare IPv6", nil, loopback6, "::1", 400},
		{"open bracket", nil, loopback6, "[::1", 400},
		{"bracketed name", nil, loopback4, "[localhost]", 400},
		{"port of letters", nil, loopback4, "localhost:http", 400},
		{"blank", nil, loopback4, "local host", 400},
		{"not ASCII", nil, loopback4, "löcalhost", 400},

		{"no address known, loopback name", nil, nil, "localhost", 200},
		{"no address known, foreign name", nil, nil, "evil.example", 403},
		{"outside without names", nil, outside, "anything.example", 200},
		{"unix socket", nil, socket, "whatever", 200},

		{"configured", named, outside, "mcp.example.com", 200},
		{"configured with any port", named, outside, "MCP.example.com.:9999", 200},
		{"configured with its port", named, outside, "other.example.com:8443", 200},
		{"configured with another port", named, outside, "other.example.com:8444", 403},
		{"configured without its port", named, outside, "other.example.com", 403},
		{"configured address", named, outside, "[2001:db8::1]:8080", 200},
		{"configured behind a local proxy", named, loopback4, "mcp.example.com", 200},
		{"loopback beside configured", named, loopback4, "127.0.0.1:8080", 200},
		{"not configured", named, outside, "evil.example", 403},
		{"subdomain of configured", named, outside, "evil.mcp.example.com", 403},
		{"unix socket not configured", named, socket, "evil.example", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := admitted(tt.o, tt.local, tt.host); got != tt.want {
				t.Errorf("host %q: got %d, want %d", tt.host, got, tt.want)
			}
		})
	}
}

// S-030, A03.
func TestOriginIsTheServersOwnOrAllowed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-098b", "R-127b")
	allowing := &Options{AllowedOrigins: []string{"https://app.example.com", "vscode-webview://panel", "https://port.example.com:443", "HTTP://port.example.com:80"}}
	everyone := &Options{AllowedOrigins: []string{"*"}}
	named := &Options{AllowedHosts: []string{"mcp.example.com"}}
	for _, tt := range []struct {
		name  string
		o     *Options
		local net.Addr
		host  string
		send  []string
		want  int
	}{
		{"absent", nil, loopback4, "localhost:8080", nil, 200},
		{"own", nil, loopback4, "localhost:8080", []string{"Origin", "http://localhost:8080"}, 200},
		{"own behind TLS", nil, loopback4, "localhost:8080", []string{"Origin", "https://localhost:8080"}, 200},
		{"own in capitals", nil, loopback4, "localhost:8080", []string{"Origin", "HTTP://LOCALHOST:8080"}, 200},
		{"own, IPv6", nil, loopback6, "[::1]:8080", []string{"Origin", "http://[::1]:8080"}, 200},
		{"own, said by the browser too", nil, loopback4, "localhost:8080", []string{"Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-origin"}, 200},

		{"foreign", nil, loopback4, "localhost:8080", []string{"Origin", "https://evil.example"}, 403},
		{"other port", nil, loopback4, "localhost:8080", []string{"Origin", "http://localhost:3000"}, 403},
		{"other loopback name", nil, loopback4, "localhost:8080", []string{"Origin", "http://127.0.0.1:8080"}, 403},
		{"null", nil, loopback4, "localhost:8080", []string{"Origin", "null"}, 403},
		{"empty", nil, loopback4, "localhost:8080", []string{"Origin", ""}, 403},
		{"no scheme", nil, loopback4, "localhost:8080", []string{"Origin", "localhost:8080"}, 403},
		{"other scheme", nil, loopback4, "localhost:8080", []string{"Origin", "ftp://localhost:8080"}, 403},
		{"with a path", nil, loopback4, "localhost:8080", []string{"Origin", "http://localhost:8080/"}, 403},
		{"with a user", nil, loopback4, "localhost:8080", []string{"Origin", "http://evil@localhost:8080"}, 403},
		{"twice", nil, loopback4, "localhost:8080", []string{"Origin", "http://localhost:8080", "Origin", "http://localhost:8080"}, 403},
		{"cross-site without origin", nil, loopback4, "localhost:8080", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"cross-site with own origin", nil, loopback4, "localhost:8080", []string{"Origin", "http://localhost:8080", "Sec-Fetch-Site", "cross-site"}, 403},
		{"typed by the user", nil, loopback4, "localhost:8080", []string{"Sec-Fetch-Site", "none"}, 200},

		{"rebound name outside", nil, outside, "evil.example:8080", []string{"Origin", "http://evil.example:8080"}, 403},
		{"address outside", nil, outside, "192.168.1.5:8080", []string{"Origin", "http://192.168.1.5:8080"}, 200},
		{"configured name outside", named, outside, "mcp.example.com", []string{"Origin", "https://mcp.example.com"}, 200},

		{"allowed", allowing, loopback4, "localhost:8080", []string{"Origin", "https://app.example.com"}, 200},
		{"allowed, cross-site", allowing, loopback4, "localhost:8080", []string{"Origin", "https://app.example.com", "Sec-Fetch-Site", "cross-site"}, 200},
		{"allowed, other scheme", allowing, loopback4, "localhost:8080", []string{"Origin", "vscode-webview://panel"}, 200},
		{"allowed, with the default port", allowing, loopback4, "localhost:8080", []string{"Origin", "https://app.example.com:443"}, 200},
		{"allowed with the default port", allowing, loopback4, "localhost:8080", []string{"Origin", "https://port.example.com"}, 200},
		{"allowed with the default port, over http", allowing, loopback4, "localhost:8080", []string{"Origin", "http://port.example.com"}, 200},
		{"allowed, with the port of the other scheme", allowing, loopback4, "localhost:8080", []string{"Origin", "https://app.example.com:80"}, 403},
		{"allowed, over http", allowing, loopback4, "localhost:8080", []string{"Origin", "http://app.example.com"}, 403},
		{"allowed, other port", allowing, loopback4, "localhost:8080", []string{"Origin", "https://app.example.com:8443"}, 403},
		{"allowed, subdomain", allowing, loopback4, "localhost:8080", []string{"Origin", "https://x.app.example.com"}, 403},
		{"not allowed beside", allowing, loopback4, "localhost:8080", []string{"Origin", "https://evil.example"}, 403},
		{"allowed origin does not allow the host", allowing, loopback4, "evil.example", []string{"Origin", "https://app.example.com"}, 403},
		{"all", everyone, loopback4, "localhost:8080", []string{"Origin", "https://evil.example"}, 200},
		{"all but null", everyone, loopback4, "localhost:8080", []string{"Origin", "null"}, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := admitted(tt.o, tt.local, tt.host, tt.send...); got != tt.want {
				t.Errorf("host %q, %q: got %d, want %d", tt.host, tt.send, got, tt.want)
			}
		})
	}
}

// A04, A17: the gate checks every method of every binding, without any option.
func TestGateChecksEveryMethodOfEveryBinding(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-092a", "R-098a", "R-098b", "R-127a", "R-127b", "R-128c")
	for name, make := range bindings {
		core := newTestCore(plainTools)
		handler := make(core, nil)
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		t.Cleanup(func() { handler.Close() })
		for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS", "PUT", "HEAD"} {
			for _, header := range [][]string{
				{"Host", "evil.example"},
				{"Origin", "https://evil.example"},
				{"Origin", "null"},
				{"Sec-Fetch-Site", "cross-site"},
			} {
				t.Run(name+" "+method+" "+strings.Join(header, " "), func(t *testing.T) {
					r := request(t.Context(), t, method, server.URL, initialize, header...)
					resp, err := server.Client().Do(r)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					if resp.StatusCode != http.StatusForbidden {
						t.Errorf("got %d, want 403", resp.StatusCode)
					}
				})
			}
		}
		if opened, _, requests := core.counts(); opened+requests > 0 {
			t.Errorf("%s: %d sessions and %d requests reached the core, want none", name, opened, requests)
		}
	}
}

// closer is what both bindings are.
type closer interface {
	http.Handler
	Close() error
}

var bindings = map[string]func(*testCore, *Options) closer{
	"streamable":  func(core *testCore, o *Options) closer { return NewHandler(core, o) },
	"eventstream": func(core *testCore, o *Options) closer { return NewSSEHandler(core, o) },
}

func TestOptionsThatCannotMatchPanic(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*Options{
		"host with a scheme":      {AllowedHosts: []string{"https://mcp.example.com"}},
		"host with a path":        {AllowedHosts: []string{"mcp.example.com/mcp"}},
		"empty host":              {AllowedHosts: []string{""}},
		"host with a wildcard":    {AllowedHosts: []string{"*.example.com"}},
		"every host":              {AllowedHosts: []string{"*"}},
		"origin without a scheme": {AllowedOrigins: []string{"app.example.com"}},
		"origin of slashes":       {AllowedOrigins: []string{"//app.example.com"}},
		"name and port":           {AllowedOrigins: []string{"localhost:3000"}},
		"origin with a path":      {AllowedOrigins: []string{"https://app.example.com/"}},
		"origin with a query":     {AllowedOrigins: []string{"https://app.example.com?"}},
		"origin with a fragment":  {AllowedOrigins: []string{"https://app.example.com#"}},
		"origin with a user":      {AllowedOrigins: []string{"https://ada@app.example.com"}},
		"origin with a wildcard":  {AllowedOrigins: []string{"https://*.example.com"}},
		"origin without a port":   {AllowedOrigins: []string{"https://app.example.com:"}},
		"port 0":                  {AllowedOrigins: []string{"https://app.example.com:0"}},
		"port that is none":       {AllowedOrigins: []string{"https://app.example.com:70000"}},
		"origin outside of ASCII": {AllowedOrigins: []string{"https://bücher.example"}},
		"null":                    {AllowedOrigins: []string{"null"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("newGate did not panic")
				}
			}()
			newOriginCheck(o)
		})
	}
}

func TestWildcardOriginExcludesAuthenticatedRequests(t *testing.T) {
	t.Parallel()
	const app = "https://app.example.com"
	for name, binding := range bindings {
		h := byToken(binding(newTestCore(plainTools), &Options{AllowedOrigins: []string{"*"}}))
		w := serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", ping, "Origin", app))
		if w.Code == 403 || w.Header().Get(httpheader.CORSAllowOrigin) != app {
			t.Errorf("%s: anonymous: got status %d, %s %q, want the origin allowed", name, w.Code, httpheader.CORSAllowOrigin, w.Header().Get(httpheader.CORSAllowOrigin))
		}
		w = serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", ping, "Origin", app, httpheader.Authorization, "A"))
		if w.Code != 403 || w.Header().Get(httpheader.CORSAllowOrigin) != "" {
			t.Errorf("%s: authenticated: got status %d, %s %q, %s, want 403", name, w.Code, httpheader.CORSAllowOrigin, w.Header().Get(httpheader.CORSAllowOrigin), w.Body)
		}
		w = serveRecorded(h, request(t.Context(), t, "POST", "http://localhost/", ping, "Origin", "http://localhost", httpheader.Authorization, "A"))
		if w.Code == 403 {
			t.Errorf("%s: the server's own origin, authenticated: got %s", name, w.Body)
		}
	}
}

// A18.
func TestCORSHeadersAppearForAllowedOriginsOnly(t *testing.T) {
	t.Parallel()
	const app = "https://app.example.com"
	s := serveTest(t, newTestCore(plainTools), &Options{AllowedOrigins: []string{app}})
	plain := serveTest(t, newTestCore(plainTools), nil)

	a := s.post(initialize, "Origin", app)
	if got := a.header.Get(httpheader.CORSAllowOrigin); a.status != 200 || got != app {
		t.Errorf("allowed origin: got status %d, %s %q, want 200, %q", a.status, httpheader.CORSAllowOrigin, got, app)
	}
	if got, want := a.header.Get(httpheader.CORSExposeHeaders), "Mcp-Session-Id, WWW-Authenticate, Retry-After"; got != want {
		t.Errorf("exposed headers: got %q, want %q", got, want)
	}
	for name, a := range map[string]answer{
		"foreign origin":     s.post(initialize, "Origin", "https://evil.example"),
		"own origin":         s.post(initialize, "Origin", s.URL),
		"no origin":          s.post(initialize),
		"nothing configured": plain.post(initialize, "Origin", plain.URL),
		"foreign preflight":  s.do("OPTIONS", "", "Origin", "https://evil.example", httpheader.CORSRequestMethod, "POST"),
		"preflight of none":  plain.do("OPTIONS", "", "Origin", plain.URL, httpheader.CORSRequestMethod, "POST"),
	} {
		for header := range a.header {
			if strings.HasPrefix(header, "Access-Control-") {
				t.Errorf("%s: got header %s: %q, want none", name, header, a.header.Get(header))
			}
		}
	}
	if got := s.post(initialize).header.Get(httpheader.Vary); got != httpheader.Origin {
		t.Errorf("vary: got %q, want %q", got, httpheader.Origin)
	}

	a = s.do("OPTIONS", "", "Origin", app, httpheader.CORSRequestMethod, "POST",
		httpheader.CORSRequestHeaders, "content-type, authorization, mcp-param-region,x-evil , mcp-session-id")
	if a.status != http.StatusNoContent {
		t.Fatalf("preflight: got status %d, want 204", a.status)
	}
	if got, want := a.header.Get(httpheader.CORSAllowHeaders), "content-type, authorization, mcp-param-region, mcp-session-id"; got != want {
		t.Errorf("preflight: got headers %q, want %q", got, want)
	}
	if got, want := a.header.Get(httpheader.CORSAllowMethods), "GET, POST, DELETE"; got != want {
		t.Errorf("preflight: got methods %q, want %q", got, want)
	}
}

func TestPagesOfAllowedOriginsCanReadRefusals(t *testing.T) {
	t.Parallel()
	const app = "https://app.example.com"
	check := func(name string, want, status int, h http.Header) {
		t.Helper()
		got := []string{h.Get(httpheader.CORSAllowOrigin), h.Get(httpheader.CORSExposeHeaders)}
		if headers := []string{app, "Mcp-Session-Id, WWW-Authenticate, Retry-After"}; status != want || !slices.Equal(got, headers) {
			t.Errorf("%s: got %d, %q, want %d, %q", name, status, got, want, headers)
		}
	}
	o := &Options{AllowedOrigins: []string{app}, PrincipalSessions: 1}
	foreign := request(t.Context(), t, "POST", "http://localhost/", initialize, "Origin", app)
	foreign.Host = "evil.example"
	w := serveRecorded(NewHandler(newTestCore(plainTools), o), foreign)
	check("foreign host", http.StatusForbidden, w.Code, w.Header())

	s := serveTest(t, newTestCore(plainTools), o)
	open := func() answer { return s.post(initialize, "Origin", app, httpheader.Authorization, "A") }
	first := open()
	check("the first session", http.StatusOK, first.status, first.header)
	stream := s.start("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.SessionID, first.header.Get(httpheader.SessionID), httpheader.Authorization, "A")
	defer stream.close()
	second := open()
	check("a session while the first is in use", http.StatusTooManyRequests, second.status, second.header)
}

func TestRefusalsEndWithTheAdviceOfTheOptions(t *testing.T) {
	t.Parallel()
	h := NewHandler(newTestCore(plainTools), &Options{HostAdvice: "want --allow-host", OriginAdvice: "want --allow-origin"})
	for _, test := range []struct{ host, header, value, want string }{
		{"evil.example", "Accept", "*/*", `host \"evil.example\": not a name of this server: its allowed hosts do not list it; want --allow-host"`},
		{"localhost", "Origin", "https://evil.example", `origin \"https://evil.example\": not among the allowed origins; want --allow-origin"`},
		{"localhost", "Sec-Fetch-Site", "cross-site", `its origin is not among the allowed origins; want --allow-origin"`},
	} {
		r := request(t.Context(), t, "POST", "http://localhost/", ping, test.header, test.value)
		r.Host = test.host
		if w := serveRecorded(h, r); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s %s: got %d, %s, want %s", test.host, test.value, w.Code, w.Body, test.want)
		}
	}
}
