package relay

import (
	"testing"

	limits "github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	limits.Limit(t, "notifications between two rounds of a call", maxQueuedMessages)
	limits.Limit(t, "watched resources of one upstream; a URI counts once for each 256 bytes", MaxWatches)
}
