package mcpserver

import (
	"cmp"
	"crypto/rand"
	"maps"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// maxURLElicitations limits the elicitations whose completion can be sent. The oldest one
// is evicted first.
const maxURLElicitations = 4096

// urlElicitations are the open URL elicitations of all sessions. The zero value is ready for
// use; all methods are safe for concurrent use.
type urlElicitations struct {
	mu   sync.Mutex
	open map[urlElicitation]elicited
}

// urlElicitation is a URL that was sent to the client of a session.
type urlElicitation struct {
	session *exchange.Session
	address string
}

// elicited is the id that the client has for the elicitation, and when it was sent.
type elicited struct {
	id string
	at time.Time
}

// add stores an elicitation and returns its id: id if it is not empty, else the id that is
// stored already, else a new one. A repeated elicitation keeps its id.
func (es *urlElicitations) add(s *exchange.Session, address, id string) string {
	es.mu.Lock()
	defer es.mu.Unlock()
	v := urlElicitation{s, address}
	known, ok := es.open[v]
	if !ok && len(es.open) >= maxURLElicitations {
		delete(es.open, es.oldestLocked())
	}
	if es.open == nil {
		es.open = make(map[urlElicitation]elicited)
	}
	id = cmp.Or(id, known.id, rand.Text())
	es.open[v] = elicited{id, time.Now()}
	return id
}

func (es *urlElicitations) oldestLocked() (oldest urlElicitation) {
	var at time.Time
	for v, a := range es.open {
		if at.IsZero() || a.at.Before(at) {
			oldest, at = v, a.at
		}
	}
	return oldest
}

// take removes an elicitation and returns its session and id. The session is nil when no
// client or several clients got the URL.
func (es *urlElicitations) take(address string) (session *exchange.Session, id string) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for v, a := range es.open {
		switch {
		case v.address != address:
		case session != nil:
			return nil, ""
		default:
			session, id = v.session, a.id
		}
	}
	delete(es.open, urlElicitation{session, address})
	return session, id
}

// forget removes the elicitations of a session that has ended.
func (es *urlElicitations) forget(s *exchange.Session) {
	es.mu.Lock()
	defer es.mu.Unlock()
	maps.DeleteFunc(es.open, func(v urlElicitation, _ elicited) bool { return v.session == s })
}
