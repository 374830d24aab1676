package mcpauth_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

func TestInvalidOptionsPanic(t *testing.T) {
	t.Parallel()
	const issuer = "https://id.example.com"
	verify := func(context.Context, string) (*mcpauth.Token, error) { return nil, nil }
	good := mcpauth.Introspection{Issuer: issuer, ClientID: "a", ClientSecret: "b"}
	for want, f := range map[string]func(){
		`resource "": URL: want an absolute one`:                                func() { mcpauth.New("", mcpauth.Issuer(issuer)) },
		`resource "mcp": URL: want`:                                             func() { mcpauth.New("mcp", mcpauth.Issuer(issuer)) },
		`"http://mcp.example.com": URL of scheme "http"`:                        func() { mcpauth.New("http://mcp.example.com", mcpauth.Issuer(issuer)) },
		`"http://localhost.evil/": URL of scheme "http"`:                        func() { mcpauth.New("http://localhost.evil/", mcpauth.Issuer(issuer)) },
		`#a": URL: want one without user and fragment`:                          func() { mcpauth.New(identifier+"#a", mcpauth.Issuer(issuer)) },
		`"https://mcp.example.com#": URL: want one without`:                     func() { mcpauth.New("https://mcp.example.com#", mcpauth.Issuer(issuer)) },
		`a@mcp.example.com": URL: want one without user`:                        func() { mcpauth.New("https://a@mcp.example.com", mcpauth.Issuer(issuer)) },
		`"https:///mcp": URL: want`:                                             func() { mcpauth.New("https:///mcp", mcpauth.Issuer(issuer)) },
		`"https://a b": URL: want`:                                              func() { mcpauth.New("https://a b", mcpauth.Issuer(issuer)) },
		`no verifier of tokens`:                                                 func() { mcpauth.New(identifier) },
		`no verifier of tokens: want`:                                           func() { mcpauth.New(identifier, mcpauth.AuthorizationServers(issuer)) },
		`Issuer "id.example.com": issuer: URL: want`:                            func() { mcpauth.Issuer("id.example.com") },
		`Issuer "https://id.example.com?": issuer: URL: want one without query`: func() { mcpauth.Issuer(issuer + "?") },
		`"https://id.example.com": found twice`:                                 func() { mcpauth.New(identifier, mcpauth.Issuer(issuer), mcpauth.IssuerKeys(issuer, issuer)) },
		`IssuerKeys: keys "ftp://x": URL of scheme`:                             func() { mcpauth.IssuerKeys(issuer, "ftp://x") },
		`AuthorizationServers "x": issuer`:                                      func() { mcpauth.AuthorizationServers("x") },
		`Introspect: issuer: URL`:                                               func() { mcpauth.Introspect(mcpauth.Introspection{}) },
		`Introspect: want ClientID`:                                             func() { mcpauth.Introspect(mcpauth.Introspection{Issuer: issuer}) },
		`Introspect: endpoint: URL`:                                             func() { i := good; i.Endpoint = "x"; mcpauth.Introspect(i) },
		`found two verifiers of tokens`:                                         func() { mcpauth.New(identifier, mcpauth.Introspect(good), mcpauth.VerifyWith(verify)) },
		`found two verifiers of tokens that`:                                    func() { mcpauth.New(identifier, mcpauth.VerifyWith(verify), mcpauth.VerifyWith(verify)) },
		`VerifyWith: no function`:                                               func() { mcpauth.VerifyWith(nil) },
		`Audiences: found an empty string`:                                      func() { mcpauth.Audiences("") },
		`RequireScopes: scope "a b"`:                                            func() { mcpauth.RequireScopes("a b") },
		`SupportedScopes: scope "offline_access": want a scope of the resource`: func() { mcpauth.SupportedScopes("offline_access") },
		`ScopeIncludes: scope "\"": want printable`:                             func() { mcpauth.ScopeIncludes("a", `"`) },
		`Describe "javascript:alert()": URL`:                                    func() { mcpauth.Describe(mcpauth.ResourceInfo{Terms: "javascript:alert()"}) },
		`algorithm "none": want some of`:                                        func() { mcpauth.Algorithms("ES256", "none") },
		`algorithm "HS256": want some of`:                                       func() { mcpauth.Algorithms("HS256") },
		`no algorithm`:                                                          func() { mcpauth.Algorithms() },
		`TokenTypes: no type`:                                                   func() { mcpauth.TokenTypes() },
		`Skew: 6m0s`:                                                            func() { mcpauth.Skew(6 * time.Minute) },
		`MaxToken: 0`:                                                           func() { mcpauth.MaxToken(0) },
		`ProofAge: 0s`:                                                          func() { mcpauth.ProofAge(0) },
		`ProofNonces: key "a": the secret has 0 bytes`:                          func() { mcpauth.New(identifier, mcpauth.Issuer(issuer), mcpauth.ProofNonces(mcpauth.Key{ID: "a"})) },
		`Logger: found nil`:                                                     func() { mcpauth.Logger(nil) },
		`Protect: no handler`:                                                   func() { mcpauth.New(identifier, mcpauth.Issuer(issuer)).Protect(nil) },
		`metadata: `: func() {
			mcpauth.New(identifier, mcpauth.Issuer(issuer), mcpauth.Describe(mcpauth.ResourceInfo{Name: "\xff"}))
		},
	} {
		if got := panicOf(f); !strings.Contains(got, want) {
			t.Errorf("got panic %q, want %q", got, want)
		}
	}
}

func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}
