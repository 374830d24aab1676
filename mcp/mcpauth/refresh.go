package mcpauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

const (
	// renewTimeout bounds a renewal, with the wait for another process that renews.
	renewTimeout = time.Minute
	// renewPause is between attempts while the old access token still serves.
	renewPause = 5 * time.Second
)

// keeper keeps grants in a store, and renews them when they are due. It is safe
// for concurrent use.
//
//	token
//	├─ load                    current: that is all
//	└─ shared                  one renewal for all who wait
//	   └─ renewStored          while no other process renews
//	      ├─ somebody was faster: theirs
//	      └─ renew             the only request; what it brings is stored before it is used
type keeper struct {
	store Store
	// renew returns the successor of a grant. Old is nil when there is none and the
	// keeper is for machines. An error that wraps ErrSignInRequired says that the
	// grant cannot be renewed any more.
	renew func(ctx context.Context, key grantKey, old *grant) (*grant, error)
	// machines says that renew needs no refresh token.
	machines bool
	// report is told what went wrong without failing a call. Nil is told nothing.
	report func(error)

	mu       sync.Mutex
	holdings map[grantKey]*holding
}

// holding is what this process knows of a grant besides the store.
type holding struct {
	renewal *renewal  // under way; nil if there is none
	pause   time.Time // until then no renewal is tried if the token serves
	// A grant that could not be stored, and what is stored in its stead.
	unsaved  *grant
	replaces []byte
}

// renewal is one, for all who wait for it.
type renewal struct {
	done  chan struct{} // closed when the others are set
	grant *grant
	err   error
}

// token returns the grant with a current access token, renewed if it is due, and
// nil when there is none. An error that wraps ErrSignInRequired says that the grant
// is of no more use; every other leaves it as it was. While a token that is due
// cannot be renewed it is returned until it expires. To end the context ends the
// wait, and not a renewal for which others may wait.
func (k *keeper) token(ctx context.Context, key grantKey) (*grant, error) {
	g, unsaved, err := k.load(ctx, key)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	switch {
	case g == nil && !k.machines:
		return nil, nil
	case g.current(now) && !unsaved, g.usable(now) && (k.pausing(key, now) || !k.renewable(g)):
		return g, nil
	case !k.renewable(g):
		return nil, errSpent(key)
	}
	return k.shared(ctx, key)
}

// renewable reports whether there is a way to a successor.
func (k *keeper) renewable(g *grant) bool { return k.machines || g != nil && g.Refresh != "" }

func errSpent(key grantKey) error {
	return fmt.Errorf("token for %s: %w: it has expired or was refused, and there is no refresh token", key.Resource, ErrSignInRequired)
}

// put keeps a grant in the place of an older one. If the store does not take it,
// which is told, it serves for the rest of the process.
func (k *keeper) put(ctx context.Context, key grantKey, g *grant) error {
	err := k.store.Update(ctx, key.String(), func([]byte) ([]byte, error) { return encodeRecord(g) })
	if err == nil {
		k.setUnsaved(key, nil, nil)
		return nil
	}
	stored, failed := k.store.Load(ctx, key.String())
	if failed != nil {
		return err
	}
	k.setUnsaved(key, g, stored)
	k.tell(inMemory(key, err))
	return nil
}

func inMemory(key grantKey, err error) error {
	return fmt.Errorf("the token for %s is kept in memory only: %w", key.Resource, err)
}

// rejected notes that the resource has refused this access token, so that it is
// renewed. A newer one is left alone.
func (k *keeper) rejected(ctx context.Context, key grantKey, access oauth.Secret) error {
	return k.replace(ctx, key, func(old *grant, _ bool) (*grant, error) {
		if old == nil || !old.Access.Equal(access) {
			return nil, nil
		}
		refused := *old
		refused.Refused = true
		return &refused, nil
	})
}

// forget removes a grant.
func (k *keeper) forget(ctx context.Context, key grantKey) error {
	return k.store.Update(ctx, key.String(), func([]byte) ([]byte, error) {
		k.setUnsaved(key, nil, nil)
		return nil, nil
	})
}

// replace puts what change makes of the newest grant in its place, while nobody
// else does. Nil leaves it. The change is told whether the grant has yet to be
// stored. What the store did not take is kept in memory.
func (k *keeper) replace(ctx context.Context, key grantKey, change func(old *grant, unsaved bool) (*grant, error)) error {
	changed := false
	err := k.store.Update(ctx, key.String(), func(stored []byte) ([]byte, error) {
		old, unsaved, err := k.newest(key, stored)
		if err != nil {
			return nil, err
		}
		g, err := change(old, unsaved)
		if err != nil || g == nil {
			return stored, err
		}
		changed = true
		k.setUnsaved(key, g, stored)
		return encodeRecord(g)
	})
	if err == nil && changed {
		k.setUnsaved(key, nil, nil)
	}
	return err
}

// load returns the newest grant, and whether it has yet to be stored.
func (k *keeper) load(ctx context.Context, key grantKey) (g *grant, unsaved bool, err error) {
	text, err := k.store.Load(ctx, key.String())
	if err != nil {
		return nil, false, err
	}
	return k.newest(key, text)
}

// newest returns the grant that is stored, or what was to replace exactly that.
func (k *keeper) newest(key grantKey, stored []byte) (g *grant, unsaved bool, err error) {
	k.mu.Lock()
	h := k.holding(key)
	held := h.unsaved
	unsaved = held != nil && bytes.Equal(h.replaces, stored)
	k.mu.Unlock()
	if unsaved {
		return held, true, nil
	}
	g, err = decodeGrant(stored, key)
	return g, false, err
}

// holding returns what is known of a key. The lock is held.
func (k *keeper) holding(key grantKey) *holding {
	if k.holdings == nil {
		k.holdings = make(map[grantKey]*holding)
	}
	if k.holdings[key] == nil {
		k.holdings[key] = new(holding)
	}
	return k.holdings[key]
}

// setUnsaved keeps the grant that could not be stored, or nil when every grant was.
func (k *keeper) setUnsaved(key grantKey, unsaved *grant, replaces []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.holding(key)
	h.unsaved, h.replaces = unsaved, replaces
}

func (k *keeper) pausing(key grantKey, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Before(k.holding(key).pause)
}

// shared waits for the renewal of a grant, and begins it if nobody has.
func (k *keeper) shared(ctx context.Context, key grantKey) (*grant, error) {
	r := k.begin(ctx, key)
	select {
	case <-r.done:
		return r.grant, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (k *keeper) begin(ctx context.Context, key grantKey) *renewal {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.holding(key)
	if h.renewal == nil {
		h.renewal = &renewal{done: make(chan struct{})}
		go k.run(context.WithoutCancel(ctx), key, h.renewal)
	}
	return h.renewal
}

// run ends within renewTimeout. It outlives a caller who has gone: a request that
// is broken off may have made the old refresh token worthless.
func (k *keeper) run(ctx context.Context, key grantKey, r *renewal) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	r.grant, r.err = k.renewStored(ctx, key)
	if r.err != nil && !errors.Is(r.err, ErrSignInRequired) {
		r.grant, r.err = k.makeDo(key, r.err)
	}
	k.mu.Lock()
	k.holding(key).renewal = nil
	k.mu.Unlock()
	close(r.done)
}

// makeDo returns the grant that could not be renewed while it still serves.
func (k *keeper) makeDo(key grantKey, err error) (*grant, error) {
	err = fmt.Errorf("renew the token for %s: %w", key.Resource, err)
	ctx, cancel := context.WithTimeout(context.Background(), renewPause)
	defer cancel()
	g, _, failed := k.load(ctx, key)
	if failed != nil || !g.usable(time.Now()) {
		return nil, err
	}
	k.tell(err)
	k.mu.Lock()
	k.holding(key).pause = time.Now().Add(renewPause)
	k.mu.Unlock()
	return g, nil
}

func (k *keeper) tell(err error) {
	if k.report != nil {
		k.report(err)
	}
}

// renewStored renews a grant while nobody else does, unless somebody was faster.
func (k *keeper) renewStored(ctx context.Context, key grantKey) (*grant, error) {
	var newest *grant
	var ended error
	err := k.replace(ctx, key, func(old *grant, unsaved bool) (next *grant, err error) {
		newest = old
		next, err = k.successor(ctx, key, old, unsaved)
		if errors.Is(err, ErrSignInRequired) {
			next, ended, err = old.spent(), err, nil
		}
		if next != nil {
			newest = next
		}
		return next, err
	})
	switch {
	case newest.current(time.Now()) && err != nil:
		k.tell(inMemory(key, err))
	case err != nil:
		return nil, err
	case ended != nil && !newest.usable(time.Now()):
		return nil, fmt.Errorf("renew the token for %s: %w", key.Resource, ended)
	case !newest.usable(time.Now()):
		return nil, errSpent(key)
	}
	return newest, nil
}

// successor asks for one, and returns nil if none is due.
func (k *keeper) successor(ctx context.Context, key grantKey, old *grant, unsaved bool) (*grant, error) {
	switch {
	case old.current(time.Now()) && unsaved:
		return old, nil
	case old.current(time.Now()), !k.renewable(old):
		return nil, nil
	}
	g, err := k.renew(ctx, key, old)
	if err != nil {
		return nil, err
	}
	if g.key() != key {
		return nil, errors.New("what was given belongs to another issuer, server, account or client")
	}
	return g, nil
}

// refreshed returns the successor of a grant by its refresh token, at the token
// endpoint of its issuer and as its client. An endpoint of another issuer or client
// is sent nothing.
//
// Spec: RFC 6749 6; RFC 8707 2.2; OAuth 2.1 4.3
func refreshed(ctx context.Context, e *oauth.TokenEndpoint, old *grant) (*grant, error) {
	if e.Issuer != old.Issuer || e.Auth.ID != old.ClientID {
		return nil, fmt.Errorf("%w: the token is of another issuer or client than %s has now", ErrSignInRequired, old.Resource)
	}
	t, err := e.Request(ctx, url.Values{
		"grant_type":    {"refresh_token"},
		"refresh_token": {old.Refresh.Reveal()},
		"resource":      {old.Resource},
	})
	if refused, ok := errors.AsType[*oauth.Error](err); ok && refused.Code == oauth.InvalidGrant {
		return nil, fmt.Errorf("%w: %w", ErrSignInRequired, err)
	}
	if err != nil {
		return nil, err
	}
	g, err := newGrant(old.key(), t, old.Scopes, nil)
	if err != nil {
		return nil, err
	}
	g.ProofKey = old.ProofKey
	if g.Refresh == "" {
		g.Refresh = old.Refresh
	}
	return g, nil
}
