package mcpauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store"
)

// A server takes the tokens of one authorization server, and tells clients where
// that is.
func ExampleNew() {
	srv := mcpserver.New("airline", "1.0.0", nil)
	auth := mcpauth.New("https://mcp.example.com/mcp", mcpauth.Issuer("https://id.example.com"))

	mux := http.NewServeMux()
	mux.Handle("/mcp", auth.Protect(srv.HTTPHandler()))
	mux.Handle("/.well-known/oauth-protected-resource", auth.Metadata())
	mux.Handle("/.well-known/oauth-protected-resource/", auth.Metadata())

	// A client that comes without a token is led to the metadata.
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "https://mcp.example.com/mcp", nil)
	r.Host = "localhost"
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("WWW-Authenticate"))
	// Output:
	// 401 Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
}

// A proof that one replica has accepted is refused by the others.
func ExampleProofStore() {
	shared := new(mcpserver.MemoryStore) // or that of a package below mcp/store
	srv := mcpserver.New("airline", "1.0.0", &mcpserver.Options{Store: shared})
	auth := mcpauth.New("https://mcp.example.com/mcp", mcpauth.Issuer("https://id.example.com"), mcpauth.ProofStore(shared))
	_ = auth.Protect(srv.HTTPHandler())
}

// Several processes share the sign-ins of their users.
func ExampleSharedStore() {
	engine := new(mcpserver.MemoryStore) // or that of a package below mcp/store
	keys := []mcpserver.Key{{ID: "2026-11", Secret: []byte("32 random bytes from your config")}}
	sealed, err := store.Sealed(engine, keys...)
	if err != nil {
		fmt.Println(err)
		return
	}
	auth := mcpauth.NewClient(&mcpauth.ClientOptions{Store: mcpauth.SharedStore(sealed), Account: "ada"})
	_ = auth // the Auth of mcpclient.HTTPOptions, for the requests of this user
}

// The metadata is what a client reads to learn where to get a token.
func ExampleResource_Metadata() {
	auth := mcpauth.New("https://mcp.example.com/mcp",
		mcpauth.Issuer("https://id.example.com"),
		mcpauth.Algorithms("ES256"),
		mcpauth.SupportedScopes("flights"),
		mcpauth.Describe(mcpauth.ResourceInfo{Name: "Airline"}),
	)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "https://mcp.example.com/.well-known/oauth-protected-resource/mcp", nil)
	auth.Metadata().ServeHTTP(w, r)
	text := jsontext.Value(w.Body.Bytes())
	if err := text.Indent(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(text)
	// Output:
	// {
	// 	"resource": "https://mcp.example.com/mcp",
	// 	"authorization_servers": [
	// 		"https://id.example.com"
	// 	],
	// 	"scopes_supported": [
	// 		"flights"
	// 	],
	// 	"bearer_methods_supported": [
	// 		"header"
	// 	],
	// 	"dpop_signing_alg_values_supported": [
	// 		"ES256"
	// 	],
	// 	"resource_name": "Airline"
	// }
}

// Requests with a good token reach the handler, which learns on whose behalf
// they come.
func ExampleResource_Protect() {
	id := newExampleIssuer()
	defer id.Close()

	auth := mcpauth.New("https://mcp.example.com/mcp",
		mcpauth.Issuer(id.URL),
		mcpauth.RootCAs(id.roots()),
		mcpauth.RequireScopes("flights:read"),
		mcpauth.ScopeIncludes("flights", "flights:read", "flights:write"),
	)
	h := auth.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := mcp.IdentityFrom(r.Context())
		fmt.Fprintln(w, who.Principal.Subject, who.Scopes)
	}))

	for _, scope := range []string{"flights", "hotels"} {
		r := httptest.NewRequest(http.MethodPost, "https://mcp.example.com/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+id.token("ada", scope))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 200 ada [flights flights:read flights:write]
	// 403 authorization: the token lacks a scope
}

// Tokens that come by another way than OAuth are judged by a function.
func ExampleVerifyWith() {
	const resource = "http://localhost:8080/mcp"
	keys := map[[32]byte]string{sha256.Sum256([]byte("correct-horse")): "ada"}
	auth := mcpauth.New(resource, mcpauth.VerifyWith(func(_ context.Context, token string) (*mcpauth.Token, error) {
		user, ok := keys[sha256.Sum256([]byte(token))]
		if !ok {
			return nil, nil
		}
		return &mcpauth.Token{Issuer: "keys", Subject: user, Audience: []string{resource}}, nil
	}))
	h := auth.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, mcpauth.TokenFrom(r.Context()).Subject+"\n")
	}))
	for _, token := range []string{"correct-horse", "battery"} {
		r := httptest.NewRequest(http.MethodPost, resource, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 200 ada
	// 401 authorization: the token is not known
}

// A machine shows by a key who it is. The key never leaves it.
func ExampleClientCredentials() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // or one that was read from a file, or is in a device
	if err != nil {
		fmt.Println(err)
		return
	}
	auth := mcpauth.NewClient(&mcpauth.ClientOptions{Grant: &mcpauth.ClientCredentials{
		Issuer: "https://id.example.com",
		ID:     "nightly-report",
		Key:    &mcpauth.PrivateKey{Signer: key, ID: "2026-11"},
	}})
	_ = auth // goes into mcpclient.Options.HTTP.Auth
}

// The platform on which a program runs says who it is.
func ExampleWorkload() {
	auth := mcpauth.NewClient(&mcpauth.ClientOptions{Grant: &mcpauth.Workload{
		Issuer:    "https://id.example.com",
		ID:        "nightly-report",
		Assertion: mcpauth.AssertionFile("/var/run/secrets/tokens/mcp"),
	}})
	_ = auth // goes into mcpclient.Options.HTTP.Auth
}

// The identity provider of an organization decides what its user may use.
func ExampleEnterprise() {
	idToken := func(context.Context) (mcpauth.Secret, error) { return "that of the user's sign-in", nil }
	auth := mcpauth.NewClient(&mcpauth.ClientOptions{
		Account: "ada",
		Grant: &mcpauth.Enterprise{
			Issuer:   "https://id.example.com",
			ID:       "assistant",
			IDToken:  idToken,
			Provider: mcpauth.IdentityProvider{Issuer: "https://login.corp.example", TokenURL: "https://login.corp.example/token", ID: "assistant"},
		},
	})
	_ = auth // goes into mcpclient.Options.HTTP.Auth
}

// exampleIssuer stands for an authorization server.
type exampleIssuer struct {
	*httptest.Server

	key *ecdsa.PrivateKey
}

func newExampleIssuer() *exampleIssuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	i := &exampleIssuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jwk-set+json")
		_ = json.MarshalWrite(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Use: "sig"}}})
	})
	i.Server = httptest.NewTLSServer(mux)
	return i
}

func (i *exampleIssuer) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(i.Certificate())
	return pool
}

func (i *exampleIssuer) token(subject, scope string) string {
	o := (&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", "1")
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, o)
	if err != nil {
		panic(err)
	}
	claims := fmt.Sprintf(`{"iss":%q,"sub":%q,"aud":"https://mcp.example.com/mcp","scope":%q,"exp":%d}`, i.URL, subject, scope, time.Now().Add(time.Hour).Unix())
	signed, err := s.Sign([]byte(claims))
	if err != nil {
		panic(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return token
}

// An application that has API keys says who sends a request. A key that is not known is
// refused, and tools know the user.
func ExampleAuthenticate() {
	users := map[[sha256.Size]byte]string{sha256.Sum256([]byte("key-of-ada")): "ada"}
	identify := func(r *http.Request) (*mcp.Identity, error) {
		key := r.Header.Get("X-API-Key")
		if key == "" {
			return nil, nil
		}
		user, ok := users[sha256.Sum256([]byte(key))]
		if !ok {
			return nil, mcpauth.Challenge(`ApiKey realm="app"`, errors.New("unknown key"))
		}
		return &mcp.Identity{Principal: mcp.Principal{Issuer: "app", Subject: user}}, nil
	}
	srv := mcpserver.New("app", "1.0.0", nil)
	srv.Tool("whoami", "", func(ctx context.Context, _ struct{}) (string, error) {
		return mcpserver.From(ctx).Principal().Subject, nil
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcpauth.Authenticate(identify)(srv.HTTPHandler()))
	server := httptest.NewServer(mux)
	defer server.Close()
	defer srv.Shutdown(context.Background())

	for _, key := range []string{"", "guessed", "key-of-ada"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + mcp.V20251125.String() + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		r, _ := http.NewRequest(http.MethodPost, server.URL+"/mcp", strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "X-Api-Key": {key}}
		response, err := server.Client().Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		response.Body.Close()
		fmt.Println(response.StatusCode, response.Header.Get("WWW-Authenticate"))
	}
	// Output:
	// 401 Bearer
	// 401 ApiKey realm="app"
	// 200
}
