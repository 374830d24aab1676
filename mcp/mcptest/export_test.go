package mcptest

import "time"

// ShortenChecks sets the times of the checks of engines: how long values live that expire, and
// how long a check waits for what has to happen.
func ShortenChecks(ttl, wait time.Duration) {
	storeTTL, storeWait = ttl, wait
	busWait, eventWait = wait, wait
	contextSlack, callWait, hangWait, recoveryWait = min(contextSlack, wait/2), min(callWait, wait), wait, wait
}
