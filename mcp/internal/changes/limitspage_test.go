package changes

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "resources watched by one session or subscription", MaxResources, claim.Bytes(MaxResourceBytes))
	claim.Limit(t, "notifications of changes to one subscriber", cooldown)
	claim.Limit(t, "notifications of changes that wait for one subscriber", maxQueuedParts)
	claim.Limit(t, "publishing on the Bus, and waiting for its subscription", busTimeout)
}
