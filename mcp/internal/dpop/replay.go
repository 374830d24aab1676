package dpop

import (
	"crypto/sha256"
	"sync"
	"time"
)

// Limits of the proofs that are stored.
const (
	maxProofs       = 1 << 18
	maxProofsPerKey = maxProofs / 8
)

// proofMemory stores the proofs that were used, in this process, for at least
// as long as they are valid. When it is full it accepts no more proofs; the
// number for each key is limited. It is safe for concurrent use.
//
// Spec: RFC 9449 11.1
type proofMemory struct {
	life time.Duration // for which a proof is remembered at least

	mu               sync.Mutex // guards the fields below
	recentStart      time.Time  // start of recent
	recent, previous proofGeneration
}

// proofGeneration is the set of proofs of one life, by digest, with their number for each key.
type proofGeneration struct {
	used  map[[sha256.Size]byte]struct{}
	byKey map[string]int
}

// proofResult is the result of proofMemory.add.
type proofResult uint8

const (
	proofFresh proofResult = iota
	proofUsed
	proofNoRoom
)

func newProofMemory(life time.Duration) *proofMemory {
	return &proofMemory{life: life, recent: newProofGeneration(), previous: newProofGeneration()}
}

func newProofGeneration() proofGeneration {
	return proofGeneration{used: make(map[[sha256.Size]byte]struct{}), byKey: make(map[string]int)}
}

// proofDigest identifies a proof.
func proofDigest(thumbprint, id string) [sha256.Size]byte {
	return sha256.Sum256([]byte(thumbprint + " " + id))
}

// add stores a proof of a key, and returns whether it is used for the first time.
func (m *proofMemory) add(thumbprint string, digest [sha256.Size]byte, now time.Time) proofResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.recentStart) >= m.life {
		m.recentStart, m.previous, m.recent = now, m.recent, newProofGeneration()
	}
	if m.recent.has(digest) || m.previous.has(digest) {
		return proofUsed
	}
	if len(m.recent.used)+len(m.previous.used) >= maxProofs || m.recent.byKey[thumbprint]+m.previous.byKey[thumbprint] >= maxProofsPerKey {
		return proofNoRoom
	}
	m.recent.used[digest] = struct{}{}
	m.recent.byKey[thumbprint]++
	return proofFresh
}

func (g proofGeneration) has(digest [sha256.Size]byte) bool {
	_, ok := g.used[digest]
	return ok
}
