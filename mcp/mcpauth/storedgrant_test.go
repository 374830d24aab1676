package mcpauth

import (
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dpop"
)

func testProver(t *testing.T, n *dpop.Nonces) *dpop.Prover {
	t.Helper()
	p, err := dpop.NewProver(n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProofKeysAreKeptWithTheirTokens(t *testing.T) {
	t.Parallel()
	p := testProver(t, new(dpop.Nonces))
	secret, err := p.Secret()
	if err != nil {
		t.Fatal(err)
	}
	g := held(0, time.Hour)
	g.ProofKey = secret
	text, err := encodeRecord(g)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeGrant(text, heldKey)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.prover(new(dpop.Nonces))
	if err != nil || again.Thumbprint() != p.Thumbprint() {
		t.Errorf("got %v, %v", again, err)
	}
	if p, err := held(0, time.Hour).prover(nil); p != nil || err != nil {
		t.Errorf("tokens without a key: got %v, %v", p, err)
	}
}
