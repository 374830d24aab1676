package mcpauth_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json/v2"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

func TestMain(m *testing.M) { leak.Main(m) }

// identifier is the resource of the tests.
const identifier = "https://mcp.example.com/mcp"

// fields are the claims of a token, or what is changed of them; nil removes one.
type fields = map[string]any

// signer is a private key and what its tokens say about it.
type signer struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

func newSigner(tb testing.TB, id string) signer {
	tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return signer{id: id, algorithm: jose.ES256, private: private}
}

func (k signer) jwk() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.private.Public(), KeyID: k.id, Algorithm: string(k.algorithm), Use: "sig"}
}

// thumbprint is the jkt of the key.
func (k signer) thumbprint(tb testing.TB) string {
	tb.Helper()
	jwk := k.jwk()
	sum, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		tb.Fatal(err)
	}
	return encode(sum)
}

// sign signs a payload under a header, to which alg is added.
func (k signer) sign(tb testing.TB, header fields, payload []byte) string {
	tb.Helper()
	o := &jose.SignerOptions{ExtraHeaders: make(map[jose.HeaderKey]any)}
	for name, value := range header {
		o.ExtraHeaders[jose.HeaderKey(name)] = value
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: k.algorithm, Key: k.private}, o)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := s.Sign(payload)
	if err != nil {
		tb.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		tb.Fatal(err)
	}
	return compact
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func encodeJSON(tb testing.TB, v any) []byte {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return encode(sum[:])
}

// changed returns a copy of some fields with others changed.
func changed(base, change fields) fields {
	all := maps.Clone(base)
	for name, value := range change {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = value
		}
	}
	return all
}

// authority is an authorization server in the test's process.
type authority struct {
	*httptest.Server

	mu      sync.Mutex // guards the fields below
	signers []signer   // of which the first signs
	answers map[string]http.HandlerFunc

	fetches atomic.Int32 // of keys
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{signers: []signer{newSigner(tb, "one")}, answers: make(map[string]http.HandlerFunc)}
	a.Server = httptest.NewTLSServer(a)
	tb.Cleanup(a.Close)
	return a
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	answer, signers := a.answers[r.URL.Path], a.signers
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case answer != nil:
		answer(w, r)
	case r.URL.Path == "/.well-known/oauth-authorization-server":
		_ = json.MarshalWrite(w, fields{"issuer": a.URL, "jwks_uri": a.URL + "/keys", "introspection_endpoint": a.URL + "/introspect"})
	case r.URL.Path == "/keys":
		a.fetches.Add(1)
		var set jose.JSONWebKeySet
		for _, s := range signers {
			set.Keys = append(set.Keys, s.jwk())
		}
		_ = json.MarshalWrite(w, set)
	default:
		http.NotFound(w, r)
	}
}

// answer makes the authorization server answer in another way at a path.
func (a *authority) answer(path string, h http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[path] = h
}

// rotate makes it sign with another key, and publish that alone.
func (a *authority) rotate(s signer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.signers = []signer{s}
}

func (a *authority) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Certificate())
	return pool
}

func (a *authority) header() fields { return fields{"typ": "at+jwt", "kid": a.signers[0].id} }

func (a *authority) claims() fields {
	return fields{
		"iss": a.URL, "sub": "ada", "aud": identifier, "client_id": "editor", "scope": "read write",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "jti": rand.Text(),
	}
}

// token returns a good token, but for the changes.
func (a *authority) token(tb testing.TB, change fields) string {
	tb.Helper()
	return a.signers[0].sign(tb, a.header(), encodeJSON(tb, changed(a.claims(), change)))
}

// protected is a handler behind Protect.
type protected struct {
	tb       testing.TB
	auth     *mcpauth.Resource
	handler  http.Handler
	calls    int
	identity *mcp.Identity // of the last call
	token    *mcpauth.Token
	inner    *http.Request
	log      *bytes.Buffer
}

// protect returns a handler that takes the tokens of the authorization server.
func (a *authority) protect(tb testing.TB, opts ...mcpauth.Option) *protected {
	tb.Helper()
	return newProtected(tb, append([]mcpauth.Option{mcpauth.Issuer(a.URL), mcpauth.RootCAs(a.roots())}, opts...)...)
}

func newProtected(tb testing.TB, opts ...mcpauth.Option) *protected {
	tb.Helper()
	p := &protected{tb: tb, log: new(bytes.Buffer)}
	logger := slog.New(slog.NewJSONHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.auth = mcpauth.New(identifier, append(opts, mcpauth.Logger(logger))...)
	p.handler = p.auth.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.calls++
		p.identity, p.token, p.inner = mcp.IdentityFrom(r.Context()), mcpauth.TokenFrom(r.Context()), r
		_, _ = io.WriteString(w, "inside")
	}))
	return p
}

// request is a POST to the resource with pairs of header names and values.
func request(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, identifier, strings.NewReader("{}"))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func (p *protected) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w
}

// bearer sends a token.
func (p *protected) bearer(token string) *httptest.ResponseRecorder {
	return p.do(request("Authorization", "Bearer "+token))
}

// passes fails the test unless the token gets to the handler.
func (p *protected) passes(token string) {
	p.tb.Helper()
	before := p.calls
	if w := p.bearer(token); w.Code != http.StatusOK || p.calls != before+1 {
		p.tb.Errorf("got status %d and %d calls, want 200 and one; %s", w.Code, p.calls-before, w.Body)
	}
}

// refuses fails the test unless the request is answered with the status and a
// challenge with the error code, and the handler does not hear of it.
func (p *protected) refuses(r *http.Request, status int, code string) *httptest.ResponseRecorder {
	p.tb.Helper()
	before := p.calls
	w := p.do(r)
	if w.Code != status || p.calls != before {
		p.tb.Errorf("got status %d and %d calls, want %d and none; %s", w.Code, p.calls-before, status, w.Body)
	}
	challenge := w.Header().Get("WWW-Authenticate")
	if got := param(challenge, "error"); got != code {
		p.tb.Errorf("got challenge %q, want error %q", challenge, code)
	}
	if status != http.StatusServiceUnavailable && (len(w.Header()["Www-Authenticate"]) != 1 || challenge == "") {
		p.tb.Errorf("got challenges %q, want one", w.Header()["Www-Authenticate"])
	}
	return w
}

// param returns a parameter of a challenge.
func param(challenge, name string) string {
	_, rest, _ := strings.Cut(strings.Replace(challenge, " ", ", ", 1), ", "+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
