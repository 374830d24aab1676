package gateway

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
)

const (
	// consentedRoundTime is how long a client has for the next round of a call to which a
	// person has consented, as long as for any round.
	consentedRoundTime = 10 * time.Minute
	// maxConsentedRounds limits the calls that wait for such a round. The oldest is
	// forgotten first; it needs consent again.
	maxConsentedRounds = 4096
)

// consentState is the consent to a call between its rounds. It is sealed with the other state
// of the call, which binds it to the principal, the tool and the arguments. Round makes it
// valid for one round: a client that sends a round again does not repeat the call.
type consentState struct {
	host.Consent
	Round string `json:"round"`
}

// nextRound returns the state for the next round, nil for a call without consent.
func (g *Gateway) nextRound(s *consentState) *consentState {
	if s == nil {
		return nil
	}
	return &consentState{Consent: s.Consent, Round: g.consentedRounds.add()}
}

// consentedRounds are the rounds that may continue calls to which a person has consented. It
// is safe for concurrent use.
type consentedRounds struct {
	mu      sync.Mutex
	expires map[string]time.Time // guarded by mu: by name of the round
}

// add returns the name of a new round.
func (c *consentedRounds) add() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expires == nil {
		c.expires = make(map[string]time.Time)
	}
	if len(c.expires) >= maxConsentedRounds {
		c.removeOldestLocked()
	}
	name := rand.Text()
	c.expires[name] = time.Now().Add(consentedRoundTime)
	return name
}

func (c *consentedRounds) removeOldestLocked() {
	var oldest string
	for name, expires := range c.expires {
		if oldest == "" || expires.Before(c.expires[oldest]) {
			oldest = name
		}
	}
	delete(c.expires, oldest)
}

// use removes a round, and reports whether it was there and has not expired.
func (c *consentedRounds) use(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	expires, ok := c.expires[name]
	delete(c.expires, name)
	return ok && time.Now().Before(expires)
}
