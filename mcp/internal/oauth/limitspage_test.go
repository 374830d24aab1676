package oauth

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "a response of a token endpoint: bytes, nesting, one token", claim.Bytes(maxDocument), maxDepth, claim.Bytes(maxToken))
	claim.Limit(t, "metadata for a sign-in: bytes, nesting, time of each request", claim.Bytes(maxDocument), maxDepth)
	claim.Limit(t, "challenges of one response: bytes, number, parameters of one", claim.Bytes(maxChallengeBytes), maxChallenges, maxParams)
	claim.Limit(t, "time of a user's sign-in; bytes of the authorization response", claim.Bytes(maxResponse))
}
