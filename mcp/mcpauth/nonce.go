package mcpauth

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

// nonces are those that servers want to find in proofs, by origin. There is one
// for a client, whatever the keys. The zero value is empty; it is safe for
// concurrent use.
//
// Spec: RFC 9449 8, 9
type nonces struct {
	mu       sync.Mutex
	byOrigin map[string]string
}

func (n *nonces) of(u *url.URL) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byOrigin[egress.Origin(u)]
}

// learn takes the nonce of a response, and reports whether it differs from the
// one that was known.
func (n *nonces) learn(u *url.URL, header http.Header) bool {
	values := header.Values("DPoP-Nonce")
	if len(values) != 1 || !isNonce(values[0]) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	origin := egress.Origin(u)
	if n.byOrigin[origin] == values[0] {
		return false
	}
	n.makeRoom()
	n.byOrigin[origin] = values[0]
	return true
}

// makeRoom forgets one nonce when there are too many: its server will say it again.
func (n *nonces) makeRoom() {
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

// isNonce reports whether text is one by its syntax.
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
