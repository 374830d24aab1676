package dpop

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "age of a DPoP proof, and of a nonce", DefaultWindow)
	claim.Limit(t, "DPoP proofs remembered by one process, of all keys and of one key", maxProofs, maxProofsPerKey)
	claim.Limit(t, "DPoP proofs in the Store of `mcpauth.ProofStore`: waiting for it; how much longer than twice their age they stay there", storeTimeout, clockMargin)
}
