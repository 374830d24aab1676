package main

import (
	"crypto/rand"
	"encoding/json/v2"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// register registers a client with loopback redirect URLs.
//
// Spec: RFC 7591 3
func (i *issuer) register(w http.ResponseWriter, r *http.Request) {
	var client struct {
		Redirects []string `json:"redirect_uris"`
	}
	if json.UnmarshalRead(r.Body, &client) != nil || len(client.Redirects) == 0 || slices.ContainsFunc(client.Redirects, isElsewhere) {
		refuse(w, "invalid_redirect_uri")
		return
	}
	id := rand.Text()
	i.mu.Lock()
	i.redirects[id] = client.Redirects
	i.mu.Unlock()
	answer(w, http.StatusCreated, object{"client_id": id, "redirect_uris": client.Redirects, "token_endpoint_auth_method": "none"})
}

func isElsewhere(redirect string) bool {
	u, err := url.Parse(redirect)
	return err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1"
}

var page = template.Must(template.New("").Parse(`<!doctype html><title>Sign in</title>
<h1>You are Ada</h1>
<p>A program on this machine wants {{or .Scope "nothing in particular"}} at {{.Resource}}.</p>
<form method="post"><button>Allow</button></form>
`))

// ask shows the consent page. Its form is sent to the same address.
func (i *issuer) ask(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !i.valid(q) {
		http.Error(w, "the request is not valid", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	_ = page.Execute(w, map[string]string{"Scope": q.Get("scope"), "Resource": q.Get("resource")})
}

// allow redirects the browser with a code.
//
// Spec: RFC 6749 4.1.2; RFC 9207 2
func (i *issuer) allow(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	fromUs := r.Header.Get("Origin") == "" || r.Header.Get("Origin") == i.url
	if !i.valid(q) || !fromUs {
		http.Error(w, "the request is not valid", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.codes[code] = grant{
		client: q.Get("client_id"), subject: "ada", resource: q.Get("resource"), scope: q.Get("scope"),
		redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), until: time.Now().Add(time.Minute),
	}
	i.mu.Unlock()
	back := url.Values{"code": {code}, "state": q["state"], "iss": {i.url}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusSeeOther)
}

// valid reports whether an authorization request is of a registered client and has PKCE
// and a registered redirect URL.
func (i *issuer) valid(q url.Values) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Contains(i.redirects[q.Get("client_id")], q.Get("redirect_uri")) &&
		q.Get("response_type") == "code" && q.Get("code_challenge_method") == "S256" && q.Get("code_challenge") != "" && q.Get("resource") != ""
}
