package dpop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// storeTimeout bounds the one operation of the store for each proof.
	storeTimeout = 2 * time.Second
	// clockMargin is how much the clocks of the processes may differ: one whose clock is behind
	// takes a proof for good for longer.
	clockMargin = time.Minute
)

// sharedProofs are the proofs that the processes with one store have accepted. An entry has no
// value, and its key is a digest, so who reads the store learns of no key and no request.
//
// Spec: RFC 9449 11.1
type sharedProofs struct {
	store mcp.Store
	life  time.Duration
}

// add stores a proof, and reports whether no process has done so before.
func (s *sharedProofs) add(ctx context.Context, digest [sha256.Size]byte) (first bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.store.Create(ctx, "dpop."+hex.EncodeToString(digest[:]), nil, s.life)
}
