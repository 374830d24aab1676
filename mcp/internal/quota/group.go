package quota

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/drain"
)

const (
	// maxEntries bounds the owners of a Group, and maxSyncing those that use the Store at once,
	// which is also how many operations a replica makes in a second. The others have the rate
	// divided by the number of replicas.
	maxEntries = 65_536
	maxSyncing = 4096
	// maxOperations bounds the operations of the Store that run at once.
	maxOperations = 64
)

// Options of a Group.
type Options struct {
	Store  mcp.Store
	Server string // name of the server: servers of different names count apart
	Secret []byte // of all replicas: hides who the owners are in the names of keys
	Logger *slog.Logger
}

// Group is the rates of one replica. A nil Group has none. It is safe for concurrent use.
type Group struct {
	o        Options
	replicas atomic.Int64 // how many there are, as the members have said last; at least 1
	work     drain.Group
	slots    chan struct{} // of operations that run
	now      func() time.Time
	life     context.Context
	end      context.CancelFunc

	syncing atomic.Int64 // how many entries use the Store

	mu       sync.RWMutex
	entries  map[Key]*entry // guarded by mu
	sweep    int            // guarded by mu: the number of entries at which idle ones are removed
	reported time.Time      // guarded by mu: when a failure was logged last
}

// Key identifies an owner of a rate.
type Key struct {
	Name      string        // of the rate
	Principal mcp.Principal // zero for a rate of all callers together
	Rate      mcp.Rate      // PerSecond more than 0
}

// New returns a Group that has joined the replicas of its server. It needs a Close.
func New(o Options) *Group {
	g := &Group{o: o, now: time.Now, slots: make(chan struct{}, maxOperations), entries: make(map[Key]*entry)}
	g.life, g.end = context.WithCancel(context.Background())
	g.replicas.Store(1)
	m := &member{group: g, prefix: g.prefix("members", mcp.Principal{}), id: newID()}
	g.work.Go(m.join)
	return g
}

// Take takes a token of an owner. If there is none, it returns the time until there will be
// one. It does not wait for the Store. A nil Group has a token for every call.
func (g *Group) Take(k Key) (wait time.Duration, ok bool) {
	if g == nil {
		return 0, true
	}
	return g.entry(k).take(g.now())
}

// Close ends the operations of the Store and waits for them, at most until ctx ends. Rates that
// are used later are those of this replica.
func (g *Group) Close(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.end()
	return g.work.Drain(ctx)
}

func (g *Group) entry(k Key) *entry {
	g.mu.RLock()
	e := g.entries[k]
	g.mu.RUnlock()
	if e != nil {
		return e
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.entries[k]; e != nil {
		return e
	}
	if len(g.entries) >= g.sweep {
		g.forget()
	}
	e = newEntry(g, k)
	g.entries[k] = e
	return e
}

// forget removes entries that are equal to new ones. If the table is full of others, it removes
// some that do not use the Store, which are most. The caller holds mu.
func (g *Group) forget() {
	now, full := g.now(), len(g.entries) >= maxEntries
	for k, e := range g.entries {
		if e.isNew(now) {
			delete(g.entries, k)
		}
	}
	for k, e := range g.entries {
		if !full || len(g.entries) <= maxEntries/8*7 {
			break
		}
		if !e.isSyncing() {
			delete(g.entries, k)
		}
	}
	g.sweep = min(2*max(len(g.entries), 32), maxEntries)
}

// prefix returns the beginning of the keys of an owner. It names the owner only to those who have
// the secret.
func (g *Group) prefix(rate string, p mcp.Principal) string {
	mac := hmac.New(sha256.New, g.o.Secret)
	for _, part := range []string{g.o.Server, rate, p.Issuer, p.Subject, p.Client} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	return "quota." + hex.EncodeToString(mac.Sum(nil)[:16]) + "."
}

// report logs the error of an operation of the Store, if there is one and the log has none of the
// last minute.
func (g *Group) report(err error) {
	if err == nil || g.life.Err() != nil {
		return
	}
	g.mu.Lock()
	now := g.now()
	recent := now.Sub(g.reported) < time.Minute
	if !recent {
		g.reported = now
	}
	g.mu.Unlock()
	if !recent {
		g.o.Logger.Warn("quota: the Store fails: each replica has its part of the shared rates until the Store works", "replicas", g.replicas.Load(), "error", err)
	}
}

// bounds returns the rate and the burst of a Rate. The burst is at most that of the life of a
// record: nobody would know of a larger one that was used, when another replica is called next.
func bounds(r mcp.Rate) (rate, burst float64) {
	rate = min(r.PerSecond, math.MaxInt32)
	burst = float64(r.Burst)
	if r.Burst == 0 {
		burst = math.Ceil(rate)
	}
	return rate, min(burst, max(rate*recordLife.Seconds(), 1))
}
