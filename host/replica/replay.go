package replica

import (
	"sync"
	"time"
)

const (
	// replayWindow is how many tickets of one host may arrive between two others in the wrong order. It
	// is a multiple of 64.
	replayWindow = 1 << 20
	// maxTicketHosts limits the hosts whose numbers are remembered.
	maxTicketHosts = 256
)

// usedTickets are the numbers of the tickets that were accepted, by the host that has made them. Only
// hosts with the keys can add numbers. It is safe for concurrent use.
type usedTickets struct {
	mu    sync.Mutex
	hosts map[string]*hostTickets // guarded by mu
}

// hostTickets are the numbers of one host that were used: bit n%replayWindow for each number n up to
// the highest one. Lower numbers than the window has count as used.
//
// Spec: RFC 4303 3.4.3
type hostTickets struct {
	highest uint64
	used    [replayWindow / 64]uint64
	until   time.Time // when the last ticket expires
}

// use reports whether the ticket was not used before, and remembers it until it has expired.
func (u *usedTickets) use(t *Ticket, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.hosts[t.From]
	if h == nil {
		if h = u.add(t.From, now); h == nil {
			return false
		}
	}
	if until := t.Expires.Add(maxClockSkew); until.After(h.until) {
		h.until = until
	}
	return h.use(t.Number)
}

// add adds a host, in the place of those whose tickets have all expired. It returns nil if there are
// too many.
func (u *usedTickets) add(id string, now time.Time) *hostTickets {
	for other, h := range u.hosts {
		if now.After(h.until) {
			delete(u.hosts, other)
		}
	}
	if len(u.hosts) >= maxTicketHosts {
		return nil
	}
	if u.hosts == nil {
		u.hosts = make(map[string]*hostTickets)
	}
	h := new(hostTickets)
	u.hosts[id] = h
	return h
}

func (h *hostTickets) use(n uint64) bool {
	if n > h.highest {
		h.advance(n)
	}
	word, bit := &h.used[n%replayWindow/64], uint64(1)<<(n%64)
	if h.highest-n >= replayWindow || *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// advance makes n the highest number. The numbers between were not used.
func (h *hostTickets) advance(n uint64) {
	if n-h.highest >= replayWindow {
		clear(h.used[:])
	} else {
		for i := h.highest + 1; i <= n; i++ {
			h.used[i%replayWindow/64] &^= 1 << (i % 64)
		}
	}
	h.highest = n
}
