package mcpauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

const documentURL = "https://app.example.com/oauth/client.json"

func TestClientsAreRegisteredInOrder(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-171", "R-173")
	asks := func(_ context.Context, issuer string) (*mcpauth.Registration, error) {
		return &mcpauth.Registration{Issuer: issuer, ID: "asked"}, nil
	}
	for _, tt := range []struct {
		byHand, document, reads, dynamic, ask bool
		want                                  string // the client; empty is none
	}{
		{true, true, true, true, true, "by-hand"},
		{false, true, true, true, true, documentURL},
		{false, true, false, true, true, "client-1"},
		{false, false, true, true, true, "client-1"},
		{false, true, false, false, true, "asked"},
		{false, true, false, false, false, ""},
	} {
		r := newRealm(t)
		change := members{"client_id_metadata_document_supported": tt.reads}
		if !tt.dynamic {
			change["registration_endpoint"] = nil
		}
		r.metadata["/.well-known/oauth-authorization-server"] = with(r.issuerMetadata(""), change)
		o := r.options()
		if tt.byHand {
			o.Registered = []mcpauth.Registration{{Issuer: r.issuer.URL, ID: "by-hand"}}
		}
		if tt.document {
			o.MetadataURL = documentURL
		}
		if tt.ask {
			o.Ask = asks
		}
		c := mcpauth.NewClient(o)
		if tt.want == "" {
			if err := r.fails(c, "ClientOptions.Registered"); !errors.Is(err, mcpauth.ErrNotRegistered) {
				t.Errorf("got %v", err)
			}
			continue
		}
		r.succeeds(c)
		r.kill(false)
		r.succeeds(c) // refreshed as the same client
		if got := r.asked[0].Get("client_id"); got != tt.want || r.forms[0].Get("client_id") != tt.want || r.forms[1].Get("client_id") != tt.want || len(r.asked) != 1 {
			t.Errorf("%+v: got %s, %v", tt, got, r.forms)
		}
	}
}

func TestManualClientIsUsedOnlyAtItsIssuer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-175b")
	r := newRealm(t)
	o := r.options()
	for _, issuer := range []string{"https://id.example.com", r.issuer.URL + "//", r.issuer.URL + "/t/", strings.Replace(r.issuer.URL, "https", "HTTPS", 1) + "/"} {
		o.Registered = []mcpauth.Registration{{Issuer: issuer, ID: "CANARY-id", Secret: "CANARY-secret"}}
		err := r.fails(mcpauth.NewClient(o), "register one there manually")
		if !errors.Is(err, mcpauth.ErrNotRegistered) {
			t.Errorf("got %v", err)
		}
		r.expectLog("GET /prm", "AS GET /.well-known/oauth-authorization-server")
	}
	if text := fmt.Sprintf("%v %+v %#v %s", o, o.Registered, o.Registered, o.Registered); strings.Contains(text, "CANARY-secret") {
		t.Errorf("printed as %s", text)
	}
}

func TestSecretsAreSentAsTheServerWants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		supported []string
		method    string // of the registration
		header    bool
		form      string
	}{
		{nil, "", true, ""},
		{[]string{"client_secret_post", "client_secret_basic"}, "", true, ""},
		{[]string{"client_secret_post"}, "", false, "CANARY-secret"},
		{[]string{"client_secret_basic"}, "client_secret_post", false, "CANARY-secret"},
	} {
		r := newRealm(t)
		r.metadata["/.well-known/oauth-authorization-server"]["token_endpoint_auth_methods_supported"] = tt.supported
		o := r.options()
		o.Registered = []mcpauth.Registration{{Issuer: r.issuer.URL, ID: "by-hand", Secret: "CANARY-secret", Method: tt.method}}
		r.succeeds(mcpauth.NewClient(o))
		if got := r.auths[0]; (got != "") != tt.header || r.forms[0].Get("client_secret") != tt.form {
			t.Errorf("%+v: header %q, form %v", tt, got, r.forms[0])
		}
	}
}

func TestDynamicRegistrationSendsTheClientMetadata(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-174", "R-181b", "R-170a")
	r := newRealm(t)
	r.succeeds(mcpauth.NewClient(r.options()))
	got, _ := json.Marshal(r.clients[0], json.Deterministic(true))
	want := fmt.Sprintf(`{"application_type":"native","client_name":"Test","grant_types":["authorization_code","refresh_token"],"redirect_uris":["%s"],"response_types":["code"],"token_endpoint_auth_method":"none"}`, r.asked[0].Get("redirect_uri"))
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRefusedRegistrationIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-174")
	r := newRealm(t)
	wanted := "web"
	r.register = func(client members) (int, members) {
		if client["application_type"] != wanted {
			return http.StatusBadRequest, members{"error": "invalid_redirect_uri", "error_description": "BANNER"}
		}
		return http.StatusCreated, members{"client_id": "second"}
	}
	r.succeeds(mcpauth.NewClient(r.options()))
	if len(r.clients) != 2 || r.asked[0].Get("client_id") != "second" {
		t.Errorf("got %v", r.clients)
	}
	wanted = "neither"
	err := r.fails(mcpauth.NewClient(r.options()), "invalid_redirect_uri")
	if !errors.Is(err, mcpauth.ErrNotRegistered) || len(r.clients) != 4 || !strings.Contains(err.Error(), "ClientOptions.Registered") {
		t.Errorf("%d registrations, %v", len(r.clients), err)
	}
}

func TestExpiredSecretIsRegisteredAnew(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	r.metadata["/.well-known/oauth-authorization-server"]["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
	expires := time.Now().Add(-time.Second)
	r.register = func(members) (int, members) {
		return http.StatusCreated, members{"client_id": "x", "client_secret": "CANARY", "client_secret_expires_at": expires.Unix()}
	}
	c := mcpauth.NewClient(r.options())
	r.succeeds(c)
	r.kill(true)
	expires = time.Now().Add(time.Hour)
	r.succeeds(c)
	r.kill(true)
	r.succeeds(c)
	if len(r.clients) != 2 || len(r.asked) != 3 {
		t.Errorf("%d registrations, %d sign-ins", len(r.clients), len(r.asked))
	}
}

func TestMetadataDocument(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-172")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	o := &mcpauth.ClientOptions{Name: "App", MetadataURL: documentURL, RedirectURL: "https://app.example.com/back"}
	text, err := mcpauth.NewClient(o).MetadataDocument()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"client_id":"` + documentURL + `","client_name":"App","redirect_uris":["https://app.example.com/back"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none","application_type":"web"}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	o.Key = &mcpauth.PrivateKey{Signer: key, ID: "k1"}
	text, err = mcpauth.NewClient(o).MetadataDocument()
	var m struct {
		Method string `json:"token_endpoint_auth_method"`
		Keys   struct {
			Keys []map[string]string `json:"keys"`
		} `json:"jwks"`
	}
	if err := errors.Join(err, json.Unmarshal(text, &m)); err != nil {
		t.Fatal(err)
	}
	if m.Method != "private_key_jwt" || len(m.Keys.Keys) != 1 || m.Keys.Keys[0]["kid"] != "k1" || m.Keys.Keys[0]["d"] != "" {
		t.Errorf("got %s", text)
	}
	if _, err := mcpauth.NewClient(nil).MetadataDocument(); err == nil {
		t.Error("a document without URL")
	}
}

func TestRequestsArePushedWhereTheServerWantsIt(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	m := r.metadata["/.well-known/oauth-authorization-server"]
	m["require_pushed_authorization_requests"] = true
	r.fails(mcpauth.NewClient(r.options()), "pushed_authorization_request_endpoint")
	m["pushed_authorization_request_endpoint"] = r.issuer.URL + "/par"
	o := r.options()
	o.Browser = func(ctx context.Context, address string) error {
		if !strings.HasSuffix(address, "/authorize?client_id=client-2&request_uri=urn%3Apar") {
			t.Errorf("the browser is sent to %s", address)
		}
		return r.browse(ctx, address)
	}
	r.succeeds(mcpauth.NewClient(o))
}
