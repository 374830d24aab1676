package state

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "reading from the engine what has changed", markTimeout)
	claim.Limit(t, "time after which a host learns of a change in the engine whose message was lost", markInterval)
}
