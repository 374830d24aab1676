package mcpserver

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// A marker in the Store has one bit for each of markerStates states. States with consecutive
// numbers are in different markers, in turn, so that concurrent rounds seldom change the same
// one.
const (
	markerStates = 256
	markerTurns  = 64
)

// storedUsedStates remember in a Store, for all replicas, which states were used. A process
// numbers its states and needs one bit for each, as replay.UsedStates do: so the states of
// one client, however many there are, do not use up the entries of the Store. All methods
// are safe for concurrent use.
type storedUsedStates struct {
	store    mcp.Store
	instance string // distinguishes the processes

	next atomic.Uint64
}

// newID returns an id for a state.
func (u *storedUsedStates) newID() string {
	return u.instance + "." + strconv.FormatUint(u.next.Add(1)-1, 36)
}

// use marks the state of an id as used. It returns false if the state was used before. ttl is
// the time for which states are valid.
func (u *storedUsedStates) use(ctx context.Context, id string, ttl time.Duration) (first bool, err error) {
	instance, text, _ := strings.Cut(id, ".")
	number, err := strconv.ParseUint(text, 36, 64)
	if err != nil {
		return false, nil
	}
	turn, at := number%markerTurns, number/markerTurns
	key := fmt.Sprintf("%s%s.%d.%d", usedState, instance, at/markerStates, turn)
	for at %= markerStates; ctx.Err() == nil; {
		old, found, err := u.store.Get(ctx, key)
		if err != nil {
			return false, err
		}
		marker := make([]byte, markerStates/8)
		copy(marker, old)
		if marker[at/8]&(1<<(at%8)) != 0 {
			return false, nil
		}
		marker[at/8] |= 1 << (at % 8)
		write := func() (bool, error) { return u.store.Create(ctx, key, marker, ttl) }
		if found {
			write = func() (bool, error) { return u.store.Swap(ctx, key, old, marker, ttl) }
		}
		if written, err := write(); written || err != nil {
			return written, err
		}
	}
	return false, context.Cause(ctx)
}
