package relay

import (
	"testing"

	limits "github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	limits.Limit(t, "a call without a message, until its server is pinged; waiting for the answer", silenceUntilPing, pingTimeout)
	limits.Limit(t, "a call without a message, until its server is `degraded`", silenceUntilDegraded)
	limits.Limit(t, "a call without progress; with progress, including the time of questions", maxWithoutProgress, maxCallTime)
	limits.Limit(t, "notifications between two rounds of a call", maxQueuedMessages)
	limits.Limit(t, "watched resources of one upstream; a URI counts once for each 256 bytes", MaxWatches)
}
