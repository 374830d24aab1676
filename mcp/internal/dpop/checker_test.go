package dpop_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dpop"
	"github.com/fondaco/fondaco/mcp/internal/jwt"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

const resource = "https://mcp.example.com/mcp"

func newChecker(t *testing.T, nonces *seal.Ring) *dpop.Checker {
	t.Helper()
	u, err := url.Parse(resource)
	if err != nil {
		t.Fatal(err)
	}
	return dpop.NewChecker(dpop.CheckerOptions{Resource: u, Algorithms: jwt.AllAlgorithms(), Window: dpop.DefaultWindow, Nonces: nonces})
}

func newProver(t *testing.T) *dpop.Prover {
	t.Helper()
	p, err := dpop.NewProver(new(dpop.Nonces))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// proven returns a request with a proof of the prover for a method, a URL and a token.
func proven(t *testing.T, p *dpop.Prover, method, address string, token oauth.Secret) *http.Request {
	t.Helper()
	proof, err := p.Proof(method, address, token)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, resource, nil)
	r.Header.Set(dpop.HeaderProof, proof)
	return r
}

func TestCheckerAcceptsEachProofOfAProverOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, holder, thief := newChecker(t, nil), newProver(t), newProver(t)
		check := func(r *http.Request) error { return c.Check(http.Header{}, r, "token", holder.Thumbprint()) }
		good := proven(t, holder, http.MethodPost, resource, "token")
		if err := check(good); err != nil {
			t.Fatal(err)
		}
		old := proven(t, holder, http.MethodPost, resource, "token")
		for name, r := range map[string]*http.Request{
			"used before":    good,
			"another method": proven(t, holder, http.MethodGet, resource, "token"),
			"another URL":    proven(t, holder, http.MethodPost, resource+"/x", "token"),
			"another token":  proven(t, holder, http.MethodPost, resource, "other"),
			"another key":    proven(t, thief, http.MethodPost, resource, "token"),
			"no proof":       httptest.NewRequest(http.MethodPost, resource, nil),
		} {
			if err := check(r); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		time.Sleep(dpop.DefaultWindow + time.Second)
		if err := check(old); err == nil {
			t.Error("a proof of before the window was accepted")
		}
	})
}

func TestProverUsesTheNonceOfTheChecker(t *testing.T) {
	t.Parallel()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	ring, err := seal.NewRing(seal.Key{ID: "a", Secret: key})
	if err != nil {
		t.Fatal(err)
	}
	c, p := newChecker(t, ring), newProver(t)
	answer := http.Header{}
	if err := c.Check(answer, proven(t, p, http.MethodPost, resource, "token"), "token", p.Thumbprint()); !errors.Is(err, dpop.ErrNonce) {
		t.Fatalf("without a nonce: got %v", err)
	}
	if !p.Remember(resource, answer) {
		t.Fatalf("got headers %v, want a new nonce", answer)
	}
	if err := c.Check(answer, proven(t, p, http.MethodPost, resource, "token"), "token", p.Thumbprint()); err != nil {
		t.Errorf("with the nonce: %v", err)
	}
}
