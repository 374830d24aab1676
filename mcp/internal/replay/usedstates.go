package replay

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// statesInChunk is how many states one chunk of UsedStates is for.
	statesInChunk = 4096
	// maxChunks bounds the chunks: 16 MiB for 134 million states.
	maxChunks = 1 << 15
)

// UsedStates remembers which states have come back, as the anti-replay windows of
// network protocols do: it numbers the states that this process seals, and keeps one bit
// for each until it has expired. So the memory for the states of one client, however
// many there are, is never missing for those of another. All methods are safe for
// concurrent use.
type UsedStates struct {
	// Instance names this process in the ids. It is set before first use.
	Instance string

	mu     sync.Mutex
	first  uint64         // guarded by mu: number of the first state of the first chunk
	next   uint64         // guarded by mu: number of the next state
	chunks []*statesChunk // guarded by mu
}

// statesChunk are the bits for states with consecutive numbers.
type statesChunk struct {
	expires time.Time // of the last of them
	used    [statesInChunk / 64]uint64
}

// New returns an id for a state that expires then. When more than 134 million states
// have not expired, the oldest are forgotten and count as used.
func (u *UsedStates) New(expires time.Time) (id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forgetExpired(time.Now())
	if u.next == u.first+uint64(len(u.chunks))*statesInChunk {
		if len(u.chunks) == maxChunks {
			u.forgetFirst()
		}
		u.chunks = append(u.chunks, new(statesChunk))
	}
	last := u.chunks[len(u.chunks)-1]
	if expires.After(last.expires) {
		last.expires = expires
	}
	id = u.Instance + "." + strconv.FormatUint(u.next, 36)
	u.next++
	return id
}

// Use notes that the state of an id has come back. It reports false when it had come
// back before, has expired, or is that of another process.
func (u *UsedStates) Use(id string) bool {
	text, ours := strings.CutPrefix(id, u.Instance+".")
	number, err := strconv.ParseUint(text, 36, 64)
	if !ours || err != nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if number < u.first || number >= u.next {
		return false
	}
	at := number - u.first
	word, bit := &u.chunks[at/statesInChunk].used[at%statesInChunk/64], uint64(1)<<(at%64)
	first := *word&bit == 0
	*word |= bit
	return first
}

// The methods below need mu.

// forgetExpired drops the full chunks whose states have all expired.
func (u *UsedStates) forgetExpired(now time.Time) {
	for len(u.chunks) > 1 && !now.Before(u.chunks[0].expires) {
		u.forgetFirst()
	}
}

func (u *UsedStates) forgetFirst() {
	u.chunks[0] = nil
	u.chunks = u.chunks[1:]
	u.first += statesInChunk
}
