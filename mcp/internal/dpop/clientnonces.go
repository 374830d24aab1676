package dpop

import (
	"net/http"
	"net/url"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/egress"
)

// Limits of nonces.
const (
	maxNonces = 256
	maxNonce  = 4 << 10
)

// Nonces holds the nonces that servers require in proofs, by origin. A client
// has one for all its keys. The zero value is empty; it is safe for concurrent
// use.
//
// Spec: RFC 9449 8, 9
type Nonces struct {
	mu       sync.Mutex
	byOrigin map[string]string
}

func (n *Nonces) of(u *url.URL) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byOrigin[egress.Origin(u)]
}

// Record stores the nonce of a response, and reports whether it is new.
func (n *Nonces) Record(u *url.URL, header http.Header) bool {
	values := header.Values(HeaderNonce)
	if len(values) != 1 || !isNonce(values[0]) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	origin := egress.Origin(u)
	if n.byOrigin[origin] == values[0] {
		return false
	}
	n.evict()
	n.byOrigin[origin] = values[0]
	return true
}

// evict removes one nonce if there are too many. Its server will send it again.
func (n *Nonces) evict() {
	if n.byOrigin == nil {
		n.byOrigin = make(map[string]string)
	}
	if len(n.byOrigin) < maxNonces {
		return
	}
	for origin := range n.byOrigin {
		delete(n.byOrigin, origin)
		return
	}
}

// isNonce reports whether text has the syntax of a nonce.
//
// Spec: RFC 9449 8.1
func isNonce(text string) bool {
	for _, c := range []byte(text) {
		if c < '!' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return text != "" && len(text) <= maxNonce
}
