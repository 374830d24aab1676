package mcpauth_test

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

const (
	pathPlace = "/.well-known/oauth-protected-resource/mcp"
	rootPlace = "/.well-known/oauth-protected-resource"
)

func TestResourceMetadataIsFoundInOrder(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-161", "R-162")
	for _, tt := range []struct {
		challenge string
		places    []string
		want      []string
	}{
		{`Bearer resource_metadata="%s/custom"`, []string{"/custom", pathPlace, rootPlace}, []string{"GET /custom"}},
		{`Bearer`, []string{pathPlace, rootPlace}, []string{"GET " + pathPlace}},
		{`Bearer`, []string{rootPlace}, []string{"GET " + pathPlace, "GET " + rootPlace}},
		{`Basic realm="x", Bearer error="invalid_token"`, []string{rootPlace}, []string{"GET " + pathPlace, "GET " + rootPlace}},
		{``, []string{rootPlace}, []string{"GET " + pathPlace, "GET " + rootPlace}},
	} {
		r := newRealm(t)
		m := r.resource["/prm"]
		r.resource = map[string]members{}
		for _, place := range tt.places {
			r.resource[place] = m
		}
		r.resource[rootPlace] = with(m, members{"resource": r.server.URL})
		r.challenge = strings.ReplaceAll(tt.challenge, "%s", r.server.URL)
		r.succeeds(mcpauth.NewClient(r.options()))
		if got := r.took(); !strings.HasPrefix(got, strings.Join(tt.want, "\n")+"\nAS ") {
			t.Errorf("%s at %s: got\n%s", tt.challenge, tt.places, got)
		}
	}
	r := newRealm(t)
	r.challenge, r.resource = `Bearer resource_metadata="`+r.server.URL+`/gone"`, map[string]members{pathPlace: r.resource["/prm"]}
	r.succeeds(mcpauth.NewClient(r.options()))
	if got, want := r.took(), "GET /gone\nGET "+pathPlace+"\nAS "; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant first\n%s", got, want)
	}
}

func TestServerMetadataIsFoundInOrder(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-163", "R-164")
	const rfc, oidc = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	for _, tt := range []struct {
		path   string
		places []string // the last one is right, the others are of another issuer
		want   []string
	}{
		{"", []string{rfc}, []string{rfc}},
		{"", []string{oidc}, []string{rfc, oidc}},
		{"", []string{rfc, oidc}, []string{rfc, oidc}},
		{"/t", []string{rfc + "/t"}, []string{rfc + "/t"}},
		{"/t", []string{oidc + "/t"}, []string{rfc + "/t", oidc + "/t"}},
		{"/t", []string{"/t" + oidc}, []string{rfc + "/t", oidc + "/t", "/t" + oidc}},
		{"/t", []string{rfc, rfc + "/t", oidc + "/t", "/t" + oidc}, []string{rfc + "/t", oidc + "/t", "/t" + oidc}},
	} {
		r := newRealm(t)
		r.resource["/prm"]["authorization_servers"] = []string{r.issuer.URL + tt.path}
		r.respond = func(response url.Values) { response["iss"][0] += tt.path }
		r.metadata = map[string]members{}
		for _, place := range tt.places {
			r.metadata[place] = with(r.issuerMetadata(tt.path), members{"issuer": r.issuer.URL + tt.path + "/other/", "token_endpoint": r.issuer.URL + "/evil"})
		}
		r.metadata[tt.places[len(tt.places)-1]] = r.issuerMetadata(tt.path)
		r.succeeds(mcpauth.NewClient(r.options()))
		var want []string
		for _, place := range tt.want {
			want = append(want, "AS GET "+place)
		}
		r.expectLog(slices.Concat([]string{"GET /prm"}, want, []string{"AS POST " + tt.path + "/register", "AS GET " + tt.path + "/authorize", "AS POST " + tt.path + "/token"})...)
	}
}

func TestMetadataOfAnotherIssuerIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-164")
	for _, change := range []members{
		{"issuer": "https://evil.example"},
		{"issuer": nil},
		{"token_endpoint": "http://evil.example/token"},
		{"token_endpoint": nil},
		{"authorization_endpoint": "javascript:alert(1)"},
		{"authorization_endpoint": nil},
		{"registration_endpoint": "file:///etc/passwd"},
	} {
		r := newRealm(t)
		r.metadata["/.well-known/oauth-authorization-server"] = with(r.issuerMetadata(""), change)
		r.fails(mcpauth.NewClient(r.options()), "want")
		if log := r.took(); strings.Contains(log, "POST") || strings.Contains(log, "authorize") {
			t.Errorf("%v: got\n%s", change, log)
		}
	}
}

func TestMetadataOfAnotherResourceIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-168b")
	for resource, good := range map[string]bool{
		"%s/mcp": true, "%s": true, "%s/": true, "%s/mcp/": true,
		"%s/mcp/sub": false, "%s/mc": false, "%s/other": false, "%s/mcp?x=1": false, "%s/mcp#x": false,
		"https://evil.example/mcp": false, "https://127.0.0.1/mcp": false, "http://%h/mcp": false, "%h/mcp": false, "": false,
		"https://user@%h/mcp": false, "HTTPS://%h/mcp": true,
	} {
		r := newRealm(t)
		host := strings.TrimPrefix(r.server.URL, "https://")
		resource = strings.NewReplacer("%s", r.server.URL, "%h", host).Replace(resource)
		r.resource["/prm"]["resource"] = resource
		c := mcpauth.NewClient(r.options())
		if good {
			r.succeeds(c)
			if q, f := r.asked[0], r.forms[0]; q.Get("resource") != resource || f.Get("resource") != resource {
				t.Errorf("%s: asked for %s, then %s", resource, q.Get("resource"), f.Get("resource"))
			}
			continue
		}
		r.fails(c, "nothing was sent to its authorization servers")
		r.expectLog("GET /prm")
	}
}

func TestMetadataIsForTheURLAtWhichItWasFound(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-168b")
	for _, tt := range []struct {
		place, resource string
		good            bool
	}{
		{pathPlace, "/mcp", true},
		{pathPlace, "/mcp/", true},
		{pathPlace, "", false},
		{pathPlace, "/", false},
		{pathPlace, "/other", false},
		{rootPlace, "", true},
		{rootPlace, "/", true},
		{rootPlace, "/mcp", false},
		{rootPlace, "/other", false},
	} {
		r := newRealm(t)
		r.challenge, r.resource = "Bearer", map[string]members{tt.place: with(r.resource["/prm"], members{"resource": r.server.URL + tt.resource})}
		if c := mcpauth.NewClient(r.options()); tt.good {
			r.succeeds(c)
		} else {
			r.fails(c, "nothing was sent to its authorization servers")
			if log := r.took(); strings.Contains(log, "AS ") {
				t.Errorf("%s at %s: got\n%s", tt.resource, tt.place, log)
			}
		}
	}
}

// TestMetadataOfAParentNeedsTheConsentOfTheOwnDocument has a server whose challenge names metadata
// of its whole origin, as one of several servers at an origin could.
func TestMetadataOfAParentNeedsTheConsentOfTheOwnDocument(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-168b")
	for name, tt := range map[string]struct {
		own  func(r *realm, parent members) members // the document at the path; nil: 404
		good bool
	}{
		"absent":       {func(*realm, members) members { return nil }, true},
		"same":         {func(_ *realm, parent members) members { return parent }, true},
		"own resource": {func(r *realm, parent members) members { return with(parent, members{"resource": r.mcp()}) }, false},
		"other authorization servers": {func(_ *realm, parent members) members {
			return with(parent, members{"authorization_servers": []string{"https://as.example"}})
		}, false},
		"no authorization servers": {func(_ *realm, parent members) members { return with(parent, members{"authorization_servers": nil}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			parent := with(h.resource["/prm"], members{"resource": h.server.URL + "/"})
			h.resource = map[string]members{"/prm": parent}
			if own := tt.own(h.realm, parent); own != nil {
				h.resource[pathPlace] = own
			}
			if !tt.good {
				h.ends("says otherwise")
				if log := h.took(); strings.Contains(log, "AS ") {
					t.Errorf("got\n%s", log)
				}
				return
			}
			h.works()
			if log := h.log.String(); !strings.Contains(log, `"level":"WARN"`) || !strings.Contains(log, "a path above it") {
				t.Errorf("got the log %s, want a warning", log)
			}
		})
	}
	for status, good := range map[int]bool{
		http.StatusNotFound: true, http.StatusGone: true,
		http.StatusBadRequest: false, http.StatusUnauthorized: false, http.StatusForbidden: false, http.StatusMethodNotAllowed: false,
		http.StatusTooManyRequests: false, http.StatusInternalServerError: false, http.StatusBadGateway: false,
	} {
		h := newHostile(t)
		h.resource["/prm"]["resource"] = h.server.URL
		h.lies[pathPlace] = answers(status, "BANNER")
		if good {
			h.works()
		} else {
			h.ends("cannot be read")
		}
	}
}

func TestBrowserIsNotOpenedForNamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-184b")
	for _, address := range []string{"10.1.2.3", "169.254.169.254", "fd00::1", "93.184.216.34"} {
		h := newHostile(t)
		h.serverMetadata()["authorization_endpoint"] = "https://as.example/authorize"
		mcpauth.ResolveTo(h.options, address)
		if address == "93.184.216.34" {
			h.ends("led to another place") // the test's browser goes nowhere else
			continue
		}
		err := h.ends("Prefixes")
		if _, blocked := errors.AsType[*egress.BlockedError](err); !blocked || len(h.opened) > 0 {
			t.Errorf("%s: got %v, opened %q", address, err, h.opened)
		}
	}
}

func TestAddressesInMetadataAreGuarded(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182", "R-184a")
	for _, issuer := range []string{"https://169.254.169.254/latest", "https://10.0.0.1", "https://[fd00::1]"} {
		r := newRealm(t)
		r.resource["/prm"]["authorization_servers"] = []string{issuer}
		err := r.fails(mcpauth.NewClient(r.options()), "Prefixes")
		if _, blocked := errors.AsType[*egress.BlockedError](err); !blocked {
			t.Errorf("%s: got %v", issuer, err)
		}
	}
	for _, issuer := range []string{"http://id.example.com", "javascript:alert(1)", "", "https://id.example.com?x"} {
		r := newRealm(t)
		r.resource["/prm"]["authorization_servers"] = []string{issuer}
		r.fails(mcpauth.NewClient(r.options()), "want")
		r.expectLog("GET /prm")
	}
	// What a public server names is not looked for on this machine.
	address, hits := spy(t)
	req, _ := http.NewRequest(http.MethodPost, "https://mcp.example.com/mcp", nil)
	resp := &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {`Bearer resource_metadata="` + address + `"`}}}
	if err := mcpauth.NewClient(nil).Challenged(req, resp); err == nil || hits() != 0 {
		t.Errorf("%d requests, %v", hits(), err)
	}
}

func TestUnknownCertificatesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	o := r.options()
	o.RootCAs = x509.NewCertPool()
	err := r.fails(mcpauth.NewClient(o), "certificate")
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
		t.Errorf("got %v", err)
	}
	r.expectLog()
}

func TestCredentialsAreNotSentToAChangedAuthorizationServer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-165", "R-175a")
	r, other := newRealm(t), newRealm(t)
	r.metadata["/.well-known/oauth-authorization-server"]["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
	r.register = func(members) (int, members) {
		return http.StatusCreated, members{"client_id": "CANARY-id", "client_secret": "CANARY-secret"}
	}
	other.tokens = r.tokens // the server takes tokens of both
	c := mcpauth.NewClient(r.options())
	r.succeeds(c)
	if len(r.auths) != 1 || !strings.HasPrefix(r.auths[0], "Basic ") {
		t.Errorf("authenticated by %q", r.auths)
	}
	r.kill(false)
	r.resource["/prm"]["authorization_servers"] = []string{other.issuer.URL}
	r.succeeds(c)
	if len(other.clients) != 1 || len(other.asked) != 1 || len(r.forms) != 1 {
		t.Errorf("%d registrations and %d sign-ins at the new server, %d token requests at the old", len(other.clients), len(other.asked), len(r.forms))
	}
	for _, form := range slices.Concat(other.asked, other.forms) {
		for name, values := range form {
			if name != "code" && strings.Contains(values[0], "CANARY") {
				t.Errorf("the new server got %s=%s", name, values[0])
			}
		}
	}
	if slices.ContainsFunc(other.auths, func(s string) bool { return s != "" }) {
		t.Errorf("the new server got %q", other.auths)
	}
}

func TestOldServersNeedBothPermissionAndTheirRevision(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-159", "R-160", "R-173")
	version := func(r mcp.Revision) []string { return []string{"MCP-Protocol-Version", r.String()} }
	for _, metadata := range []bool{false, true} {
		for _, tt := range []struct {
			allowed bool
			headers []string
			good    bool
			option  string // of the error
		}{
			{true, nil, true, ""},
			{true, version(mcp.V20250326), true, ""},
			{true, version(mcp.V20250618), false, ""},
			{true, version(mcp.V20260728), false, ""},
			{false, nil, false, "AllowOldEndpoints"},
			{false, version(mcp.V20250326), false, "AllowOldEndpoints"},
			{false, version(mcp.V20260728), false, "AllowOldEndpoints"}, // the probe of a client that then negotiates
		} {
			r := newRealm(t)
			r.challenge, r.resource = "Bearer", map[string]members{}
			first := []string{"GET " + pathPlace, "GET " + rootPlace}
			if metadata {
				r.resource["/.well-known/oauth-authorization-server"] = members{
					"issuer": r.server.URL, "authorization_endpoint": r.server.URL + "/x/authorize", "token_endpoint": r.server.URL + "/x/token",
					"registration_endpoint": r.server.URL + "/x/register", "code_challenge_methods_supported": []string{"S256"},
				}
			}
			o := r.options()
			o.AllowOldEndpoints = tt.allowed
			c := mcpauth.NewClient(o)
			if !tt.good {
				err := r.fails(c, "no protected resource metadata", tt.headers...)
				if e, ok := errors.AsType[*mcpauth.SignInError](err); !ok || e.Option != tt.option || strings.Contains(e.Err.Error(), "Option") || strings.Contains(e.Err.Error(), "\n") {
					t.Errorf("got %v, want an error of one line with the option %q, which only its own text names", err, tt.option)
				}
				r.expectLog(first...)
				continue
			}
			r.succeeds(c, tt.headers...)
			log := r.took()
			if want := map[bool]string{true: "POST /x/token", false: "POST /token"}[metadata]; !strings.Contains(log, want) || r.forms[0].Get("code_verifier") == "" {
				t.Errorf("got\n%s", log)
			}
			r.kill(false)
			r.succeeds(c, tt.headers...)
			if len(r.asked) != 1 || len(r.forms) != 2 {
				t.Errorf("%d sign-ins, %d token requests; want a refresh", len(r.asked), len(r.forms))
			}
		}
	}
}

func TestAuthorizationServerIsChosen(t *testing.T) {
	t.Parallel()
	r, other := newRealm(t), newRealm(t)
	other.tokens = r.tokens
	r.resource["/prm"]["authorization_servers"] = []string{r.issuer.URL, other.issuer.URL}
	r.succeeds(mcpauth.NewClient(r.options()))
	if len(r.asked) != 1 || len(other.asked) != 0 {
		t.Error("want the first")
	}
	o := r.options()
	o.Registered = []mcpauth.Registration{{Issuer: other.issuer.URL, ID: "by-hand"}}
	r.succeeds(mcpauth.NewClient(o))
	if len(r.asked) != 1 || len(other.asked) != 1 || other.asked[0].Get("client_id") != "by-hand" {
		t.Error("want the one where we are registered")
	}
}
