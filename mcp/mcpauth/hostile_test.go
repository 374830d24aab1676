package mcpauth_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

const serverPlace = "/.well-known/oauth-authorization-server"

// variants are URLs that look like another one, and are not it.
func variants(of string) map[string]string {
	u, _ := url.Parse(of)
	return map[string]string{
		"scheme in upper case": "HTTPS://" + u.Host,
		"host in upper case":   "https://LOCALHOST:" + u.Port(),
		"another name":         "https://localhost:" + u.Port(),
		"no port":              "https://" + u.Hostname(),
		"another port":         "https://" + u.Hostname() + ":443",
		"zero before the port": "https://" + u.Hostname() + ":0" + u.Port(),
		"two slashes":          of + "//",
		"slash of a path":      of + "/tenant/",
		"slash after a query":  of + "?/",
		"slash in a fragment":  of + "#/",
		"user before a slash":  "https://x@" + u.Host + "/",
		"backslash":            of + "\\",
		"backslash and slash":  of + "\\/",
		"upper case and slash": "HTTPS://" + u.Host + "/",
		"port 443 and slash":   "https://" + u.Hostname() + ":443/",
		"space and slash":      of + " /",
		"dot":                  of + "/.",
		"escaped slash":        of + "/%2F",
		"escaped dot":          "https://127%2E0.0.1:" + u.Port(),
		"escaped letter":       of + "/%61",
		"path":                 of + "/tenant",
		"query":                of + "?",
		"fragment":             of + "#",
		"user":                 "https://x@" + u.Host,
		"space":                of + " ",
		"mapped address":       "https://[::ffff:127.0.0.1]:" + u.Port(),
		"http":                 "http://" + u.Host,
	}
}

// TestSimilarIssuersAreDifferent is about metadata, and about responses.
func TestSimilarIssuersAreDifferent(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-164", "R-179")
	issuer := newHostile(t).issuer.URL
	for name := range variants(issuer) {
		h := newHostile(t)
		h.serverMetadata()["issuer"] = variants(h.issuer.URL)[name]
		h.ends("metadata of another issuer")
		if log := h.took(); strings.Contains(log, "POST") || len(h.opened) > 0 {
			t.Errorf("%s: something was sent:\n%s", name, log)
		}
		h = newHostile(t)
		h.respond = func(response url.Values) { response.Set("iss", variants(h.issuer.URL)[name]) }
		h.ends("it names another issuer")
		if len(h.forms) > 0 {
			t.Errorf("%s: the code was redeemed", name)
		}
	}
}

// inside are addresses in networks that nobody outside may lead into.
var inside = []string{
	"169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.100.100.200", "198.18.0.1", "192.0.0.192", "0.0.0.0", "255.255.255.255",
	"[fd00:ec2::254]", "[fe80::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[::]",
}

func TestMetadataWithPrivateAddressesIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-184a", "R-184b")
	for place, lead := range map[string]func(h *hostile, to string){
		"resource_metadata":    func(h *hostile, to string) { h.challenge = `Bearer resource_metadata="` + to + `"` },
		"authorization_server": func(h *hostile, to string) { h.resource["/prm"]["authorization_servers"] = []string{to} },
		"token_endpoint":       func(h *hostile, to string) { h.serverMetadata()["token_endpoint"] = to },
		"registration":         func(h *hostile, to string) { h.serverMetadata()["registration_endpoint"] = to },
		"pushed requests": func(h *hostile, to string) {
			h.serverMetadata()["pushed_authorization_request_endpoint"], h.serverMetadata()["require_pushed_authorization_requests"] = to, true
		},
		"redirect of the resource's": func(h *hostile, to string) { h.lies["/prm"] = answers(302, "BANNER", "Location", to) },
		"redirect of the server's":   func(h *hostile, to string) { h.lies["AS "+serverPlace] = answers(307, "BANNER", "Location", to) },
		"authorization_endpoint":     func(h *hostile, to string) { h.serverMetadata()["authorization_endpoint"] = to },
	} {
		for _, host := range inside {
			h := newHostile(t)
			lead(h, "https://"+host+"/latest/meta-data")
			err := h.ends("ClientOptions.Prefixes")
			if _, blocked := errors.AsType[*egress.BlockedError](err); !blocked {
				t.Errorf("%s at %s: got %v", place, host, err)
			}
			if place == "authorization_endpoint" && len(h.opened) > 0 {
				t.Errorf("the browser was sent to %s", h.opened)
			}
		}
	}
}

// TestPublicServersCannotReachLoopbackAddresses is about a server out there.
func TestPublicServersCannotReachLoopbackAddresses(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-184a")
	h := newHostile(t)
	port := h.stranger().port()
	for _, address := range []string{
		"https://127.0.0.1" + port, "http://127.0.0.1" + port, "http://localhost" + port, "https://LOCALHOST" + port, "https://[::1]" + port,
		"https://[::ffff:127.0.0.1]" + port, "https://127.1.2.3" + port, "https://2130706433" + port, "https://0x7f.1" + port, "https://localhost." + port,
	} {
		req, _ := http.NewRequest(http.MethodPost, "https://mcp.example.com/mcp", nil)
		resp := &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {`Bearer resource_metadata="` + address + `/x"`}}}
		err := mcpauth.NewClient(h.options).Challenged(req, resp)
		if h.errs = append(h.errs, err); err == nil {
			t.Errorf("%s: got no error", address)
		}
	}
	h.secretsStay()
}

// TestServerWithoutMetadataReceivesNoCredentials is about what others fall back to.
func TestServerWithoutMetadataReceivesNoCredentials(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-173")
	version := []string{"MCP-Protocol-Version", mcp.V20250618.String()}
	for _, challenge := range []string{"Bearer", `Bearer resource_metadata="%s/gone"`, ""} {
		h := newHostile(t)
		h.challenge, h.resource = strings.ReplaceAll(challenge, "%s", h.server.URL), nil
		h.options.AllowOldEndpoints = true
		h.ends("404", version...)
		if log := h.took(); strings.Contains(log, "POST") || strings.Contains(log, "AS") || len(h.opened) > 0 {
			t.Errorf("%q: got\n%s", challenge, log)
		}
	}
	h := newHostile(t)
	h.metadata = nil
	h.options.AllowOldEndpoints = true
	h.ends("404")
	h.expectLog("GET /prm", "AS GET "+serverPlace, "AS GET /.well-known/openid-configuration")
}

// TestCredentialsStayWithTheirIssuer is about a server that names another
// authorization server from one day to the next.
func TestCredentialsStayWithTheirIssuer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-165", "R-175a")
	for name, test := range map[string]struct {
		change func(h *hostile)
		want   string // of the error; empty: the user signs in at the other one, as a new client
	}{
		"registered by itself": {func(*hostile) {}, ""},
		"registered by hand": {func(h *hostile) {
			h.options.Registered = []mcpauth.Registration{{Issuer: h.issuer.URL, ID: "by-hand", Secret: "CANARY-secret"}}
		}, "has only clients of other servers"},
		"a machine": {func(h *hostile) {
			h.options.Grant = &mcpauth.ClientCredentials{Issuer: h.issuer.URL, ID: "robot", Secret: "CANARY-secret"}
			h.lies["AS /token"] = func(w http.ResponseWriter, r *http.Request) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.forms = append(h.forms, url.Values{})
				h.issue(w, issued{resource: h.mcp()})
			}
		}, "nothing was sent to them"},
	} {
		h, other := newHostile(t), newHostile(t)
		other.tag, other.tokens = "other-", h.tokens
		h.serverMetadata()["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		h.register = func(members) (int, members) {
			return http.StatusCreated, members{"client_id": "CANARY-id", "client_secret": "CANARY-secret"}
		}
		h.options.Store = mcpauth.MemoryStore()
		test.change(h)
		h.works()
		h.kill(false)
		h.resource["/prm"]["authorization_servers"] = []string{other.issuer.URL}
		// A later run has nothing but what was stored.
		h.client = nil
		if test.want != "" {
			h.ends(test.want)
		} else {
			h.works()
		}
		h.lacks(name+": what the other issuer heard", other.heardByIssuer.String(),
			"CANARY-id", "CANARY-secret", "by-hand", "robot", "CANARY-code", "CANARY-access", "CANARY-refresh", "Authorization: Basic")
		if log := other.took(); test.want != "" && strings.Trim(strings.ReplaceAll(log, "AS GET "+serverPlace, ""), "\n") != "" {
			t.Errorf("%s: the other issuer was asked\n%s", name, log)
		}
	}
}

// TestPostsAreNeverRedirected is about everything that holds a secret.
func TestPostsAreNeverRedirected(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182", "R-184b")
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, endpoint := range []string{"/token", "/register", "/par"} {
			for _, to := range []string{"https://127.0.0.1%s/x", "https://localhost%s/x", "http://127.0.0.1%s/x", "//127.0.0.1%s/x"} {
				h := newHostile(t)
				h.serverMetadata()["pushed_authorization_request_endpoint"] = h.issuer.URL + "/par"
				h.serverMetadata()["require_pushed_authorization_requests"] = true
				h.lies["AS "+endpoint] = answers(status, "BANNER", "Location", fmt.Sprintf(to, h.stranger().port()))
				h.ends("re")
				if n := strings.Count(h.took(), "POST "+endpoint); n != 1 {
					t.Errorf("%d to %s from %s: %d requests, want one", status, to, endpoint, n)
				}
			}
			// Nor within the origin.
			h := newHostile(t)
			h.lies["AS "+endpoint] = answers(status, "BANNER", "Location", "/other")
			h.serverMetadata()["pushed_authorization_request_endpoint"] = h.issuer.URL + "/par"
			h.serverMetadata()["require_pushed_authorization_requests"] = true
			h.ends("re")
			if strings.Contains(h.took(), "/other") {
				t.Errorf("%d from %s was followed", status, endpoint)
			}
		}
	}
}

func TestMetadataIsNotFetchedOverPlainHTTP(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"/prm", "AS " + serverPlace} {
		h := newHostile(t)
		h.lies[place] = answers(302, "", "Location", "http://"+h.stranger().address+"/x")
		h.ends("redirect refused: want https after https")
		h = newHostile(t)
		h.lies[place] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }
		h.ends("redirect refused: want at most 3 in a row")
	}
}

// endless writes up to 1 GiB, and counts what it got rid of.
func endless(written *atomic.Int64, packed bool) http.HandlerFunc {
	chunk := bytes.Repeat([]byte(" "), 1<<20)
	if packed {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(chunk)
		_ = w.Close()
		chunk = b.Bytes()
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if packed {
			w.Header().Set("Content-Encoding", "gzip")
		}
		if strings.HasSuffix(r.URL.Path, "/register") {
			w.WriteHeader(http.StatusCreated)
		}
		for range 1 << 10 {
			n, err := w.Write(chunk)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	}
}

func TestAnswersAreReadToTheirLimitOnly(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"/prm", "AS " + serverPlace, "AS /register", "AS /token"} {
		for _, packed := range []bool{false, true} {
			var written atomic.Int64
			h := newHostile(t)
			h.lies[place] = endless(&written, packed)
			h.ends("exceeds 1048576 bytes")
			h.server.CloseClientConnections()
			h.issuer.CloseClientConnections()
			if n := written.Load(); n > 64<<20 {
				t.Errorf("%s, packed %v: %d bytes were read", place, packed, n)
			}
		}
	}
}

// TestHeadersAreReadToTheirLimitOnly has the challenge of 1 MiB that a transport
// lets through.
func TestHeadersAreReadToTheirLimitOnly(t *testing.T) {
	t.Parallel()
	for _, challenge := range []string{
		`Bearer resource_metadata="https://evil.example/` + strings.Repeat("x", 1<<20) + `"`,
		strings.Repeat(`Bearer a="`, 1<<17),
		"Bearer " + strings.Repeat(`scope="x",`, 1<<17),
		strings.Repeat("Bearer ,", 1<<17),
		`Bearer scope="` + strings.Repeat(`\"`, 1<<19),
	} {
		h := newHostile(t)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, h.mcp(), nil)
		resp := &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {challenge}}}
		if err := mcpauth.NewClient(h.options).Challenged(req, resp); err != nil {
			t.Errorf("%.20s: got %v, want what is too long to be left out", challenge, err)
		}
		if h.asked[0].Has("scope") {
			t.Errorf("%.20s: asked for %.100s", challenge, h.asked[0].Get("scope"))
		}
		h.secretsStay()
	}
	h := newHostile(t)
	h.lies["/prm"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Much", strings.Repeat("x", 8<<20))
		_, _ = io.WriteString(w, "{}")
	}
	h.ends("the connection broke, or the response is not HTTP")
}

func TestInvalidMetadataResponsesAreErrors(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"/prm", "AS " + serverPlace, "AS /register", "AS /token"} {
		for _, lie := range []http.HandlerFunc{
			answers(200, "<html>BANNER", "Content-Type", "text/html"),
			answers(200, "<html>BANNER"),
			answers(200, `["BANNER"]`),
			answers(200, `{"issuer":"BANNER","issuer":"BANNER"}`),
			answers(200, `{"authorization_servers":"BANNER","token_endpoint":["BANNER"],"access_token":["BANNER"],"client_id":["BANNER"]}`),
			answers(500, `{"error":"BANNER"}`),
			answers(401, "BANNER", "WWW-Authenticate", "Basic BANNER"),
			answers(204, ""),
		} {
			h := newHostile(t)
			h.lies[place] = lie
			if place == "/prm" {
				h.lies[pathPlace] = lie
			}
			h.ends("sign in to " + h.mcp() + ": ")
		}
	}
}

// TestAddressesForTheBrowser is about what is opened where the user is signed in.
func TestAddressesForTheBrowser(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182", "R-183a")
	for _, address := range []string{
		"javascript:alert(1)", "JAVASCRIPT:alert(1)", "javascript://as.example/%0aalert(1)", " javascript:alert(1)", "java\tscript:alert(1)",
		"data:text/html,<script>", "file:///etc/passwd", "file://evil.example/share", "vbscript:x", "blob:https://as.example/1", "about:blank",
		"view-source:https://as.example", "ms-settings:x", "vscode://x", "intent://x#Intent;end", "smb://evil.example/x", "ftp://as.example/x",
		"http://as.example/authorize", "//as.example/authorize", "authorize", `/\as.example/authorize`, "-https://as.example", "--gpu-launcher=calc", "$(calc)", "calc.exe",
		`\\evil.example\share`, "https://", "https:///x", "https:as.example", "https://user:CANARY@as.example/", "https://as.example/#x", "",
	} {
		h := newHostile(t)
		h.serverMetadata()["authorization_endpoint"] = address
		h.ends("authoriz")
		if log := h.took(); len(h.opened) > 0 || strings.Contains(log, "POST") {
			t.Errorf("%q: opened %q\n%s", address, h.opened, log)
		}
	}
}

// TestAddressForTheBrowserIsOneAddress has what a shell would act on in it. How the
// system's browser is started is shown with spawn.Open.
func TestAddressForTheBrowserIsOneAddress(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-183b")
	for _, path := range []string{"/a'b", `/a"b`, "/a;calc", "/a&calc", "/$(calc)", "/`calc`", "/a|b", "/a b", "/a<b>", "/%0d%0acalc", "/^%PATH^%", "/é", "/?a=$(calc)&b='x'"} {
		h := newHostile(t)
		h.serverMetadata()["authorization_endpoint"] = h.issuer.URL + path
		_ = h.calls()
		for _, address := range h.opened {
			u, err := url.Parse(address)
			if err != nil || "https://"+u.Host != h.issuer.URL || u.Query().Get("state") == "" || strings.ContainsAny(address, " \"`<>|^\r\n") {
				t.Errorf("%q: opened %q", path, address)
			}
		}
		h.secretsStay()
	}
}

// TestAddressesInTokensAreNotFetched adds to TestForgedTokensAreRefused, which has
// what a forged token can say, that nobody listens to where it points.
func TestAddressesInTokensAreNotFetched(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-193a")
	h, f := newHostile(t), newForger(t)
	p := f.protect(t)
	address := "https://" + h.stranger().address
	for _, name := range []string{"jku", "x5u", "iss", "kid"} {
		header := changed(f.header(), fields{name: address + "/keys"})
		p.refuses(request("Authorization", "Bearer "+f.other.sign(t, header, encodeJSON(t, f.claims()))), http.StatusUnauthorized, "invalid_token")
	}
	p.refuses(request("Authorization", "Bearer "+f.other.sign(t, f.header(), encodeJSON(t, changed(f.claims(), fields{"iss": address})))), http.StatusUnauthorized, "invalid_token")
	h.secretsStay()
}

// TestHostOfARequestDoesNotSelectTheHandler has hosts in the first line of a request. The
// handler is that of the path, whatever they say.
func TestHostOfARequestDoesNotSelectTheHandler(t *testing.T) {
	t.Parallel()
	p := newAuthority(t).protect(t)
	mux := http.NewServeMux()
	mux.Handle("/mcp", p.handler)
	s := httptest.NewServer(mux)
	defer s.Close()
	for first, want := range map[string]int{
		"POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost":                403,
		"POST http://evil.example/mcp HTTP/1.1\r\nHost: mcp.example.com":          403,
		"POST http://mcp.example.com/mcp HTTP/1.1\r\nHost: evil.example":          401,
		"POST http://localhost/x/../mcp HTTP/1.1\r\nHost: localhost":              307,
		"POST http://localhost/%6dcp HTTP/1.1\r\nHost: localhost":                 401,
		"POST //localhost/mcp HTTP/1.1\r\nHost: localhost":                        307,
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example":             400,
		"POST /mcp HTTP/1.1\r\nHost: localhost/?":                                 400,
		"POST /mcp HTTP/1.1\r\nX-Forwarded-Host: localhost":                       400,
		"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost": 403,
	} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, first+"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if conn.Close(); err != nil || resp.StatusCode != want {
			t.Errorf("%q: got %v, %v, want %d", first, resp, err, want)
		}
	}
	if p.calls > 0 {
		t.Errorf("%d calls of the handler", p.calls)
	}
}
