package interop_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// issuer is a real authorization server.
type issuer struct {
	url       string
	authority *authority
	http      *http.Client
}

// registered is a client that is registered with the issuer in advance.
type registered struct {
	ID            string   `json:"client_id"`
	Secret        string   `json:"client_secret,omitzero"`
	RedirectURIs  []string `json:"redirect_uris"`
	ResponseTypes []string `json:"response_types"`
	GrantTypes    []string `json:"grant_types"`
	Method        string   `json:"token_endpoint_auth_method"`
	Application   string   `json:"application_type"`
}

// redirect is where native clients are sent back to; the port is theirs to choose.
const redirect = "http://127.0.0.1/callback"

// nativeClient returns a public client that is installed by its user.
func nativeClient(id string) registered {
	return registered{
		ID: id, RedirectURIs: []string{redirect}, ResponseTypes: []string{"code"},
		GrantTypes: []string{"authorization_code", "refresh_token"}, Method: "none", Application: "native",
	}
}

// protectedServer is the client with which a server introspects tokens.
var protectedServer = registered{
	ID: "server", Secret: "of-the-server", RedirectURIs: []string{}, ResponseTypes: []string{},
	GrantTypes: []string{"client_credentials"}, Method: "client_secret_basic", Application: "web",
}

// startIssuer starts an authorization server for the time of the test, which knows
// these clients.
func startIssuer(t *testing.T, clients ...registered) *issuer {
	t.Helper()
	return startIssuerThat(t, false, clients...)
}

// startIssuerThat can require pushed authorization requests.
func startIssuerThat(t *testing.T, wantsPushed bool, clients ...registered) *issuer {
	t.Helper()
	needPeers(t)
	a := newAuthority(t)
	cert, key := a.certify(t)
	config, err := json.Marshal(map[string]any{"clients": append(clients, protectedServer), "pushed": wantsPushed})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, []string{"PORT=0", "TLS_CERT=" + cert, "TLS_KEY=" + key, "NODE_EXTRA_CA_CERTS=" + a.file},
		"node", "--require", "./loopback.cjs", "issuer.mjs", string(config))
	t.Cleanup(func() {
		_ = p.stdin.Close()
		if err := p.await(t); err != nil || t.Failed() {
			t.Logf("%s: %v\n%s", p, err, p.said)
		}
	})
	return &issuer{url: "https://" + p.addr, authority: a, http: a.client(t)}
}

// rotate makes the issuer sign with a new key.
func (i *issuer) rotate(t *testing.T) {
	t.Helper()
	i.post(t, "/rotate", nil, http.StatusNoContent)
}

// happening is one successful use of an endpoint of the issuer.
type happening struct {
	Event    string         `json:"event"`
	Client   string         `json:"client"`
	Grant    string         `json:"grant"`
	Resource jsontext.Value `json:"resource"`
	Pushed   bool           `json:"pushed"`
	Proof    bool           `json:"proof"`
}

// events returns what has happened, oldest first.
func (i *issuer) events(t *testing.T) (all []happening) {
	t.Helper()
	i.get(t, "/events", &all)
	return all
}

func (i *issuer) get(t *testing.T, path string, out any) {
	t.Helper()
	resp, err := i.http.Get(i.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.UnmarshalRead(resp.Body, out); err != nil {
		t.Fatal(err)
	}
}

// post sends a form and returns the response.
func (i *issuer) post(t *testing.T, path string, form url.Values, status int) (answer map[string]any) {
	t.Helper()
	resp, err := i.http.PostForm(i.url+path, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status {
		t.Fatalf("%s: got HTTP %d, want %d: %s", path, resp.StatusCode, status, body)
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(err)
		}
	}
	return answer
}

// This test checks the issuer itself, without Fondaco.
func TestIssuerIsARealAuthorizationServer(t *testing.T) {
	i := startIssuer(t, nativeClient("before"))
	var metadata map[string]any
	i.get(t, "/.well-known/oauth-authorization-server", &metadata)
	for member, want := range map[string]any{
		"issuer": i.url, "client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
	} {
		if metadata[member] != want {
			t.Errorf("metadata: %s: got %v, want %v", member, metadata[member], want)
		}
	}
	var document string
	document = i.authority.serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		c := nativeClient(document)
		_ = json.MarshalWrite(w, c)
	})) + "/client.json"
	for name, client := range map[string]string{"known before": "before", "by its document": document, "dynamic": i.register(t)} {
		t.Run(name, func(t *testing.T) {
			first := i.signIn(t, client, "https://mcp.example.com/mcp")
			head, claims := first.parts(t)
			if head["typ"] != "at+jwt" || claims["aud"] != "https://mcp.example.com/mcp" || claims["iss"] != i.url || claims["sub"] != "alice" {
				t.Errorf("got %v %v", head, claims)
			}
			again := i.post(t, "/token", url.Values{
				"grant_type": {"refresh_token"}, "refresh_token": {first.refresh}, "client_id": {client}, "resource": {"https://mcp.example.com/mcp"},
			}, http.StatusOK)
			if again["refresh_token"] == first.refresh || again["refresh_token"] == nil {
				t.Error("the refresh token was not rotated")
			}
		})
	}
	before := i.keys(t)
	i.rotate(t)
	if after := i.keys(t); len(before) != 1 || len(after) != 2 || after[1] != before[0] {
		t.Errorf("keys: got %v and then %v, want a new one before the old", before, after)
	}
}

func (i *issuer) register(t *testing.T) string {
	t.Helper()
	c := nativeClient("")
	body, err := json.Marshal(map[string]any{
		"redirect_uris": c.RedirectURIs, "grant_types": c.GrantTypes, "response_types": c.ResponseTypes,
		"token_endpoint_auth_method": c.Method, "application_type": c.Application,
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := i.http.Post(i.url+"/reg", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.UnmarshalRead(resp.Body, &c); err != nil || c.ID == "" {
		t.Fatalf("HTTP %d: %v, %+v", resp.StatusCode, err, c)
	}
	return c.ID
}

func (i *issuer) keys(t *testing.T) (ids []string) {
	t.Helper()
	var set struct {
		Keys []struct {
			ID string `json:"kid"`
		} `json:"keys"`
	}
	i.get(t, "/jwks", &set)
	for _, k := range set.Keys {
		ids = append(ids, k.ID)
	}
	return ids
}

// tokens are the tokens of a sign-in.
type tokens struct{ access, refresh string }

// parts returns header and claims of the access token, unverified.
func (k tokens) parts(t *testing.T) (head, claims map[string]any) {
	t.Helper()
	parts := strings.Split(k.access, ".")
	if len(parts) != 3 {
		t.Fatalf("the access token has %d parts, want 3", len(parts))
	}
	for n, into := range []*map[string]any{&head, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[n])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	return head, claims
}

// signIn signs alice in with the authorization code flow.
func (i *issuer) signIn(t *testing.T, client, resource string) tokens {
	t.Helper()
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "state": {"s"}, "scope": {"notes:read"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"}, "resource": {resource},
	}
	answer := newBrowser(t, i.authority).codeOf(t, i.url+"/auth?"+query.Encode(), redirect)
	if answer.Get("code") == "" || answer.Get("iss") != i.url || answer.Get("state") != "s" {
		t.Fatalf("got %v", answer)
	}
	got := i.post(t, "/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {redirect}, "client_id": {client},
		"code_verifier": {verifier}, "resource": {resource},
	}, http.StatusOK)
	access, _ := got["access_token"].(string)
	refresh, _ := got["refresh_token"].(string)
	return tokens{access, refresh}
}
