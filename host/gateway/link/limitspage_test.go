package link

import (
	"testing"

	limits "github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	limits.Limit(t, "failures of one connection", maxFailures, suspendedPause)
	limits.Limit(t, "pause between two reads of lists whose change a server has announced; the longest, while they stay as they were", MinRefreshInterval, maxRefreshPause)
	limits.Limit(t, "pause between two reads of the lists for certain capabilities; the longest, while they have no more than those of everybody, or the same", MinRefreshInterval, maxRefreshPause)
	limits.Limit(t, "a list request that waits for lists that are read again", refreshWait)
	limits.Limit(t, "time that a cancelled call of a 2026-07-28 client counts as running, at an upstream of the session era", cancelledCallTime)
	limits.Limit(t, "clients with cancelled calls that are remembered for one connection", maxCancelledCalls)
	limits.Limit(t, "caller connections to one upstream", maxCallerConnections, sessionAbsence)
	limits.Limit(t, "caller connections to all upstreams that are programs, each with its process", MaxCallerProcesses)
	limits.Limit(t, "time that an unused connection of a caller without a session is kept", callerIdleTimeout)
	limits.Limit(t, "waiting for the answer to a question of an upstream of the session era", answerTimeout)
	limits.Limit(t, "waiting for the answer of a client of the session era about its roots; a result that waits for that answer", rootsAnswerTimeout, rootsResultWait)
	limits.Limit(t, "concurrent calls of one owner in which an upstream of the session era may ask, whatever capabilities its clients declare", maxConnectionsPerOwner)
}
