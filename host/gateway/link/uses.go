package link

import (
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// uses counts what uses a connection.
type uses struct {
	mu       sync.Mutex // guards the fields below
	leases   int
	calls    int
	lastUsed time.Time
	// places are the places of a caller's connection in the pools that limit such connections. busy
	// says whether they are marked as in use.
	places []*mcpserver.OwnerPlace
	busy   bool
	absent bool // the places are marked as those of an absent client
}

func (u *uses) addLease() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leases++
	u.markLocked()
}

func (u *uses) removeLease() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leases--
	u.lastUsed = time.Now()
	u.markLocked()
}

func (u *uses) isLeased() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.leases > 0
}

func (u *uses) setCalls(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls = n
	u.markLocked()
}

// touch notes that the connection begins to be unused now.
func (u *uses) touch() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lastUsed = time.Now()
}

// restUntil returns how long the connection can still be unused if it is closed after a time without
// use.
func (u *uses) restUntil(timeout time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.leases > 0 {
		return timeout
	}
	return timeout - time.Since(u.lastUsed)
}

// markLocked notes in the pools of connections whether the connection is in use. The caller
// holds mu.
func (u *uses) markLocked() {
	busy := u.leases > 0 || u.calls > 0
	if busy == u.busy {
		return
	}
	u.busy, u.absent = busy, false
	for _, place := range u.places {
		if busy {
			place.SetBusy()
		} else {
			place.SetIdle(true)
		}
	}
}

// setAbsent notes in the pools whether the client is absent, if the connection is not in use.
func (u *uses) setAbsent(absent bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.busy || absent == u.absent {
		return
	}
	u.absent = absent
	for _, place := range u.places {
		place.SetIdle(!absent) // the places of those that were never used go first
	}
}

// last returns when the connection was used last.
func (u *uses) last() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.lastUsed
}

func (u *uses) addPlace(place *mcpserver.OwnerPlace) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.places = append(u.places, place)
}

func (u *uses) releasePlaces() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, place := range u.places {
		place.Release()
	}
}
