package main

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json/v2"
	"net/http"
	"net/url"
	"time"
)

const tokenLife = 5 * time.Minute

// token answers requests for tokens.
//
// Spec: RFC 6749 3.2
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		refuse(w, "invalid_request")
		return
	}
	g, code := i.grant(r)
	if code != "" {
		refuse(w, code)
		return
	}
	access, err := i.sign(g)
	if err != nil {
		refuse(w, "server_error")
		return
	}
	o := object{"access_token": access, "token_type": "Bearer", "expires_in": int(tokenLife.Seconds()), "scope": g.scope}
	if g.subject != g.client {
		o["refresh_token"] = i.refresh(g)
	}
	answer(w, http.StatusOK, o)
}

// grant returns the grant that a token request redeems, or an error code.
func (i *issuer) grant(r *http.Request) (grant, string) {
	f := r.PostForm
	switch f.Get("grant_type") {
	case "authorization_code":
		g, ok := i.take(i.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !ok || !g.asked(f) || g.redirect != f.Get("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || time.Now().After(g.until) {
			return g, "invalid_grant"
		}
		return g, ""
	case "refresh_token":
		if g, ok := i.take(i.refreshes, f.Get("refresh_token")); ok && g.asked(f) {
			return g, ""
		}
		return grant{}, "invalid_grant"
	case "client_credentials":
		return i.machine(r)
	}
	return grant{}, "unsupported_grant_type"
}

// asked reports whether a request comes from the client of the grant, for the same
// resource.
//
// Spec: RFC 8707 2.2
func (g grant) asked(f url.Values) bool {
	return g.client == f.Get("client_id") && g.resource == f.Get("resource")
}

// machine returns a grant to the client robot itself.
//
// Spec: RFC 6749 4.4
func (i *issuer) machine(r *http.Request) (grant, string) {
	id, secret, _ := r.BasicAuth()
	secret, err := url.QueryUnescape(secret)
	if err != nil || i.robot == "" || id != "robot" || subtle.ConstantTimeCompare([]byte(secret), []byte(i.robot)) == 0 {
		return grant{}, "invalid_client"
	}
	return grant{client: id, subject: id, resource: r.PostForm.Get("resource"), scope: r.PostForm.Get("scope")}, ""
}

// take removes a grant, because a code or refresh token can be used once.
func (i *issuer) take(from map[string]grant, name string) (grant, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	g, ok := from[name]
	delete(from, name)
	return g, ok
}

func (i *issuer) refresh(g grant) string {
	name := rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refreshes[name] = g
	return name
}

// sign returns an access token.
//
// Spec: RFC 9068 2
func (i *issuer) sign(g grant) (string, error) {
	now := time.Now()
	claims, err := json.Marshal(object{
		"iss": i.url, "sub": g.subject, "aud": g.resource, "client_id": g.client, "scope": g.scope,
		"iat": now.Unix(), "exp": now.Add(tokenLife).Unix(), "jti": rand.Text(),
	})
	if err != nil {
		return "", err
	}
	text := encode([]byte(`{"alg":"ES256","typ":"at+jwt","kid":"1"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + encode(signature), nil
}

// keys serves the set with the public key.
//
// Spec: RFC 7517 5
func (i *issuer) keys(w http.ResponseWriter, _ *http.Request) {
	point, err := i.key.PublicKey.Bytes()
	if err != nil {
		refuse(w, "server_error")
		return
	}
	answer(w, http.StatusOK, object{"keys": []object{{
		"kty": "EC", "crv": "P-256", "kid": "1", "use": "sig", "alg": "ES256", "x": encode(point[1:33]), "y": encode(point[33:]),
	}}})
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
