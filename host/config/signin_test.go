package config_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
)

func TestSignInIsReadInTheFormatOfEachProgram(t *testing.T) {
	t.Parallel()
	app := host.SignIn{Issuer: "https://id.example.com", ClientID: "app", ClientSecret: "s3cret", Scopes: []string{"a", "b"}}
	tests := map[string]host.SignIn{
		`"x": 1`: {},
		`"auth": {"issuer": "https://id.example.com", "clientId": "app", "clientSecret": "${env:SECRET}", "scopes": "a, b,"}`:             app,
		`"auth": {"issuer": "https://id.example.com", "clientId": "app", "clientSecret": "${env:SECRET}", "scopes": ["a", "b"]}`:          app,
		`"auth": {"issuer": "https://id.example.com", "CLIENT_ID": "app", "CLIENT_SECRET": "${env:SECRET}", "scopes": ["a", "b"]}`:        app,
		`"oauth": {"issuer": "https://id.example.com", "client_id": "app", "client_secret": "${env:SECRET}", "scope": "a b"}`:             app,
		`"oauth": {"issuer": "https://id.example.com", "clientId": "app", "clientSecret": "${env:SECRET}"}, "scopes": ["a", "b"]`:         app,
		`"oauth": {"issuer": "https://id.example.com", "clientId": "app", "callbackPort": 8080}`:                                          {Issuer: app.Issuer, ClientID: "app", RedirectURL: "http://localhost:8080/callback"},
		`"oauth": {"redirectUri": "http://127.0.0.1:7/x", "oauthScopes": ["a"], "networks": ["10.0.0.0/8"]}`:                              {RedirectURL: "http://127.0.0.1:7/x", Scopes: []string{"a"}, AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		`"auth": {"issuer": "https://id.example.com", "clientId": "app", "clientSecret": "${env:SECRET}", "grant": "client_credentials"}`: {Issuer: app.Issuer, ClientID: "app", ClientSecret: "s3cret", ClientCredentials: true},
		`"auth": {"pkce": "S256"}`:    {AssumePKCE: true},
		`"oauth": false`:              {Disabled: true},
		`"oauth": {"enabled": false}`: {Disabled: true},
		`"oauth": {"enabled": true}`:  {},
	}
	variables := map[string]string{"SECRET": "s3cret"}
	for text, want := range tests {
		path := write(t, t.TempDir(), "mcp.json", fmt.Sprintf(`{"mcpServers": {"x": {"url": "https://mcp.example.com", %s}}}`, text))
		c, err := loadResolved(path, &config.Options{Env: env(variables), Strict: true})
		if err != nil || !reflect.DeepEqual(c.Upstreams[0].SignIn, want) {
			t.Errorf("%s: got %+v, %v, want %+v", text, c, err, want)
			continue
		}
		if shown := fmt.Sprintf("%v %+v %#v", c.Upstreams, c.Upstreams, c.Upstreams); strings.Contains(shown, "s3cret") {
			t.Errorf("%s: the secret is shown: %s", text, shown)
		}
	}
}

func TestInvalidSignInIsAnError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"url": "https://a", "auth": {"clientId": "app"}`:                                                                            `want "issuer" beside it`,
		`"url": "https://a", "auth": {"clientSecret": "CANARY"}`:                                                                     `want "clientId" beside it`,
		`"url": "https://a", "auth": {"issuer": "https://i", "clientId": "a", "grant": "implicit"}`:                                  `want "client_credentials"`,
		`"url": "https://a", "auth": {"issuer": "https://i", "clientId": "a", "grant": "client_credentials"}`:                        `want "clientSecret"`,
		`"url": "https://a", "auth": {"issuer": "http://i", "clientId": "a"}`:                                                        "want an https URL",
		`"url": "https://a", "auth": {"redirectUri": "https://app.example.com/callback"}`:                                            "want a URL of this machine",
		`"url": "https://a", "auth": {"networks": ["all"]}`:                                                                          "want a network",
		`"url": "https://a", "auth": {"pkce": "plain"}`:                                                                              `found "plain", want "S256"`,
		`"url": "https://a", "auth": {"pkce": true}`:                                                                                 "want a string",
		`"url": "https://a", "auth": 7`:                                                                                              "want an object",
		`"url": "https://a", "auth": {"clientSecret": "CANARY", "client_secret": "CANARY2", "clientId": "a", "issuer": "https://i"}`: "found a value that differs",
		`"command": "a", "auth": {"issuer": "https://i"}`:                                                                            "beside a command",
	} {
		path := write(t, t.TempDir(), "mcp.json", `{"mcpServers": {"x": {`+text+`}}}`)
		_, err := loadResolved(path, &config.Options{Env: env(nil), Strict: true})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestSignInIsImported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const entry = `{"issuer": "https://i", "clientId": "a", "clientSecret": "${env:S}", "scopes": ["x"], "pkce": "S256", "redirectUri": "http://127.0.0.1/c", "networks": ["10.0.0.0/8"]}`
	foreign := config.ClientConfig{Path: write(t, dir, "cursor.json", `{"mcpServers": {"x": {"url": "https://a", "auth": `+entry+`}, "y": {"url": "https://b", "oauth": false}}}`)}
	servers, findings := foreign.Servers(env(nil), dir)
	if len(servers) != 2 || len(findings) != 0 {
		t.Fatalf("got %v, %v", servers, findings)
	}
	path := write(t, dir, "own.json", `{"mcpServers": {}}`)
	change, _, err := config.Add(path, servers)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := change.Write(""); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"S": "s3cret"}
	here, err := loadResolved(path, &config.Options{Env: env(variables), Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	there, err := loadResolved(foreign.Path, &config.Options{Env: env(variables), Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range here.Upstreams {
		if got, want := here.Upstreams[i].SignIn, there.Upstreams[i].SignIn; !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
