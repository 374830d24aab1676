package gateway

import (
	"testing"

	"github.com/fondaco/fondaco/host/gateway/link"
	limits "github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	limits.Limit(t, "first lists, and calls, that wait until an upstream has started", (*Options)(nil).startTimeout())
	limits.Limit(t, "a call that waits for a connection", (*Options)(nil).startTimeout(), link.MaxRetryWait)
	limits.Limit(t, "one page of an upstream's list; all its lists", listTimeout, allListsTimeout)
	limits.Limit(t, "features of one kind of one upstream", maxListed)
	limits.Limit(t, "reads of one upstream's lists for single callers or for certain capabilities, at the same time; of one owner", maxListReads, maxOwnerListReads)
	limits.Limit(t, "instructions of one upstream, and of all", limits.Bytes(maxInstructions), limits.Bytes(maxAllInstructions))
	limits.Limit(t, "waiting for upstreams that start, for their instructions", instructionsWait)
	limits.Limit(t, "features that one upstream has for one caller or one set of capabilities", maxCallerFeatures, limits.Bytes(maxCallerFeatureBytes))
	limits.Limit(t, "a call, including questions to its caller", maxCallTime)
	limits.Limit(t, "remembered resources that results of one upstream have named to a caller; their URIs", maxNamedResources, limits.Bytes(maxNamedURIBytes))
	limits.Limit(t, "different URIs in one result that the host compares with templates; their bytes", maxNamedResources, limits.Bytes(maxNamedURIBytes))
	limits.Limit(t, "reason of a state, or of an entry in the audit log", limits.Bytes(link.MaxReason))
	limits.Limit(t, "calls with consent between two rounds", maxConsentedRounds)
}
