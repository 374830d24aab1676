package replica

import (
	"fmt"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
)

// A number is accepted once, in any order within the window, and numbers that the window has left count
// as used.
func TestNumberOfATicketIsUsedOnceInAnyOrder(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-294")
	var u usedTickets
	now := time.Now()
	for _, step := range []struct {
		number uint64
		want   bool
	}{
		{1, true},
		{1, false},
		{5, true},
		{3, true},
		{3, false},
		{4, true},
		{5, false},
		{2, true},
		{replayWindow + 4, true},
		{4, false},
		{5, false},
		{6, true},
		{6, false},
		{10 * replayWindow, true},
		{9*replayWindow + 1, true},
		{9*replayWindow + 1, false},
		{9 * replayWindow, false},
		{7, false},
		{1<<64 - 1, true},
		{1<<64 - 1, false},
		{10*replayWindow + 1, false},
	} {
		if got := u.use(&Ticket{From: "a", Number: step.number, Expires: now}, now); got != step.want {
			t.Errorf("number %d: got %v, want %v", step.number, got, step.want)
		}
	}
	if !u.use(&Ticket{From: "b", Number: 1, Expires: now}, now) {
		t.Error("got that the number of another host is refused")
	}
}

func TestHostsOfTicketsAreForgottenWhenTheyHaveExpired(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-294")
	var u usedTickets
	now := time.Now()
	ticket := func(host int, at time.Time) *Ticket {
		return &Ticket{From: fmt.Sprint(host), Number: 1, Expires: at.Add(ticketTime)}
	}
	for host := range maxTicketHosts {
		if !u.use(ticket(host, now), now) {
			t.Fatalf("host %d: got that it is refused", host)
		}
	}
	if later := now.Add(ticketTime + maxClockSkew); u.use(ticket(-1, later), later) {
		t.Error("got one host more than the limit")
	}
	if later := now.Add(ticketTime + maxClockSkew + 1); !u.use(ticket(-1, later), later) || len(u.hosts) != 1 {
		t.Errorf("got %d hosts, want that those with expired tickets are forgotten", len(u.hosts))
	}
}
