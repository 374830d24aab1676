package pgstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"
)

// pause waits for d/2 to d, so that replicas that were started together do not act together. It
// returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	timer := time.NewTimer(d/2 + time.Duration(binary.BigEndian.Uint64(random[:])%uint64(d/2)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
