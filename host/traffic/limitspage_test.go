package traffic

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "messages whose envelopes a host keeps, of clients and upstreams; one text of a peer in them; requests and connections that are remembered to pair them",
		Capacity, claim.Bytes(maxText), 2*maxEntries)
	claim.Limit(t, "equal requests of clients that wait to be sent on, which the recorder of the last messages joins with those to a server", maxAsked+1)
	claim.Limit(t, "recordings in a directory; their number; those that are open; lines that wait to be written",
		claim.Bytes(DefaultDirectoryBytes), maxFiles, maxOpenFiles, claim.Bytes(maxQueued))
	claim.Limit(t, "sessions and HTTP requests that a recording knows; the first request of a session, which waits for its response; all of them",
		maxSessions, maxConns, claim.Bytes(maxHeld), claim.Bytes(maxAllHeld))
	claim.Limit(t, "sessions of which a host keeps the handshake; a message of it; what is kept of one", maxHandshakes, claim.Bytes(maxHandshake), claim.Bytes(maxHandshakeLine))
	claim.Limit(t, "rows of the usage that a host keeps; a recording that the console opens", maxUsage, claim.Bytes(maxOpened))
}
