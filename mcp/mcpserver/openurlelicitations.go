package mcpserver

import (
	"cmp"
	"container/list"
	"crypto/rand"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// maxURLElicitations limits the elicitations whose completion can be sent, of all sessions.
const maxURLElicitations = 4096

// urlElicitations are the open URL elicitations of all sessions. Their number is limited by
// owner. When an owner has no more room, the oldest elicitation of the same session is
// removed for the new one. All methods are safe for concurrent use.
type urlElicitations struct {
	pool *limit.Pool

	mu        sync.Mutex
	byAddress map[string]map[*exchange.Session]*urlElicitation // guarded by mu
	bySession map[*exchange.Session]*list.List                 // guarded by mu: of *urlElicitation, the oldest first
}

// urlElicitation is a URL that was sent to the client of a session.
type urlElicitation struct {
	session *exchange.Session
	address string
	id      string        // guarded by the mu of urlElicitations
	place   *limit.Place  // guarded by that mu
	element *list.Element // guarded by that mu: nil while the elicitation is not in the tables
	removed bool          // guarded by that mu
}

func newURLElicitations() *urlElicitations {
	return &urlElicitations{
		pool:      limit.NewPool(limit.PoolBounds{Total: maxURLElicitations}),
		byAddress: make(map[string]map[*exchange.Session]*urlElicitation),
		bySession: make(map[*exchange.Session]*list.List),
	}
}

// add stores an elicitation and returns its id: id if it is not empty, else the id that is
// stored already, else a new one. A repeated elicitation keeps its id. If there is no room,
// the elicitation is not stored.
func (es *urlElicitations) add(owner limit.Owner, s *exchange.Session, address, id string) string {
	if known, ok := es.repeat(s, address, id); ok {
		return known
	}
	e := &urlElicitation{session: s, address: address, id: cmp.Or(id, rand.Text())}
	remove := func() { es.remove(e) }
	place, err := es.pool.Take(owner, 1, remove)
	if err != nil && es.removeOldest(s) {
		place, err = es.pool.Take(owner, 1, remove)
	}
	if err != nil {
		return e.id
	}
	if s != nil {
		s.HasState.Store(true)
	}
	es.mu.Lock()
	defer es.mu.Unlock()
	known := es.byAddress[address][s]
	if known != nil || e.removed { // added or evicted at the same time
		place.Release()
		if known != nil {
			known.id = cmp.Or(id, known.id)
			return known.id
		}
		return e.id
	}
	e.place = place
	if es.byAddress[address] == nil {
		es.byAddress[address] = make(map[*exchange.Session]*urlElicitation)
	}
	es.byAddress[address][s] = e
	if es.bySession[s] == nil {
		es.bySession[s] = list.New()
	}
	e.element = es.bySession[s].PushBack(e)
	return e.id
}

// repeat returns the id of an elicitation that is stored already.
func (es *urlElicitations) repeat(s *exchange.Session, address, id string) (known string, ok bool) {
	es.mu.Lock()
	defer es.mu.Unlock()
	e := es.byAddress[address][s]
	if e == nil {
		return "", false
	}
	e.id = cmp.Or(id, e.id)
	return e.id, true
}

// take removes the elicitations of a URL and returns the id that the client of each session
// has for it.
func (es *urlElicitations) take(address string) map[*exchange.Session]string {
	es.mu.Lock()
	defer es.mu.Unlock()
	ids := make(map[*exchange.Session]string, len(es.byAddress[address]))
	for s, e := range es.byAddress[address] {
		ids[s] = e.id
		es.removeLocked(e)
	}
	return ids
}

// takeOf removes the elicitation of a URL in one session and returns its id.
func (es *urlElicitations) takeOf(s *exchange.Session, address string) (id string, ok bool) {
	es.mu.Lock()
	defer es.mu.Unlock()
	e := es.byAddress[address][s]
	if e == nil {
		return "", false
	}
	es.removeLocked(e)
	return e.id, true
}

// forget removes the elicitations of a session that has ended.
func (es *urlElicitations) forget(s *exchange.Session) {
	for es.removeOldest(s) {
	}
}

// removeOldest removes the oldest elicitation of a session and reports whether there was one.
func (es *urlElicitations) removeOldest(s *exchange.Session) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	sent := es.bySession[s]
	if sent == nil {
		return false
	}
	es.removeLocked(sent.Front().Value.(*urlElicitation))
	return true
}

func (es *urlElicitations) remove(e *urlElicitation) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.removeLocked(e)
}

// removeLocked removes an elicitation from the tables, where it may not be yet.
func (es *urlElicitations) removeLocked(e *urlElicitation) {
	e.removed = true
	if e.element == nil {
		return
	}
	e.place.Release()
	sent := es.bySession[e.session]
	if sent.Remove(e.element); sent.Len() == 0 {
		delete(es.bySession, e.session)
	}
	e.element = nil
	if delete(es.byAddress[e.address], e.session); len(es.byAddress[e.address]) == 0 {
		delete(es.byAddress, e.address)
	}
}
