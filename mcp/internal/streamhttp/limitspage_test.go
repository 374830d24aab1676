package streamhttp

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	var o Options
	claim.Limit(t, "one message over HTTP", claim.Bytes(o.maxBody()))
	claim.Limit(t, "sessions over HTTP", o.maxSessions())
	claim.Limit(t, "sessions of one authenticated principal", o.principalSessions())
	claim.Limit(t, "event streams of all clients", o.maxStreams())
	claim.Limit(t, "event streams of one authenticated principal", o.principalStreams())
	claim.Limit(t, "time that a session without requests and streams is kept", o.sessionIdle())
	claim.Limit(t, "time that the id of a session is valid", o.sessionLife())
	claim.Limit(t, "ids of ended sessions that are refused before they expire", maxEndedSessions)
	claim.Limit(t, "bytes of a session id", claim.Bytes(maxSessionID))
	claim.Limit(t, "silence on an event stream", o.keepAlive())
	claim.Limit(t, "writing to a client that does not read", o.writeTimeout(), claim.Bytes(writePiece))
	claim.Limit(t, "messages that wait for one slow reader", maxStreamQueue, claim.Bytes(maxQueueBytes))
	claim.Limit(t, "events kept for clients that reconnect", claim.Bytes(eventMemorySize), claim.Bytes(maxLogged))
	claim.Limit(t, "GET streams of one session", maxGetStreams)
	claim.Limit(t, "messages of one session that wait for a GET stream", maxUndelivered, claim.Bytes(maxQueueBytes))
	claim.Limit(t, "finished streams of one session that can be resumed", maxDetached)
	claim.Limit(t, "reading or removing events of an event store", storeTimeout)
	claim.Limit(t, "events of one stream that an event store has failed to take, and that are written again", maxUnstored, claim.Bytes(maxUnstoredBytes))
	claim.Limit(t, "writing an event to an event store; for how long nothing is written to one that has not answered", appendTimeout, appendRetry)
	claim.Limit(t, "record of an open stream or question of a shared session, after the process that renews it has ended", recordLife)
	claim.Limit(t, "replicas, one after the other, whose parts of the stream of a durable call are read to resume it", maxContinued)
	claim.Limit(t, "time until a JSON response", jsonTimeout)
	claim.Limit(t, "rest of a body that nobody reads, because its request was refused or has another route", lingerTimeout)
}
