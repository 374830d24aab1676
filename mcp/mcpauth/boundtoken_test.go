package mcpauth_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// prover is a client that holds a key.
type prover struct {
	signer

	tb testing.TB
}

func newProver(tb testing.TB) prover { return prover{newSigner(tb, ""), tb} }

// header is that of a good proof.
func (p prover) header() fields {
	return fields{"typ": "dpop+jwt", "jwk": jose.JSONWebKey{Key: p.private.Public()}}
}

// claims are those of a good proof.
func (p prover) claims(token string) fields {
	return fields{"jti": rand.Text(), "htm": http.MethodPost, "htu": identifier, "iat": time.Now().Unix(), "ath": hash(token)}
}

// proof returns a good proof, but for the changes.
func (p prover) proof(token string, header, claims fields) string {
	return p.sign(p.tb, changed(p.header(), header), encodeJSON(p.tb, changed(p.claims(token), claims)))
}

func (p prover) confirmation() fields { return fields{"cnf": fields{"jkt": p.thumbprint(p.tb)}} }

func proven(token string, proofs ...string) *http.Request {
	r := request("Authorization", "DPoP "+token)
	r.Header["Dpop"] = proofs
	return r
}

func TestBoundTokensNeedAProof(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-192")
	a, holder := newAuthority(t), newProver(t)
	p := a.protect(t)
	token := a.token(t, holder.confirmation())
	if w := p.do(proven(token, holder.proof(token, nil, nil))); w.Code != http.StatusOK || p.token.ProofKey != holder.thumbprint(t) {
		t.Fatalf("got status %d, %s", w.Code, w.Body)
	}
	if got := p.identity.Challenge([]string{"write"}); !strings.HasPrefix(got, "DPoP ") || param(got, "scope") != "write" || param(got, "algs") == "" {
		t.Errorf("got challenge %q", got)
	}
	for name, claims := range map[string]fields{
		"query in htu":        {"htu": identifier + "?a=b"},
		"fragment in htu":     {"htu": identifier + "#a"},
		"htu in another case": {"htu": "HTTPS://MCP.example.com:443/mcp"},
		"clock behind":        {"iat": time.Now().Add(-4 * time.Minute).Unix()},
		"clock ahead":         {"iat": time.Now().Add(4 * time.Minute).Unix()},
	} {
		if w := p.do(proven(token, holder.proof(token, nil, claims))); w.Code != http.StatusOK {
			t.Errorf("%s: got status %d, %s", name, w.Code, w.Body)
		}
	}
}

func TestForgedProofsAreRefused(t *testing.T) {
	t.Parallel()
	a, holder, thief := newAuthority(t), newProver(t), newProver(t)
	p := a.protect(t)
	token := a.token(t, holder.confirmation())
	used := holder.proof(token, nil, nil)
	if w := p.do(proven(token, used)); w.Code != http.StatusOK {
		t.Fatalf("got status %d", w.Code)
	}
	good := func() string { return holder.proof(token, nil, nil) }
	for name, proofs := range map[string][]string{
		"none":                 {},
		"two":                  {good(), good()},
		"empty":                {""},
		"no JWT":               {"abc"},
		"too long":             {holder.proof(token, nil, fields{"pad": strings.Repeat("x", 8<<10)})},
		"used before":          {used},
		"typ of a token":       {holder.proof(token, fields{"typ": "at+jwt"}, nil)},
		"no typ":               {holder.proof(token, fields{"typ": nil}, nil)},
		"no key":               {holder.proof(token, fields{"jwk": nil}, nil)},
		"private key":          {holder.proof(token, fields{"jwk": jose.JSONWebKey{Key: holder.private}}, nil)},
		"another's key":        {thief.proof(token, nil, nil)},
		"another's signature":  {thief.proof(token, holder.header(), nil)},
		"secret as key":        {holder.proof(token, fields{"jwk": jose.JSONWebKey{Key: []byte("secret")}}, nil)},
		"critical":             {holder.proof(token, fields{"crit": []string{"x"}, "x": 1}, nil)},
		"no id":                {holder.proof(token, nil, fields{"jti": nil})},
		"endless id":           {holder.proof(token, nil, fields{"jti": strings.Repeat("x", 257)})},
		"another method":       {holder.proof(token, nil, fields{"htm": "GET"})},
		"method in lower case": {holder.proof(token, nil, fields{"htm": "post"})},
		"no method":            {holder.proof(token, nil, fields{"htm": nil})},
		"another URL":          {holder.proof(token, nil, fields{"htu": "https://other.example.com/mcp"})},
		"another path":         {holder.proof(token, nil, fields{"htu": "https://mcp.example.com/other"})},
		"prefix of the URL":    {holder.proof(token, nil, fields{"htu": "https://mcp.example.com"})},
		"another scheme":       {holder.proof(token, nil, fields{"htu": "http://mcp.example.com/mcp"})},
		"no URL":               {holder.proof(token, nil, fields{"htu": nil})},
		"too old":              {holder.proof(token, nil, fields{"iat": time.Now().Add(-301 * time.Second).Unix()})},
		"too new":              {holder.proof(token, nil, fields{"iat": time.Now().Add(10 * time.Minute).Unix()})},
		"no time":              {holder.proof(token, nil, fields{"iat": nil})},
		"time that is none":    {holder.proof(token, nil, fields{"iat": 1e300})},
		"another token":        {holder.proof(token+"x", nil, nil)},
		"no token":             {holder.proof(token, nil, fields{"ath": nil})},
		"claims of no kind":    {holder.sign(t, holder.header(), []byte("[]"))},
	} {
		before := t.Failed()
		w := p.refuses(proven(token, proofs...), http.StatusUnauthorized, "invalid_dpop_proof")
		if got := w.Header().Get("WWW-Authenticate"); !strings.HasPrefix(got, "DPoP ") || !strings.Contains(param(got, "algs"), "ES256") {
			t.Errorf("got challenge %q", got)
		}
		if t.Failed() && !before {
			t.Errorf("the proof was: %s", name)
		}
	}
	for name, r := range map[string]*http.Request{
		"as Bearer":                  request("Authorization", "Bearer "+token),
		"as Bearer with a proof":     request("Authorization", "Bearer "+token, "DPoP", good()),
		"not bound, as DPoP":         proven(a.token(t, nil), good()),
		"bound to a key, in no form": proven(a.token(t, fields{"cnf": fields{"jkt": 7}}), good()),
	} {
		if p.refuses(r, http.StatusUnauthorized, "invalid_token"); t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestProofCanBeRequired(t *testing.T) {
	t.Parallel()
	a, holder := newAuthority(t), newProver(t)
	p := a.protect(t, mcpauth.RequireProof())
	if got := p.refuses(request(), 401, "").Header().Get("WWW-Authenticate"); !strings.HasPrefix(got, "DPoP ") {
		t.Errorf("got challenge %q", got)
	}
	p.refuses(request("Authorization", "Bearer "+a.token(t, nil)), 401, "invalid_token")
	token := a.token(t, holder.confirmation())
	if w := p.do(proven(token, holder.proof(token, nil, nil))); w.Code != http.StatusOK {
		t.Errorf("got status %d, %s", w.Code, w.Body)
	}
}

func TestProofsOfIntrospectedTokensAreChecked(t *testing.T) {
	t.Parallel()
	a, holder := newAuthority(t), newProver(t)
	a.introspect(t, func(string) any { return changed(a.active(), holder.confirmation()) })
	p := newProtected(t, mcpauth.Introspect(a.introspection()), mcpauth.RootCAs(a.roots()))
	p.refuses(request("Authorization", "Bearer opaque"), 401, "invalid_token")
	if w := p.do(proven("opaque", holder.proof("opaque", nil, nil))); w.Code != http.StatusOK {
		t.Errorf("got status %d, %s", w.Code, w.Body)
	}
}

// static takes one token, bound to a key.
func static(holder prover) mcpauth.Option {
	return mcpauth.VerifyWith(func(context.Context, string) (*mcpauth.Token, error) {
		return &mcpauth.Token{Issuer: "static", Subject: "ada", Audience: []string{identifier}, ProofKey: holder.thumbprint(holder.tb)}, nil
	})
}

func TestNoncesAreGivenAndExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		holder := newProver(t)
		key := mcpauth.Key{ID: "a", Secret: []byte(strings.Repeat("s", 32))}
		p := newProtected(t, static(holder), mcpauth.ProofNonces(key))
		replica := newProtected(t, static(holder), mcpauth.ProofNonces(key))
		other := newProtected(t, static(holder), mcpauth.ProofNonces())
		nonce := p.refuses(proven("x", holder.proof("x", nil, nil)), 401, "use_dpop_nonce").Header().Get("DPoP-Nonce")
		with := func(nonce string) *http.Request { return proven("x", holder.proof("x", nil, fields{"nonce": nonce})) }
		w := p.do(with(nonce))
		if w.Code != http.StatusOK || w.Header().Get("DPoP-Nonce") == "" {
			t.Fatalf("got status %d, %v", w.Code, w.Header())
		}
		if w := replica.do(with(nonce)); w.Code != http.StatusOK {
			t.Errorf("at a replica: got status %d", w.Code)
		}
		other.refuses(with(nonce), 401, "use_dpop_nonce")
		p.refuses(with(nonce+"x"), 401, "use_dpop_nonce")
		time.Sleep(5 * time.Minute)
		p.refuses(with(nonce), 401, "use_dpop_nonce")
		if w := p.do(with(p.do(with("")).Header().Get("DPoP-Nonce"))); w.Code != http.StatusOK {
			t.Errorf("with the next nonce: got status %d", w.Code)
		}
	})
}

func TestProofIsUsedOnceForAsLongAsItIsGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		holder := newProver(t)
		p := newProtected(t, static(holder), mcpauth.ProofAge(time.Minute))
		if w := p.do(proven("x", holder.proof("x", nil, nil))); w.Code != http.StatusOK {
			t.Fatalf("got status %d", w.Code)
		}
		time.Sleep(time.Minute + 30*time.Second)
		ahead := holder.proof("x", nil, fields{"iat": time.Now().Add(time.Minute).Unix()})
		if w := p.do(proven("x", ahead)); w.Code != http.StatusOK {
			t.Fatalf("got status %d, %s", w.Code, w.Body)
		}
		for range 130 {
			p.refuses(proven("x", ahead), 401, "invalid_dpop_proof")
			time.Sleep(time.Second)
		}
	})
}
