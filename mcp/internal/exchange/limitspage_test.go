package exchange

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "requests of one connection at once", maxRunning)
	claim.Limit(t, "requests of one connection whose reply is not written yet", maxUnwritten, claim.Bytes(maxUnwrittenBytes))
	claim.Limit(t, "notifications of one session that wait for their handler", maxQueued, claim.Bytes(maxQueuedBytes))
	claim.Limit(t, "notifications that wait for their handler", maxQueued, claim.Bytes(maxQueuedBytes))
	claim.Limit(t, "calls on a connection (HTTP+SSE, a custom transport) whose credentials have expired", expiryGrace)
	claim.Limit(t, "requests that still run when `Run`, or the `http.Server` of an HTTP+SSE stream, shuts down", drainGrace)
	claim.Limit(t, "concurrent requests of the server, until their answers are sent", maxAnswering)
}
