package mcpauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// canaryText is in every secret of the test below.
const canaryText = "canary0b5e"

// TestTokensAreInNoOutput sends secrets through everything that can go wrong.
func TestTokensAreInNoOutput(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-194b")
	f, holder := newForger(t), newProver(t)
	bound := f.token(t, holder.confirmation())
	secrets := []string{canaryText, "s/cret", "s%2Fcret", "bm90ZXMlM0FzZXJ2ZXI6cyUyRmNyZXQ=", bound}
	var outputs []string
	send := func(p *protected, r *http.Request) {
		w := p.do(r)
		outputs = append(outputs, fmt.Sprint(w.Header()), w.Body.String())
	}
	all := func(p *protected) {
		for _, token := range f.tokens() {
			secrets = append(secrets, token)
			send(p, request("Authorization", "Bearer "+token))
		}
		good := f.token(t, nil)
		secrets = append(secrets, good)
		send(p, request("Authorization", "Bearer "+good))
		send(p, request("Authorization", "Bearer "+canaryText))
		send(p, request("Authorization", "Bearer "+canaryText+" x"))
		send(p, request("Authorization", canaryText))
		send(p, request("Authorization", "Basic "+canaryText))
		for _, change := range []fields{nil, {"ath": canaryText}, {"htu": "https://" + canaryText}, {"jti": canaryText}, {"nonce": canaryText}} {
			send(p, proven(bound, holder.proof(bound, nil, change)))
		}
		query := request()
		query.URL.RawQuery = url.Values{"access_token": {canaryText}}.Encode()
		send(p, query)
		outputs = append(outputs, p.log.String(), fmt.Sprintf("%v %+v", p.identity, p.token))
	}
	f.introspect(t, func(string) any { return fields{"active": false, "error": canaryText} })
	all(f.protect(t, mcpauth.Introspect(f.introspection()), mcpauth.ProofNonces(), mcpauth.RequireScopes("read")))
	f.answer("/introspect", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.FormValue("token"), http.StatusTeapot)
	})
	all(f.protect(t, mcpauth.Introspect(f.introspection()), mcpauth.RequireScopes("pay")))
	f.answer("/introspect", func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "%s %s\r\n\r\n", r.FormValue("token"), r.Header.Get("Authorization"))
	})
	all(f.protect(t, mcpauth.Introspect(f.introspection())))
	f.Close()
	all(f.protect(t, mcpauth.Introspect(f.introspection())))
	for _, fail := range []func(string) error{
		func(token string) error { return fmt.Errorf("look up %q, %#v: not found", token, token) },
		func(token string) error {
			return &url.Error{Op: "Get", URL: "https://x?" + url.Values{"t": {token}}.Encode(), Err: context.DeadlineExceeded}
		},
		func(token string) error { panic("no token " + token) },
		func(token string) error { panic(fmt.Errorf("no token %s", token)) },
	} {
		all(newProtected(t, mcpauth.VerifyWith(func(_ context.Context, token string) (*mcpauth.Token, error) { return nil, fail(token) })))
	}
	text := strings.Join(outputs, "\n")
	for _, secret := range secrets {
		// Three characters are in any text.
		if len(secret) > 3 && strings.Contains(strings.ReplaceAll(text, `\"`, `"`), secret) {
			t.Errorf("a secret is in an output: %s", secret)
		}
	}
	if !strings.Contains(text, "[token]") || !strings.Contains(text, "the verifier panicked") {
		t.Error("the outputs are not what they should be")
	}
}

func TestLogStatesTheReason(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	p := a.protect(t)
	p.bearer(a.token(t, fields{"exp": time.Now().Add(-time.Hour).Unix()}))
	p.do(request())
	a.Close()
	for _, want := range []string{`"level":"INFO","msg":"access refused","resource":"` + identifier + `","status":401,"reason":"the token has expired"`, `"level":"DEBUG"`} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("logged %s, want %s", p.log, want)
		}
	}
	down := a.protect(t)
	if down.bearer(a.token(t, nil)); !strings.Contains(down.log.String(), `"level":"WARN"`) || !strings.Contains(down.log.String(), `"cause":"metadata of issuer `) {
		t.Errorf("logged %s", down.log)
	}
}
