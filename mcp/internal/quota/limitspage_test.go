package quota_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/quota"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "principals and tools whose rates one process shares with other replicas at the same time", quota.MaxSyncing)
	claim.Limit(t, "operations of the `Store` for shared rates at the same time", quota.MaxOperations, quota.OperationTimeout)
	claim.Limit(t, "replicas that share rates", quota.MaxReplicas)
	claim.Limit(t, "owners in one table of rates or of shares", quota.MaxEntries)
}
