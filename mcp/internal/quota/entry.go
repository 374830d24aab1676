package quota

import (
	"sync"
	"time"
)

// entry is one owner of a rate at this replica: a token bucket that has a part of the rate.
type entry struct {
	group       *Group
	id          string // in the names of records
	prefix      string // of the names of all records of the owner
	rate, burst float64

	mu sync.Mutex
	// The bucket of this replica, guarded by mu.
	part   float64 // of the rate and the burst, more than 0 and at most 1
	level  float64
	filled time.Time // when level was computed
	// What is to be written, guarded by mu.
	offered int64     // calls since measured
	count   int64     // calls that were admitted
	since   time.Time // when the measurement of offered began
	written record    // last
	// The bucket of all replicas, guarded by mu.
	balance  float64
	balanced time.Time // when balance was computed
	counted  int64     // count at that time
	read     time.Time // when records were read last; zero for never
	seen     map[string]peerCount
	// Use of the Store, guarded by mu.
	syncing bool      // a timer or an operation is under way
	next    time.Time // of the next operation
	reading bool      // the next operation is List
	called  bool      // there were calls since the last operation
}

// peerCount is the count of another replica when it was seen last.
type peerCount struct {
	count int64
	at    time.Time
}

func newEntry(g *Group, k Key) *entry {
	e := &entry{group: g, id: newID(), prefix: g.prefix(k.Name, k.Principal)}
	e.rate, e.burst = bounds(k.Rate)
	now := g.now()
	e.part = 1 / float64(g.replicas.Load())
	e.level, e.filled = max(e.part*e.burst, 1), now
	e.balance, e.balanced = e.burst, now
	return e
}

// capacity returns the size of the bucket. It is more than the part of a very small burst, because
// a bucket of about one call loses tokens between calls. The caller holds mu.
func (e *entry) capacity() float64 { return max(e.part*e.burst, min(e.burst, 2)) }

// fresh reports whether the part follows the records. The caller holds mu.
func (e *entry) fresh(now time.Time) bool {
	return !e.read.IsZero() && now.Sub(e.read) < recordLife+interval
}

// fill adds the tokens of the time that has passed. The caller holds mu.
func (e *entry) fill(now time.Time) {
	e.level += e.part * e.rate * now.Sub(e.filled).Seconds()
	e.filled = now
	if !e.fresh(now) {
		e.part = 1 / float64(e.group.replicas.Load())
	}
	e.level = min(e.level, e.capacity())
}

func (e *entry) take(now time.Time) (wait time.Duration, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fill(now)
	if !e.syncing {
		e.startSync(now)
	}
	e.called = true
	e.offered++
	if e.level >= 1 {
		e.level--
		e.count++
		return 0, true
	}
	return e.wait(now), false
}

// wait returns the time until there is a token. The caller holds mu.
func (e *entry) wait(now time.Time) time.Duration {
	wait := seconds((1 - e.level) / (e.part * e.rate))
	if e.fresh(now) || !e.syncing {
		return wait
	}
	known := e.next.Sub(now) // until the part follows the demand
	if !e.reading {
		known += interval
	}
	return min(wait, max(known, seconds(1/e.rate)))
}

// isNew reports whether the entry is equal to a new one.
func (e *entry) isNew(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fill(now)
	return !e.syncing && !e.fresh(now) && e.level >= e.capacity()
}

// isSyncing reports whether the entry uses the Store.
func (e *entry) isSyncing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.syncing
}

// seconds returns a duration, at most a day.
func seconds(s float64) time.Duration { return time.Duration(min(s, 86_400) * float64(time.Second)) }
