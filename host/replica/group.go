// Package replica places each caller of several hosts on one of them.
//
//	Group      which hosts run: one record of each, which expires when it is not renewed
//	Places     which host has a caller: one record of each caller, which names a host
//	Forwarder  sends requests to the host that has their caller, with a ticket that proves who sent them
package replica

import (
	"context"
	"crypto/rand"
	"encoding/json/v2"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// leaseTime is how long the record of a host outlives it, and leaseRenewal how often it is renewed.
	leaseTime    = 4 * time.Second
	leaseRenewal = time.Second
	// steadyTime is for how long the store has to have answered before a host takes over callers. After
	// a loss of the store, hosts that have gone on without it first take theirs again.
	steadyTime = 3 * time.Second
	// maxClockSkew is how much the clocks of two hosts may differ.
	maxClockSkew = 10 * time.Second
	hostPrefix   = "hosts/"
)

// Group is the hosts that use one store, as one of them sees it. It is safe for concurrent use.
type Group struct {
	store mcp.Store
	url   string

	mu      sync.Mutex
	id      string    // guarded by mu: of this host; another one after its record has expired
	renewed time.Time // guarded by mu: when the last renewal that succeeded began
	failed  time.Time // guarded by mu: when the last renewal that failed ended
	steady  time.Time // guarded by mu: since when renewals have succeeded
}

// hostRecord is the value of the record of a host. The store removes it when it has expired; the
// time in it counts if someone puts an earlier copy back, which the encryption does not prevent.
type hostRecord struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

// Join adds this host, which the others reach at a URL. Run has to be called.
func Join(ctx context.Context, s mcp.Store, url string) (*Group, error) {
	g := &Group{store: s, url: url}
	return g, g.join(ctx)
}

func (g *Group) record() ([]byte, error) {
	return json.Marshal(hostRecord{URL: g.url, Expires: time.Now().Add(leaseTime)})
}

// join adds the host under a new id. What names the old one has then lost its host.
func (g *Group) join(ctx context.Context) error {
	id, began := rand.Text(), time.Now()
	value, err := g.record()
	if err != nil {
		return err
	}
	if _, err := g.store.Create(ctx, hostPrefix+id, value, leaseTime); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.id, g.renewed, g.steady = id, began, began
	return nil
}

// ID returns the id of this host.
func (g *Group) ID() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.id
}

// mayTakeOver reports whether the store has answered for long enough that a host without a record
// has ended.
func (g *Group) mayTakeOver() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.steady) >= steadyTime && time.Since(g.renewed) < 2*leaseRenewal+leaseRenewal/2
}

// keepsPlaces reports whether this host need not ask the store who has its callers: its record has
// not expired, or the store does not answer. Otherwise the process may have been stopped for so
// long that another host has them.
func (g *Group) keepsPlaces() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.renewed) < leaseTime-leaseRenewal || time.Since(g.failed) < 2*leaseRenewal+leaseRenewal/2
}

// urlOf returns the URL of a host, empty if it has ended.
func (g *Group) urlOf(ctx context.Context, id string) (string, error) {
	raw, found, err := g.store.Get(ctx, hostPrefix+id)
	if err != nil || !found {
		return "", err
	}
	var record hostRecord
	if err := json.Unmarshal(raw, &record); err != nil {
		return "", err
	}
	if time.Since(record.Expires) > maxClockSkew {
		return "", nil
	}
	return record.URL, nil
}

// Run renews the record until ctx ends, and then removes it: others may then take over all that this
// host has. rejoined is called when the record had expired, because the store could not be reached,
// and the host has a new id. It must not block.
func (g *Group) Run(ctx context.Context, rejoined func()) {
	tick := time.NewTicker(leaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			g.leave(ctx)
			return
		case <-tick.C:
		}
		if g.renew(ctx) && ctx.Err() == nil {
			rejoined()
		}
	}
}

// renew renews the record, and reports whether it has made another one.
func (g *Group) renew(ctx context.Context) (rejoined bool) {
	ctx, cancel := context.WithTimeout(ctx, leaseRenewal)
	defer cancel()
	began := time.Now()
	kept, err := g.swap(ctx, hostPrefix+g.ID())
	if err == nil && !kept {
		err = g.join(ctx)
		rejoined = err == nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err != nil && time.Since(began) < 2*leaseRenewal: // or the process was stopped meanwhile
		g.failed = time.Now()
	case err != nil:
	case rejoined:
	default:
		if began.Sub(g.renewed) > 2*leaseRenewal {
			g.steady = began
		}
		g.renewed = began
	}
	return rejoined
}

// swap writes the record again, and reports false if it has expired.
func (g *Group) swap(ctx context.Context, key string) (kept bool, err error) {
	raw, found, err := g.store.Get(ctx, key)
	if err != nil || !found {
		return false, err
	}
	value, err := g.record()
	if err != nil {
		return false, err
	}
	return g.store.Swap(ctx, key, raw, value, leaseTime)
}

func (g *Group) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseRenewal)
	defer cancel()
	_ = g.store.Delete(ctx, hostPrefix+g.ID()) // otherwise it expires
}
