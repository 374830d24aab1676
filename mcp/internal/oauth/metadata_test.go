package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestMetadataIsLookedForInOrder(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-162", "R-163")
	for _, tt := range []struct {
		got  []string
		want string
	}{
		{oauth.ServerMetadataURLs(parse(t, "https://as")), "https://as/.well-known/oauth-authorization-server https://as/.well-known/openid-configuration"},
		{oauth.ServerMetadataURLs(parse(t, "https://as/")), "https://as/.well-known/oauth-authorization-server https://as/.well-known/openid-configuration"},
		{oauth.ServerMetadataURLs(parse(t, "https://as:1/a%2Fb/")), "https://as:1/.well-known/oauth-authorization-server/a%2Fb https://as:1/.well-known/openid-configuration/a%2Fb https://as:1/a%2Fb/.well-known/openid-configuration"},
		{oauth.ResourceMetadataURLs(parse(t, "https://rs/mcp")), "https://rs/.well-known/oauth-protected-resource/mcp https://rs/.well-known/oauth-protected-resource"},
		{oauth.ResourceMetadataURLs(parse(t, "https://rs/")), "https://rs/.well-known/oauth-protected-resource"},
		{oauth.ResourceMetadataURLs(parse(t, "https://rs/mcp?tenant=1")), "https://rs/.well-known/oauth-protected-resource/mcp?tenant=1 https://rs/.well-known/oauth-protected-resource"},
	} {
		if got := strings.Join(tt.got, " "); got != tt.want {
			t.Errorf("got %s\nwant %s", got, tt.want)
		}
	}
}

func TestEndpointsAreWebAddresses(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182", "R-183a")
	for address, want := range map[string]bool{
		"https://as/authorize": true, "http://127.0.0.1:1/x": true, "http://[::1]/x": true, "http://localhost/x": true,
		"https://as/authorize?tenant=1": true,
		"http://as/authorize":           false, "javascript:alert(1)": false, "data:text/html,x": false, "file:///etc/passwd": false,
		"vbscript:x": false, "blob:https://as/1": false, "com.example:/x": false, "//as/authorize": false, "/authorize": false, "": false,
		"https:as": false, "https://user@as/": false, "https://as/#x": false, "https://as/#": false, "https://:443/": false,
		"javascript://as/%0aalert(1)": false, "http://127.0.0.1.evil.example/": false, "http://localhost.evil.example/": false,
		"https://as/" + strings.Repeat("a", 5000): false,
	} {
		if _, err := oauth.ParseEndpoint(address); (err == nil) != want {
			t.Errorf("%.80s: got %v, want allowed %v", address, err, want)
		}
	}
	if _, err := oauth.ParseIssuer("https://as?x=1"); err == nil {
		t.Error("an issuer with a query was taken")
	}
}

func TestMetadataOfAnotherIssuerIsNotUsed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-164")
	good := oauth.ServerMetadata{Issuer: "https://as/t", TokenEndpoint: "https://as/token"}
	if err := good.CheckFor("https://as/t"); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"https://as/t/", "https://AS/t", "https://as:443/t", "HTTPS://as/t", "https://as/%74", "https://as", ""} {
		if good.CheckFor(other) == nil {
			t.Errorf("it is taken for %q", other)
		}
	}
	for _, m := range []oauth.ServerMetadata{
		{Issuer: "https://as"},
		{Issuer: "https://as", TokenEndpoint: "http://as/token"},
		{Issuer: "https://as", TokenEndpoint: "https://as/token", AuthorizationEndpoint: "javascript:alert(1)"},
		{Issuer: "https://as", TokenEndpoint: "https://as/token", RegistrationEndpoint: "file:///x"},
	} {
		if m.CheckFor("https://as") == nil {
			t.Errorf("%+v is taken", m)
		}
	}
}

const banner = "SSH-2.0-internal-service"

func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]http.HandlerFunc{
		"status":     func(w http.ResponseWriter, r *http.Request) { http.Error(w, banner, http.StatusTeapot) },
		"type":       document("text/html", banner),
		"size":       document("application/json", `{"resource":"`+strings.Repeat("a", 1<<20)+`"}`),
		"depth":      document("application/json", strings.Repeat("[", 40)+strings.Repeat("]", 40)),
		"duplicates": document("application/json", `{"resource":"a","resource":"b"}`),
		"no JSON":    document("application/json", banner),
		"two":        document("application/json", `{} {}`),
		"types":      document("application/json", `{"resource":["`+banner+`"]}`),
		"no HTTP": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				fmt.Fprint(conn, banner+"\r\n")
				conn.Close()
			}
		},
	} {
		err := fetch(t, serve, new(oauth.ResourceMetadata))
		if err == nil || strings.Contains(err.Error(), banner) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var m oauth.ResourceMetadata
	if err := fetch(t, document("application/json; charset=utf-8", `{"resource":"a","RESOURCE":"b","unknown":{}}`), &m); err != nil || m.Resource != "a" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func document(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text))
	}
}

func fetch(t *testing.T, serve http.HandlerFunc, out any) error {
	t.Helper()
	s := httptest.NewServer(serve)
	defer s.Close()
	return oauth.FetchDocument(t.Context(), s.Client(), s.URL, nil, out)
}

func TestFetchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer s.Close()
	if err := oauth.FetchDocument(ctx, s.Client(), s.URL, nil, new(oauth.ResourceMetadata)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// FuzzDocument checks that no text makes metadata that is used with an endpoint of
// another scheme.
func FuzzDocument(f *testing.F) {
	f.Add(`{"issuer":"https://as","token_endpoint":"https://as/token","code_challenge_methods_supported":["S256"]}`)
	f.Add(`{"issuer":"https://as","token_endpoint":"javascript:alert(1)"}`)
	f.Add(strings.Repeat(`{"a":`, 40))
	f.Fuzz(func(t *testing.T, text string) {
		resp := &http.Response{Header: http.Header{"Content-Type": {"application/json"}}, Body: body(text)}
		var m oauth.ServerMetadata
		if oauth.ReadDocument(resp, &m) != nil || m.CheckFor("https://as") != nil {
			return
		}
		for _, endpoint := range []string{m.AuthorizationEndpoint, m.TokenEndpoint, m.RegistrationEndpoint, m.PAREndpoint} {
			if u, err := url.Parse(endpoint); endpoint != "" && (err != nil || u.Scheme != "https" && !oauth.IsLoopback(u.Hostname())) {
				t.Fatalf("endpoint %q", endpoint)
			}
		}
	})
}
