package replica

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "time after which the callers of a host that was killed are taken over; for how long another host looks for the one that has a caller", leaseTime, findTime)
	claim.Limit(t, "callers that one host has, of hosts that share an engine; those of one authenticated principal; for how long one is remembered without a request", maxPlaces, maxOwnerPlaces, placeTime)
	claim.Limit(t, "ticket of a request that a host forwards to another one; its bytes; how many later ones of the same host may overtake it; hosts whose tickets are remembered, so that each is used once", ticketTime, claim.Bytes(maxTicket), replayWindow, maxTicketHosts)
	claim.Limit(t, "sending the body of a forwarded request; until another host asks for it", bodyTime, claim.Bytes(bodyProgress), acceptTime)
	claim.Limit(t, "answer of another host to a forwarded request without a body", headerTime)
	claim.Limit(t, "requests that a host forwards at a time", maxForwarded)
	claim.Limit(t, "record of a caller that was given back", freeTime)
	claim.Limit(t, "difference of the clocks of hosts that share an engine", maxClockSkew)
	claim.Limit(t, "waiting for the end of the processes of a caller before another host gets it", endTime)
}
