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
	limits.Limit(t, "calls at one upstream of the session era that wait for the next round of their caller, each with its connection and process: of one principal or address, on loopback of all clients without credentials; of all clients", maxOpenQuestions, maxAllOpenQuestions)
	limits.Limit(t, "watched resources of one upstream; a URI counts once for each 256 bytes", MaxWatches)
	limits.Limit(t, "rounds of a call in the stateless era that the user of the host answers", maxPersonRounds)
	limits.Limit(t, "between two progress notifications of a call that waits for a person", personWaitInterval)
}
