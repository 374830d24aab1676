package gateway

import (
	"testing"

	"github.com/fondaco/fondaco/host/gateway/link"
	limits "github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	limits.Limit(t, "first lists that wait until an upstream has started", (*Options)(nil).startTimeout())
	limits.Limit(t, "a call that waits until its upstream has started; between two progress notifications meanwhile", (*Options)(nil).callStartTimeout(), link.MaxRetryWait, link.StartReportInterval)
	limits.Limit(t, "a call of an unknown tool or prompt that waits for its upstream while it starts again after a failure", restartWait)
	limits.Limit(t, "a request for a resource that nobody lists, which waits for upstreams that start, and for the features of its client's capabilities", resourceWait, (*Options)(nil).startTimeout())
	limits.Limit(t, "the start of a program, until it has answered the handshake", programStartTimeout)
	limits.Limit(t, "instructions of one upstream, and of all", limits.Bytes(maxInstructions), limits.Bytes(maxAllInstructions))
	limits.Limit(t, "waiting for upstreams that start, for their instructions", instructionsWait)
	limits.Limit(t, "reason of a state, or of an entry in the audit log", limits.Bytes(link.MaxReason))
	limits.Limit(t, "processes of one program that have answered lists for certain capabilities and wait for the first call of such a caller, or for the next read of these lists; for how long", maxWarm, warmTime)
	limits.Limit(t, "calls with consent between two rounds", maxConsentedRounds)
}
