package definition

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "approved definitions of one upstream, with the names of removed ones; bytes of their names; bytes of the record, compressed", maxDefinitions, claim.Bytes(maxNames), claim.Bytes(maxValue))
	claim.Limit(t, "`fondaco.lock`", claim.Bytes(maxLock))
}
