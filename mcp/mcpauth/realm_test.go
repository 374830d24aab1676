package mcpauth_test

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// realm is an MCP server and an authorization server, each at an https address of
// its own, that keep to the standards unless a test changes a field.
type realm struct {
	tb     testing.TB
	server *httptest.Server // serves /mcp
	issuer *httptest.Server

	tag string // in what it issues, to tell it from that of other realms

	mu  sync.Mutex
	log []string // "METHOD path?query" of the server, "AS METHOD path" of the issuer

	// What both have heard, and what they do in the place of what they should, by
	// "/path" of the server and "AS /path" of the issuer.
	heardByServer, heardByIssuer strings.Builder
	lies                         map[string]http.HandlerFunc

	// The server.
	resource  map[string]members // its metadata, by path
	challenge string             // of 401
	needs     []string           // scopes; 403 without
	forbid    func() string      // the challenge of 403
	sent      []*http.Request    // that reached it
	tokens    map[string]issued
	refuses   bool   // every token
	nonce     string // that proofs have to hold
	// The issuer.
	metadata map[string]members // by path
	respond  func(url.Values)   // changes an authorization response
	register func(members) (int, members)
	lives    int  // seconds
	binds    bool // tokens to the keys of proofs
	codes    map[string]url.Values
	refresh  map[string]issued
	asked    []url.Values // authorization requests
	forms    []url.Values // token requests
	clients  []members    // registrations
	revoked  []url.Values // revocation requests
	keeps    bool         // the tokens that are to be revoked
	forgot   []string     // clients
	auths    []string     // Authorization of token requests
}

// members are those of a JSON object.
type members = map[string]any

// issued is what a token is good for.
type issued struct {
	resource, scope string
	dead, bound     bool
}

func newRealm(tb testing.TB) *realm {
	r := &realm{tb: tb, tokens: map[string]issued{}, codes: map[string]url.Values{}, refresh: map[string]issued{}, lies: map[string]http.HandlerFunc{}, lives: 3600}
	r.server = httptest.NewTLSServer(r.heard("", &r.heardByServer, r.serveResource))
	r.issuer = httptest.NewTLSServer(r.heard("AS ", &r.heardByIssuer, r.serveIssuer))
	tb.Cleanup(r.server.Close)
	tb.Cleanup(r.issuer.Close)
	r.challenge = `Bearer resource_metadata="` + r.server.URL + `/prm"`
	r.resource = map[string]members{"/prm": {"resource": r.mcp(), "authorization_servers": []string{r.issuer.URL}}}
	r.resource["/.well-known/oauth-protected-resource/mcp"] = r.resource["/prm"]
	r.metadata = map[string]members{"/.well-known/oauth-authorization-server": r.issuerMetadata("")}
	return r
}

func (r *realm) mcp() string { return r.server.URL + "/mcp" }

func (r *realm) issuerMetadata(path string) members {
	base := r.issuer.URL + path
	return members{
		"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
		"registration_endpoint": base + "/register", "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	}
}

func (r *realm) note(format string, args ...any) { r.log = append(r.log, fmt.Sprintf(format, args...)) }

func answerJSON(w http.ResponseWriter, status int, m members) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, m)
}

// heard is a handler of which every byte is kept, and that may lie.
func (r *realm) heard(host string, by *strings.Builder, honest http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, _ := httputil.DumpRequest(req, true)
		r.mu.Lock()
		by.Write(text)
		lie := r.lies[host+req.URL.Path]
		if lie != nil {
			r.note("%s%s %s", host, req.Method, req.URL.Path)
		}
		r.mu.Unlock()
		if lie != nil {
			lie(w, req)
			return
		}
		honest(w, req)
	})
}

func (r *realm) serveResource(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.URL.Path != "/mcp" {
		r.note("%s %s", req.Method, req.URL)
		if m := r.resource[req.URL.Path]; m != nil {
			answerJSON(w, http.StatusOK, m)
			return
		}
		r.serveEndpoint(w, req)
		return
	}
	r.sent = append(r.sent, req)
	_, access, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	token, ok := r.tokens[access]
	switch {
	case r.nonce != "" && ok && proofClaim(req, "nonce") != r.nonce:
		w.Header().Set("DPoP-Nonce", r.nonce)
		w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
		w.WriteHeader(http.StatusUnauthorized)
	case r.refuses || !ok || token.dead || !strings.HasPrefix(r.mcp(), strings.ToLower(strings.TrimSuffix(token.resource, "/"))):
		w.Header().Set("WWW-Authenticate", r.challenge)
		http.Error(w, "BANNER", http.StatusUnauthorized)
	case r.forbid != nil:
		w.Header().Set("WWW-Authenticate", r.forbid())
		w.WriteHeader(http.StatusForbidden)
	case slices.ContainsFunc(r.needs, func(s string) bool { return !slices.Contains(strings.Fields(token.scope), s) }):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+strings.Join(r.needs, " ")+`"`)
		w.WriteHeader(http.StatusForbidden)
	}
}

func (r *realm) serveIssuer(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note("AS %s %s", req.Method, req.URL.Path)
	if m := r.metadata[req.URL.Path]; m != nil {
		answerJSON(w, http.StatusOK, m)
		return
	}
	r.serveEndpoint(w, req)
}

func (r *realm) serveEndpoint(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path[strings.LastIndex(req.URL.Path, "/"):] {
	case "/authorize":
		r.authorize(w, req)
	case "/token":
		r.token(w, req)
	case "/register":
		r.registerClient(w, req)
	case "/revoke":
		r.revoke(w, req)
	case "/par":
		_ = req.ParseForm()
		r.codes["urn:par"] = req.PostForm
		answerJSON(w, http.StatusCreated, members{"request_uri": "urn:par", "expires_in": 60})
	default:
		http.NotFound(w, req)
	}
}

func (r *realm) authorize(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	if pushed := r.codes[q.Get("request_uri")]; pushed != nil {
		q = pushed
	}
	r.asked = append(r.asked, q)
	if slices.Contains(r.forgot, q.Get("client_id")) {
		http.Error(w, "BANNER: unknown client", http.StatusBadRequest)
		return
	}
	code := fmt.Sprintf("CANARY-%scode-%d", r.tag, len(r.asked))
	r.codes[code] = q
	response := url.Values{"code": {code}, "state": q["state"], "iss": {"https://" + req.Host}}
	if r.respond != nil {
		r.respond(response)
	}
	http.Redirect(w, req, q.Get("redirect_uri")+"?"+response.Encode(), http.StatusFound)
}

func (r *realm) token(w http.ResponseWriter, req *http.Request) {
	_ = req.ParseForm()
	f := req.PostForm
	r.forms, r.auths = append(r.forms, f), append(r.auths, req.Header.Get("Authorization"))
	if slices.Contains(r.forgot, f.Get("client_id")) {
		answerJSON(w, http.StatusUnauthorized, members{"error": "invalid_client", "error_description": "BANNER"})
		return
	}
	if f.Get("grant_type") == "refresh_token" {
		old, ok := r.refresh[f.Get("refresh_token")]
		delete(r.refresh, f.Get("refresh_token"))
		if !ok || f.Get("resource") != old.resource {
			answerJSON(w, http.StatusBadRequest, members{"error": "invalid_grant"})
			return
		}
		r.issue(w, old)
		return
	}
	if f.Get("grant_type") == "client_credentials" {
		r.issue(w, issued{resource: f.Get("resource"), scope: f.Get("scope")})
		return
	}
	q := r.codes[f.Get("code")]
	delete(r.codes, f.Get("code"))
	sum := sha256.Sum256([]byte(f.Get("code_verifier")))
	switch {
	case q == nil, q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]), q.Get("code_challenge_method") != "S256",
		q.Get("redirect_uri") != f.Get("redirect_uri"), q.Get("resource") != f.Get("resource"):
		answerJSON(w, http.StatusBadRequest, members{"error": "invalid_grant"})
		return
	}
	r.issue(w, issued{resource: q.Get("resource"), scope: q.Get("scope"), bound: r.binds && req.Header.Get("DPoP") != ""})
}

// proofClaim returns a claim of the proof of a request.
func proofClaim(req *http.Request, name string) any {
	var claims members
	parts := strings.Split(req.Header.Get("DPoP"), ".")
	if len(parts) == 3 {
		text, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(text, &claims)
	}
	return claims[name]
}

func (r *realm) issue(w http.ResponseWriter, i issued) {
	access, refresh := fmt.Sprintf("CANARY-%saccess-%d", r.tag, len(r.forms)), fmt.Sprintf("CANARY-%srefresh-%d", r.tag, len(r.forms))
	r.tokens[access], r.refresh[refresh] = i, i
	answerJSON(w, http.StatusOK, members{"access_token": access, "refresh_token": refresh, "token_type": map[bool]string{true: "DPoP", false: "bearer"}[i.bound], "expires_in": r.lives, "scope": i.scope})
}

func (r *realm) registerClient(w http.ResponseWriter, req *http.Request) {
	var client members
	_ = json.UnmarshalRead(req.Body, &client)
	r.clients = append(r.clients, client)
	status, answer := http.StatusCreated, members{"client_id": fmt.Sprintf("client-%d", len(r.clients))}
	if r.register != nil {
		status, answer = r.register(client)
	}
	answerJSON(w, status, answer)
}

func (r *realm) revoke(w http.ResponseWriter, req *http.Request) {
	_ = req.ParseForm()
	r.revoked = append(r.revoked, req.PostForm)
	if r.keeps {
		answerJSON(w, http.StatusServiceUnavailable, members{"error": "CANARY"})
	}
}

// kill ends all access tokens, and the refresh tokens if they are to end.
func (r *realm) kill(refresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, t := range r.tokens {
		t.dead = true
		r.tokens[name] = t
	}
	if refresh {
		clear(r.refresh)
	}
}

// options are those of a client that trusts the realm, with a browser whose user
// signs in at once.
func (r *realm) options() *mcpauth.ClientOptions {
	roots := x509.NewCertPool()
	roots.AddCert(r.server.Certificate())
	return &mcpauth.ClientOptions{RootCAs: roots, Browser: r.browse, Name: "Test"}
}

// browse is a browser: it follows the redirect back to the client.
func (r *realm) browse(ctx context.Context, address string) error {
	back, err := r.signIn(ctx, address)
	if err != nil {
		return err
	}
	resp, err := http.Get(back)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// signIn opens an address and returns to where the browser is sent.
func (r *realm) signIn(ctx context.Context, address string) (string, error) {
	hc := *r.issuer.Client()
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := hc.Do(req)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		return "", fmt.Errorf("authorize: status %d", resp.StatusCode)
	}
	return resp.Header.Get("Location"), nil
}

// call sends a request as a client of MCP does, and returns the last status.
func (r *realm) call(c *mcpauth.Client, headers ...string) (int, error) {
	return r.callAt(c, r.mcp(), `{"method":"tools/call","params":{"name":"report"}}`, headers...)
}

func (r *realm) callAt(c *mcpauth.Client, address, body string, headers ...string) (int, error) {
	for tries := 0; ; tries++ {
		req, err := http.NewRequestWithContext(r.tb.Context(), http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		if err := c.Authorize(req); err != nil {
			return 0, err
		}
		resp, err := r.server.Client().Do(req)
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK || tries == 3 {
			return resp.StatusCode, nil
		}
		if err := c.Challenged(req, resp); err != nil {
			return resp.StatusCode, err
		}
	}
}

// succeeds makes a call that has to succeed.
func (r *realm) succeeds(c *mcpauth.Client, headers ...string) {
	r.tb.Helper()
	if status, err := r.call(c, headers...); status != http.StatusOK || err != nil {
		r.tb.Errorf("call: status %d, %v\n%s", status, err, strings.Join(r.log, "\n"))
	}
}

// fails makes a call that has to fail with a *SignInError that says something, and
// repeats no secret.
func (r *realm) fails(c *mcpauth.Client, want string, headers ...string) error {
	r.tb.Helper()
	status, err := r.call(c, headers...)
	_, typed := errors.AsType[*mcpauth.SignInError](err)
	if !typed || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") || strings.Contains(err.Error(), "BANNER") {
		r.tb.Errorf("call: status %d, error %v; want one that says %q", status, err, want)
	}
	return err
}

// took returns the part of the log that has been written since, and empties it.
func (r *realm) took() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := strings.Join(r.log, "\n")
	r.log = nil
	return text
}

func (r *realm) expectLog(want ...string) {
	r.tb.Helper()
	if got := r.took(); got != strings.Join(want, "\n") {
		r.tb.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// with returns metadata with some members changed; nil removes one.
func with(m members, change members) members {
	m = maps.Clone(m)
	for name, value := range change {
		if value == nil {
			delete(m, name)
			continue
		}
		m[name] = value
	}
	return m
}

// spy is an address that counts who comes.
func spy(tb testing.TB) (address string, hits func() int) {
	var mu sync.Mutex
	n := 0
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		n++
		_, _ = io.Copy(io.Discard, r.Body)
		http.NotFound(w, r)
	}))
	tb.Cleanup(s.Close)
	return s.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}
