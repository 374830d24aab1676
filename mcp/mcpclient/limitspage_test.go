package mcpclient

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	var o Options
	claim.Limit(t, "total time of one call", o.maxTimeout())
	claim.Limit(t, "connecting to a server", o.connectTimeout())
	claim.Limit(t, "waiting for the answer to the first probe of the server's era", connProbeTimeout, httpProbeTimeout)
	claim.Limit(t, "closing a client", o.closeTimeout())
	claim.Limit(t, "idle session", o.pingInterval())
	claim.Limit(t, "one message", claim.Bytes(o.maxMessage()))
	claim.Limit(t, "values in one message, nesting", o.limits().Elements)
	claim.Limit(t, "lines of the log about one kind of mistake of a server; in results also of each method", warnEvery)
	claim.Limit(t, "pages of one list", o.maxPages())
	claim.Limit(t, "notifications that are read from one server", notificationBurst, notificationsPerSecond)
	claim.Limit(t, "rounds of questions in one call", o.maxRounds())
	claim.Limit(t, "tools whose definition is kept", maxTools)
	claim.Limit(t, "list of the tools that the output schema of a result needs", outputLookupTimeout)
	claim.Limit(t, "age of a `Prior`", maxPriorAge)
	claim.Limit(t, "age of the list that pins are compared with", maxPinAge)
	claim.Limit(t, "names and URIs that a `Group` keeps of one list of a server; URIs in results", maxGroupFeatures, maxNamedURIs)
	claim.Limit(t, "results kept by one `Completer`, and for how long", maxCompletions)
	claim.Limit(t, "cached results", claim.Bytes(o.maxCache()))
	claim.Limit(t, "use of stale results while the server fails", maxStaleIfError)
	claim.Limit(t, "URL elicitations that one error requires", maxURLElicitations)
	claim.Limit(t, "waiting for a required URL elicitation", minElicitationPause, maxElicitationPause)
	claim.Limit(t, "checking roots for changes after the server has listed them", o.rootsInterval(), maxWatchedRoots)
	claim.Limit(t, "one text of a log message in a logger (`LogTo`)", claim.Bytes(maxLogText))
	claim.Limit(t, "requests to end subscriptions that one connection sends at once; for how long each waits for its answer, in the background", maxUnsubscribing, unsubscribeTimeout)
	claim.Limit(t, "elicitation requests of one server; its sampling requests, counted separately", int(o.questionRate().PerSecond), o.questionRate().Burst)
	claim.Limit(t, "exits of a command within a minute", maxLosses, suspension)
	claim.Limit(t, "automatic retries of a request that the server has certainly not started", maxRetries)
}
