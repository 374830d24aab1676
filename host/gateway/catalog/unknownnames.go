package catalog

import (
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// unknownNamePause is the minimum time between two reads of an upstream's lists because of
	// requests of one owner that name unknown tools or prompts.
	unknownNamePause = 30 * time.Second
	// maxUnknownNameOwners limits the owners that are remembered. When it is reached, an owner of
	// the principal or address with most is forgotten.
	maxUnknownNameOwners = 1024
	// maxFruitlessPause limits the pause, which doubles after each read that brought nothing new.
	maxFruitlessPause = 5 * time.Minute
)

// unknownNames limits the reads of an upstream's lists because of requests that name unknown tools
// or prompts, for each owner: none keeps another from a read. link.Conn limits the reads of all
// owners together.
type unknownNames struct {
	pool *mcpserver.OwnerPool // of the owners in byOwner

	mu      sync.Mutex
	byOwner map[mcpserver.Owner]*fruitlessReads // guarded by mu
}

// fruitlessReads is the pause between two reads because of requests of one owner.
type fruitlessReads struct {
	place *mcpserver.OwnerPlace
	pause time.Duration
	next  time.Time
}

func newUnknownNames() unknownNames {
	return unknownNames{
		pool:    mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxUnknownNameOwners}),
		byOwner: make(map[mcpserver.Owner]*fruitlessReads),
	}
}

// take reports whether the owner of a request may cause a read now.
func (l *unknownNames) take(owner mcpserver.Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	of := l.byOwner[owner]
	if of == nil {
		of = l.addLocked(owner, now)
	}
	if of == nil || now.Before(of.next) {
		return false
	}
	of.next = now.Add(of.pause)
	return true
}

// addLocked adds an owner, or returns nil if there is no room. When there are too many owners, those
// whose pause is over are forgotten first. The caller holds mu.
func (l *unknownNames) addLocked(owner mcpserver.Owner, now time.Time) *fruitlessReads {
	if len(l.byOwner) >= maxUnknownNameOwners {
		for other, of := range l.byOwner {
			if now.After(of.next.Add(of.pause)) {
				delete(l.byOwner, other)
				of.place.Release()
			}
		}
	}
	// Owners are evicted in Take, so the lock is held then, too.
	place, err := l.pool.Take(owner, 1, func() { delete(l.byOwner, owner) })
	if err != nil {
		return nil
	}
	of := &fruitlessReads{place: place, pause: unknownNamePause}
	l.byOwner[owner] = of
	return of
}

// ended notes whether a read has found the tool or prompt.
func (l *unknownNames) ended(owner mcpserver.Owner, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byOwner[owner]
	switch {
	case of == nil: // forgotten
	case found:
		of.pause = unknownNamePause
	default:
		of.pause = min(2*of.pause, maxFruitlessPause)
	}
}
