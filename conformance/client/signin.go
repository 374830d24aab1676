package main

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json/v2"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// credentials is the suite's data about the client in authorization scenarios.
type credentials struct {
	ID        string         `json:"client_id"`
	Secret    mcpauth.Secret `json:"client_secret"`
	Issuer    string         `json:"issuer"`
	Key       string         `json:"private_key_pem"`
	Algorithm string         `json:"signing_algorithm"`

	Provider      string         `json:"idp_issuer"`
	ProviderToken string         `json:"idp_token_endpoint"`
	ProviderID    string         `json:"idp_client_id"`
	IDToken       mcpauth.Secret `json:"idp_id_token"`

	Workload mcpauth.Secret `json:"valid_jwt"`
}

// documentURL is the client ID of a client with a metadata document. The suite knows the
// URL and does not fetch it.
const documentURL = "https://conformance-test.local/client-metadata.json"

// refusals are the scenarios in which the client must refuse to connect.
var refusals = map[string]bool{
	"auth/iss-normalized":           true,
	"auth/iss-supported-missing":    true,
	"auth/iss-unexpected":           true,
	"auth/iss-wrong-issuer":         true,
	"auth/metadata-issuer-mismatch": true,
	"auth/resource-mismatch":        true,
	"auth/scope-retry-limit":        true,
}

// signIn returns the authorizer for the servers of a scenario.
func signIn(ctx context.Context, scenario, server string) (*mcpauth.Client, error) {
	var told credentials
	if text := given(); len(text) > 0 {
		if err := json.Unmarshal(text, &told); err != nil {
			return nil, fmt.Errorf("context of the scenario: %w", err)
		}
	}
	opts := &mcpauth.ClientOptions{Name: "conformance", Browser: browse, AllowOldEndpoints: true}
	switch scenario {
	case "auth/basic-cimd":
		opts.MetadataURL = documentURL
	case "auth/pre-registration":
		opts.Registered = []mcpauth.Registration{{Issuer: told.Issuer, ID: told.ID, Secret: told.Secret}}
	case "auth/dpop", "auth/dpop-nonce":
		opts.BindTokens = true
	case "auth/client-credentials-basic", "auth/client-credentials-jwt", "auth/enterprise-managed-authorization", "auth/wif-jwt-bearer":
		issuer, err := issuerOf(ctx, server)
		if err != nil {
			return nil, err
		}
		if opts.Grant, err = told.grant(issuer); err != nil {
			return nil, err
		}
	}
	return mcpauth.NewClient(opts), nil
}

// grant returns the OAuth grant without a user.
func (c *credentials) grant(issuer string) (mcpauth.Grant, error) {
	switch {
	case c.Provider != "":
		return &mcpauth.Enterprise{
			Issuer: issuer, ID: c.ID, Secret: c.Secret,
			IDToken:  func(context.Context) (mcpauth.Secret, error) { return c.IDToken, nil },
			Provider: mcpauth.IdentityProvider{Issuer: c.Provider, TokenURL: c.ProviderToken, ID: c.ProviderID},
		}, nil
	case c.Workload != "":
		return &mcpauth.Workload{
			Issuer: issuer, ID: c.ID, Assertion: func(context.Context) (mcpauth.Secret, error) { return c.Workload, nil },
		}, nil
	case c.Key == "":
		return &mcpauth.ClientCredentials{Issuer: issuer, ID: c.ID, Secret: c.Secret}, nil
	}
	block, _ := pem.Decode([]byte(c.Key))
	if block == nil {
		return nil, errors.New("context of the scenario: want a private key in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("context of the scenario: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("context of the scenario: key of type %T: want one that signs", key)
	}
	return &mcpauth.ClientCredentials{Issuer: issuer, ID: c.ID, Key: &mcpauth.PrivateKey{Signer: signer, Algorithm: c.Algorithm}}, nil
}

// issuerOf asks the server for its authorization server. A client without a user must be
// configured with it, but the suite does not name it.
func issuerOf(ctx context.Context, server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/.well-known/oauth-protected-resource" + u.Path
	var metadata struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := getJSON(ctx, u.String(), &metadata); err != nil {
		return "", err
	}
	if len(metadata.Servers) == 0 {
		return "", fmt.Errorf("%s: names no authorization server", u)
	}
	return metadata.Servers[0], nil
}

func getJSON(ctx context.Context, address string, out any) error {
	resp, err := visit(ctx, address)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.UnmarshalRead(resp.Body, out)
}

// browse follows the redirect: the suite's authorization server asks its user nothing.
func browse(ctx context.Context, address string) error {
	resp, err := visit(ctx, address)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

func visit(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}
