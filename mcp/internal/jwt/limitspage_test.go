package jwt

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "keys of an issuer: time until they are fetched again, time that they are used while the issuer does not answer", keysFresh)
	claim.Limit(t, "fetches of keys because a token names an unknown key", keysMissed)
	claim.Limit(t, "keys of an issuer; size of its metadata, keys or answer", maxKeys)
}
