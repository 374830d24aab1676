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
	// renewTimeout bounds a renewal, including the wait for another process.
	renewTimeout = time.Minute
	// renewPause is the time between attempts while the old access token is usable.
	renewPause = 5 * time.Second
)

// tokenSource loads grants from a store and renews them when they are due. It is
// safe for concurrent use.
//
//	token
//	├─ load                    if the token is current, no more is needed
//	└─ awaitRenewal            one renewal for all callers that wait
//	   └─ renewStored          while no other process renews
//	      ├─ renewed by another process meanwhile: that grant
//	      └─ renew             the only request; the new grant is stored before it is used
type tokenSource struct {
	store Store
	// renew returns the grant that replaces old. Old is nil if there is none and
	// noUser is set. An error that wraps ErrSignInRequired means that the grant can
	// no longer be renewed.
	renew func(ctx context.Context, key grantKey, old *grant) (*grant, error)
	// noUser means that renew needs no refresh token.
	noUser bool
	// report is called with errors that fail no call. It may be nil.
	report func(error)

	mu     sync.Mutex
	states map[grantKey]*grantState
}

// grantState is the state of a grant in this process, in addition to the store.
type grantState struct {
	renewal *renewal  // the running one, or nil
	pause   time.Time // end of the pause between renewals while the token is usable
	// A grant that could not be stored, and what the store has instead.
	unsaved  *grant
	replaces []byte
}

// renewal is a running renewal, shared by all callers that wait for it.
type renewal struct {
	done  chan struct{} // closed when the others are set
	grant *grant
	err   error
}

// token returns the grant with a current access token, or nil if there is none. It renews
// a token that is due; if that fails, it returns the old token until it expires. An error
// that wraps ErrSignInRequired means that the grant is no longer usable; any other error
// does not change it. Cancelling the context ends the wait, but not the renewal, for
// which other callers may wait.
func (k *tokenSource) token(ctx context.Context, key grantKey) (*grant, error) {
	g, unsaved, err := k.load(ctx, key)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	switch {
	case g == nil && !k.noUser:
		return nil, nil
	case g.current(now) && !unsaved, g.usable(now) && (k.renewalPaused(key, now) || !k.renewable(g)):
		return g, nil
	case !k.renewable(g):
		return nil, noRefreshTokenError(key)
	}
	return k.awaitRenewal(ctx, key)
}

// renewable reports whether a grant can be renewed.
func (k *tokenSource) renewable(g *grant) bool { return k.noUser || g != nil && g.Refresh != "" }

func noRefreshTokenError(key grantKey) error {
	return fmt.Errorf("token for %s: %w: it has expired or was refused, and there is no refresh token", key.Resource, ErrSignInRequired)
}

// put replaces the grant of a key. If the store fails, the error is reported and the
// grant is used until the process ends.
func (k *tokenSource) put(ctx context.Context, key grantKey, g *grant) error {
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
	k.reportError(inMemory(key, err))
	return nil
}

func inMemory(key grantKey, err error) error {
	return fmt.Errorf("the token for %s is only in memory: %w", key.Resource, err)
}

// rejected records that the resource has refused this access token, so that it is
// renewed. If the stored token is newer, it does nothing.
func (k *tokenSource) rejected(ctx context.Context, key grantKey, access oauth.Secret) error {
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
func (k *tokenSource) forget(ctx context.Context, key grantKey) error {
	return k.store.Update(ctx, key.String(), func([]byte) ([]byte, error) {
		k.setUnsaved(key, nil, nil)
		return nil, nil
	})
}

// replace replaces the newest grant by the result of change, under the lock of the store.
// A nil result keeps the old grant. The argument unsaved reports whether the old grant is
// only in memory. If the store fails, the new grant is only in memory.
func (k *tokenSource) replace(ctx context.Context, key grantKey, change func(old *grant, unsaved bool) (*grant, error)) error {
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

// load returns the newest grant, and whether it is only in memory.
func (k *tokenSource) load(ctx context.Context, key grantKey) (g *grant, unsaved bool, err error) {
	text, err := k.store.Load(ctx, key.String())
	if err != nil {
		return nil, false, err
	}
	return k.newest(key, text)
}

// newest returns the stored grant, or the unsaved one that was to replace it.
func (k *tokenSource) newest(key grantKey, stored []byte) (g *grant, unsaved bool, err error) {
	k.mu.Lock()
	h := k.state(key)
	held := h.unsaved
	unsaved = held != nil && bytes.Equal(h.replaces, stored)
	k.mu.Unlock()
	if unsaved {
		return held, true, nil
	}
	g, err = decodeGrant(stored, key)
	return g, false, err
}

// state returns the state of a key. The caller holds the lock.
func (k *tokenSource) state(key grantKey) *grantState {
	if k.states == nil {
		k.states = make(map[grantKey]*grantState)
	}
	if k.states[key] == nil {
		k.states[key] = new(grantState)
	}
	return k.states[key]
}

// setUnsaved sets the grant that could not be stored; nil means that there is none.
func (k *tokenSource) setUnsaved(key grantKey, unsaved *grant, replaces []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.state(key)
	h.unsaved, h.replaces = unsaved, replaces
}

func (k *tokenSource) renewalPaused(key grantKey, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Before(k.state(key).pause)
}

// awaitRenewal waits for the renewal of a grant and starts one if none is running.
func (k *tokenSource) awaitRenewal(ctx context.Context, key grantKey) (*grant, error) {
	r := k.startRenewal(ctx, key)
	select {
	case <-r.done:
		return r.grant, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (k *tokenSource) startRenewal(ctx context.Context, key grantKey) *renewal {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.state(key)
	if h.renewal == nil {
		h.renewal = &renewal{done: make(chan struct{})}
		go k.runRenewal(context.WithoutCancel(ctx), key, h.renewal)
	}
	return h.renewal
}

// runRenewal renews a grant within renewTimeout. It continues if its caller is cancelled,
// because an aborted request may have invalidated the old refresh token.
func (k *tokenSource) runRenewal(ctx context.Context, key grantKey, r *renewal) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	r.grant, r.err = k.renewStored(ctx, key)
	if r.err != nil && !errors.Is(r.err, ErrSignInRequired) {
		r.grant, r.err = k.fallback(key, r.err)
	}
	k.mu.Lock()
	k.state(key).renewal = nil
	k.mu.Unlock()
	close(r.done)
}

// fallback returns the grant that could not be renewed if it is still usable, and
// otherwise the error.
func (k *tokenSource) fallback(key grantKey, err error) (*grant, error) {
	err = fmt.Errorf("renew the token for %s: %w", key.Resource, err)
	ctx, cancel := context.WithTimeout(context.Background(), renewPause)
	defer cancel()
	g, _, failed := k.load(ctx, key)
	if failed != nil || !g.usable(time.Now()) {
		return nil, err
	}
	k.reportError(err)
	k.mu.Lock()
	k.state(key).pause = time.Now().Add(renewPause)
	k.mu.Unlock()
	return g, nil
}

func (k *tokenSource) reportError(err error) {
	if k.report != nil {
		k.report(err)
	}
}

// renewStored renews a grant under the lock of the store, unless another process
// has renewed it before.
func (k *tokenSource) renewStored(ctx context.Context, key grantKey) (*grant, error) {
	var newest *grant
	var ended error
	err := k.replace(ctx, key, func(old *grant, unsaved bool) (next *grant, err error) {
		newest = old
		next, err = k.successor(ctx, key, old, unsaved)
		if errors.Is(err, ErrSignInRequired) {
			next, ended, err = old.withoutRefreshToken(), err, nil
		}
		if next != nil {
			newest = next
		}
		return next, err
	})
	switch {
	case newest.current(time.Now()) && err != nil:
		k.reportError(inMemory(key, err))
	case err != nil:
		return nil, err
	case ended != nil && !newest.usable(time.Now()):
		return nil, fmt.Errorf("renew the token for %s: %w", key.Resource, ended)
	case !newest.usable(time.Now()):
		return nil, noRefreshTokenError(key)
	}
	return newest, nil
}

// successor requests the grant that replaces old. It returns nil if none is due.
func (k *tokenSource) successor(ctx context.Context, key grantKey, old *grant, unsaved bool) (*grant, error) {
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
		return nil, errors.New("the new token belongs to another issuer, server, account or client")
	}
	return g, nil
}

// refreshed requests the successor of a grant with its refresh token. It sends nothing to
// a token endpoint of another issuer, nor as another client.
//
// Spec: RFC 6749 6; RFC 8707 2.2; OAuth 2.1 4.3
func refreshed(ctx context.Context, e *oauth.TokenEndpoint, old *grant) (*grant, error) {
	if !oauth.SameIdentifier(e.Issuer, old.Issuer) || e.Auth.ID != old.ClientID {
		return nil, fmt.Errorf("%w: the token belongs to another issuer or client than that of %s now", ErrSignInRequired, old.Resource)
	}
	t, err := e.Request(ctx, url.Values{
		"grant_type":    {"refresh_token"},
		"refresh_token": {old.Refresh.Reveal()},
		"resource":      {old.Resource},
	})
	if refused, ok := errors.AsType[*oauth.Error](err); ok && refused.Final() {
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
