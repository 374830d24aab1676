package mcpauth

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "clock skew of issuers", defaultSkew)
	claim.Limit(t, "size of an access token; of a DPoP proof, and of its id", claim.Bytes(defaultMaxToken))
	claim.Limit(t, "a token verifier of your own", verifierTimeout)
	claim.Limit(t, "unknown issuers of tokens that are logged", maxUnknownIssuers)
	claim.Limit(t, "introspection of tokens: time that a result is kept, results that are kept, concurrent requests, time of one request", maxIntrospected, maxIntrospecting, introspectionTimeout)
	claim.Limit(t, "one value of a `FileStore`", claim.Bytes(maxStored))
	claim.Limit(t, "time that a `FileStore` waits for another process", maxLockWait)
	claim.Limit(t, "one value of a `SharedStore`", "1 MiB less 256 bytes")
	claim.Limit(t, "one operation of the Store of a `SharedStore`, and storing a new token again after it has failed", sharedTimeout)
	claim.Limit(t, "time that a `SharedStore` waits for another process; after which it can change the value of a process that was killed while it changed it", maxLockWait, sharedLockLife)
	claim.Limit(t, "answer of the Store to a `SharedStore` that keeps its lock; time for which a removed value is marked", sharedLockRenewal, removedLife)
	claim.Limit(t, "time after its last use at which a value of a `SharedStore` expires", sharedLife)
	claim.Limit(t, "an assertion in a file", claim.Bytes(maxAssertion))
	claim.Limit(t, "lifetime of an assertion that authenticates a client", assertionLifetime)
	claim.Limit(t, "remembered assertions of a workload that were refused", maxRefused)
	claim.Limit(t, "time of a user's sign-in; bytes of the authorization response", maxSignInTime)
	claim.Limit(t, "sign-ins for more scopes, for one operation within 10 min", maxSteps)
}
