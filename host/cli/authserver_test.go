package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// authority is an authorization server at which every client is registered, and every
// user called Ada and signed in.
type authority struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu      sync.Mutex
	codes   map[string]url.Values // authorization requests
	issued  []string
	revoked []string
	machine string // the Authorization of a machine
}

type members = map[string]any

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, codes: make(map[string]url.Values)}
	mux := http.NewServeMux()
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, members{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "jwks_uri": a.URL + "/keys",
			"registration_endpoint": a.URL + "/register", "revocation_endpoint": a.URL + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
		})
	})
	mux.HandleFunc("/keys", a.keys)
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, members{"client_id": "registered"}) })
	mux.HandleFunc("/authorize", a.authorize)
	mux.HandleFunc("/token", a.token)
	mux.HandleFunc("/revoke", func(_ http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.revoked = append(a.revoked, r.FormValue("token"))
	})
	return a
}

func writeJSON(w http.ResponseWriter, m members) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, m)
}

func (a *authority) keys(w http.ResponseWriter, _ *http.Request) {
	point, _ := a.key.PublicKey.Bytes()
	writeJSON(w, members{"keys": []members{{
		"kty": "EC", "crv": "P-256", "kid": "1", "alg": "ES256", "use": "sig",
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}}})
}

func (a *authority) authorize(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := r.URL.Query()
	code := fmt.Sprintf("code-%d", len(a.codes))
	a.codes[code] = q
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": q["state"]}.Encode(), http.StatusFound)
}

func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	resource, scope, subject := r.FormValue("resource"), r.FormValue("scope"), "ada"
	if r.FormValue("grant_type") == "client_credentials" {
		a.machine, subject = r.Header.Get("Authorization"), "robot"
	} else {
		q := a.codes[r.FormValue("code")]
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if q == nil || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || q.Get("resource") != resource {
			w.WriteHeader(http.StatusBadRequest)
			writeJSON(w, members{"error": "invalid_grant"})
			return
		}
		scope = q.Get("scope")
	}
	access := a.mint(subject, resource, scope)
	a.issued = append(a.issued, access)
	writeJSON(w, members{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "scope": scope})
}

// mint returns an access token.
func (a *authority) mint(subject, resource, scope string) string {
	head, _ := json.Marshal(members{"alg": "ES256", "typ": "at+jwt", "kid": "1"})
	body, _ := json.Marshal(members{
		"iss": a.URL, "sub": subject, "aud": resource, "client_id": "registered", "scope": scope, "jti": rand.Text(),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	r, v, _ := ecdsa.Sign(rand.Reader, a.key, sum[:])
	signature := append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// protect serves a server to those with tokens of the authority, and returns its URL.
func (a *authority) protect(t *testing.T, srv *mcpserver.Server) string {
	t.Helper()
	return a.protectBehind(t, srv, func(h http.Handler) http.Handler { return h })
}

// protectBehind is protect with a gateway in front of the server.
func (a *authority) protectBehind(t *testing.T, srv *mcpserver.Server, gateway func(http.Handler) http.Handler) string {
	t.Helper()
	mux := http.NewServeMux()
	web := httptest.NewServer(gateway(mux))
	t.Cleanup(web.Close)
	r := mcpauth.New(web.URL+"/mcp", mcpauth.Issuer(a.URL), mcpauth.Logger(quiet))
	mux.Handle("/mcp", r.Protect(srv.HTTPHandler()))
	mux.Handle("/.well-known/oauth-protected-resource/", r.Metadata())
	return web.URL + "/mcp"
}

// keyed is a gateway that answers only requests with its key.
func keyed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Gateway-Key") != "open-sesame" {
			http.Error(w, "want the key of the gateway", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// visit opens an address, as a browser whose user says yes to everything.
func visit(address string) {
	resp, err := http.Get(address)
	if err != nil || resp.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stderr, "visit:", err, resp)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

// visitPage opens the address to which a page in a file leads.
func visitPage(path string) {
	page, err := os.ReadFile(path)
	link := regexp.MustCompile(`href="([^"]+)"`).FindSubmatch(page)
	if err != nil || link == nil {
		fmt.Fprintln(os.Stderr, "visit:", path, err)
		os.Exit(1)
	}
	visit(html.UnescapeString(string(link[1])))
}

var address = regexp.MustCompile(`http://\S+/authorize\?\S+`)

func visitNamed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("want visits FILE")
	}
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		if found := address.Find(text); found != nil {
			visit(string(found))
			return
		}
	}
	ts.Fatalf("%s names no address", filepath.Base(args[0]))
}
