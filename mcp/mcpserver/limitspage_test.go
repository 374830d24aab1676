package mcpserver

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "one message over stdio and streams", claim.Bytes(new(Options).maxFrame()))
	claim.Limit(t, "one result", claim.Bytes(new(Options).maxResult()))
	claim.Limit(t, "entries on a page of a list", new(Options).pageSize())
	claim.Limit(t, "cursor of a `ListResources` function", claim.Bytes(maxListerCursor))
	claim.Limit(t, "values of one completion", maxCompletions)
	claim.Limit(t, "text of a tool's error", claim.Bytes(maxErrorText))
	var load LoadOptions
	claim.Limit(t, "concurrent requests of all clients, and notifications without a session over HTTP", load.maxCalls(), claim.Bytes(load.maxBytes()))
	claim.Limit(t, "concurrent requests of one authenticated principal, or of one anonymous session or connection", load.shareCalls(), claim.Bytes(load.shareBytes()))
	claim.Limit(t, "requests that wait to run", load.maxWaiting(), load.maxWait())
	claim.Limit(t, "bytes of results that are being sent, over all transports together; without HTTP beyond 64 KiB of one connection, over HTTP those of results of more than 64 KiB", claim.Bytes(load.maxUnsent()))
	claim.Limit(t, "resources watched by all clients, and by one owner; a URI counts once for each 256 bytes", load.maxWatched())
	for what, rate := range map[string]mcp.Rate{
		"`tools/call` of one principal or address, beyond the loopback interface":                     load.toolRate(),
		"`completion/complete` of one principal or address, on loopback of one session or connection": load.completionRate(),
		"subscribing, of one principal or address, beyond the loopback interface":                     load.subscriptionRate(),
	} {
		claim.Limit(t, what, int(rate.PerSecond), rate.Burst)
	}
	var ask AskOptions
	claim.Limit(t, "rounds of questions in one call that bring no new answer", ask.maxRounds())
	claim.Limit(t, "waiting for an answer to a question, session era", ask.wait())
	claim.Limit(t, "unanswered questions of the session era, of all clients and of one owner", ask.maxQuestions(), ask.ownerQuestions(), clientAbsent)
	claim.Limit(t, "answers of the stateless era that wait for a place: params of all clients, and of one owner; each counts as an unanswered question", claim.Bytes(maxAnswerBytes(&load)), claim.Bytes(ownerAnswerBytes(&load)))
	claim.Limit(t, "calls with more params that have to wait, and whose states are read before they are admitted: at a time, and the wait for that", claim.Bytes(smallCall), maxStateWait)
	claim.Limit(t, "states whose first call is remembered, so that a second one waits as a new call does; twice as many at most", maxAnsweredStates)
	claim.Limit(t, "time until a client sends an answer, stateless era", ask.expiry())
	claim.Limit(t, "parked values, of all clients and of one owner", ask.maxParked(), ask.ownerParked())
	claim.Limit(t, "state of one call between rounds, sent to the client", claim.Bytes(maxState), claim.Bytes(largestValue))
	claim.Limit(t, "bytes that clients make a server keep beyond their requests, see below: of all anonymous clients; of one session, connection or address of them", claim.Bytes(new(Options).maxKept()))
	claim.Limit(t, "URL elicitations whose completion can be sent, of all clients", maxURLElicitations)
	claim.Limit(t, "waiting for a slot of a tool that has `Limit`; a task waits until it is cancelled", maxSlotWait)
	claim.Limit(t, "log messages of one call", logBurst)
	claim.Limit(t, "progress notifications of one call", progressBurst)
	claim.Limit(t, "the store in memory: one value", claim.Bytes(largestValue))
	claim.Limit(t, "the store in memory: entries, marks of used states, values of more than 1 KiB together", maxStored, claim.Bytes(new(MemoryStore).maxBytes()))
	claim.Limit(t, "HTTP headers, and the time to send them", claim.Bytes(maxHeaderBytes), readHeaderTimeout)
	claim.Limit(t, "time that such a connection may be idle", idleTimeout)
	claim.Limit(t, "shutdown of `ListenAndServe` and `Run`", shutdownTimeout)
	claim.Limit(t, "connections of `ListenAndServe` and `ServeListener`", new(HTTPOptions).maxConns())
	claim.Limit(t, "time between the end of the context and their shutdown (draining)", new(HTTPOptions).lameDuck())
}
