package mcpauth_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

func TestTokensAreBoundWhereTheServerWantsIt(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	r.challenge = strings.Replace(r.challenge, "Bearer", "DPoP", 1) + `, algs="ES256"`
	r.binds, r.nonce = true, "nonce-1"
	c := mcpauth.NewClient(r.options())
	r.succeeds(c)
	if len(r.asked) != 1 || len(r.asked[0].Get("dpop_jkt")) != 43 {
		t.Errorf("asked for %v", r.asked)
	}
	r.nonce = "nonce-2"
	r.succeeds(c)
	last := r.sent[len(r.sent)-1]
	if !strings.HasPrefix(last.Header.Get("Authorization"), "DPoP CANARY") || proofClaim(last, "htu") != r.mcp() || proofClaim(last, "ath") == nil || len(r.asked) != 1 {
		t.Errorf("%d sign-ins, %v", len(r.asked), last.Header)
	}
	r.kill(false)
	r.succeeds(c)
	if len(r.asked) != 1 || len(r.forms) != 2 {
		t.Errorf("%d sign-ins, %d token requests; want a refresh", len(r.asked), len(r.forms))
	}
}

func TestTokenThatIsBoundToNoKeyIsNotUsed(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	r.resource["/prm"]["dpop_bound_access_tokens_required"] = true
	r.fails(mcpauth.NewClient(r.options()), "not bound to a key")
}

func TestTokensAreBoundOnRequest(t *testing.T) {
	t.Parallel()
	for _, algorithms := range []any{nil, []string{"RS256"}, []string{"ES256"}} {
		r := newRealm(t)
		r.binds = true
		r.metadata["/.well-known/oauth-authorization-server"]["dpop_signing_alg_values_supported"] = algorithms
		o := r.options()
		o.BindTokens = true
		r.succeeds(mcpauth.NewClient(o))
		list, _ := algorithms.([]string)
		if want := len(list) > 0 && list[0] == "ES256"; r.asked[0].Has("dpop_jkt") != want {
			t.Errorf("%v: asked for %v", algorithms, r.asked[0])
		}
	}
}
