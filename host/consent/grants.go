package consent

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Grants holds the grants of a store. Several processes may use the same store. All methods
// are safe for concurrent use.
type Grants struct{ store mcp.Store }

// NewGrants returns the grants in a store.
func NewGrants(store mcp.Store) *Grants { return &Grants{store} }

// used replaces a grant for one call after its use, so that no second call finds it.
var used = []byte("used")

// usedTime is how long used is kept.
const usedTime = time.Second

// add stores a grant, in place of an earlier one for the same calls.
func (s *Grants) add(ctx context.Context, g Grant) error {
	all, err := s.List(ctx)
	if err != nil {
		return err
	}
	count := 0
	for _, other := range all {
		if other.Principal == g.Principal && other.Key != g.Key {
			count++
		}
	}
	if count >= maxGrants {
		return fmt.Errorf("grant: %s has %d grants, which is the limit; revoke some", g.Principal, count)
	}
	ttl := time.Duration(0)
	if !g.Expires.IsZero() {
		if ttl = time.Until(g.Expires); ttl <= 0 {
			return fmt.Errorf("grant: it would have expired already")
		}
	}
	raw, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	if err := s.store.Put(ctx, g.Key, raw, ttl); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	return nil
}

// use returns a grant that allows a call, or nil. A grant for one call is used up: of several
// calls, also of several processes, one gets it. ended are the grants that were removed
// because the definition of the tool has changed.
func (s *Grants) use(ctx context.Context, c call) (allowed *Grant, ended []Grant, err error) {
	keys := []string{c.keyLasting(""), c.keyReadOnly(), c.keyOnce()}
	if c.Session != "" {
		keys = append([]string{c.keyLasting(c.Session)}, keys...)
	}
	for _, key := range keys {
		raw, found, err := s.store.Get(ctx, key)
		if err != nil {
			return nil, ended, fmt.Errorf("grants: %w", err)
		}
		if !found || string(raw) == string(used) {
			continue
		}
		g, err := decode[Grant](raw)
		switch {
		case err != nil:
			return nil, ended, err
		case g.Key != key || g.expired():
		case !g.covers(c.Tool, c.Fingerprint):
			if g.Scope == ReadOnly {
				continue // it holds for the server's other tools
			}
			if err := s.store.Delete(ctx, key); err != nil {
				return nil, ended, fmt.Errorf("grants: %w", err)
			}
			ended = append(ended, *g)
		case g.Scope != Once:
			return g, ended, nil
		default:
			first, err := s.store.Swap(ctx, key, raw, used, usedTime)
			if err != nil {
				return nil, ended, fmt.Errorf("grants: %w", err)
			}
			if first {
				return g, ended, nil
			}
		}
	}
	return nil, ended, nil
}

// List returns all grants, in no particular order.
func (s *Grants) List(ctx context.Context) ([]Grant, error) {
	var all []Grant
	for raw, err := range values(ctx, s.store, grantPrefix) {
		if err != nil {
			return nil, fmt.Errorf("grants: %w", err)
		}
		if string(raw) == string(used) {
			continue
		}
		g, err := decode[Grant](raw)
		if err != nil {
			return nil, err
		}
		if !g.expired() {
			all = append(all, *g)
		}
	}
	return all, nil
}

// Revoke removes the grants that match, and returns them. Calls that were allowed before are
// not ended.
func (s *Grants) Revoke(ctx context.Context, match func(*Grant) bool) (revoked []Grant, err error) {
	all, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		if !match(&g) {
			continue
		}
		if err := s.store.Delete(ctx, g.Key); err != nil {
			return revoked, fmt.Errorf("grants: %w", err)
		}
		revoked = append(revoked, g)
	}
	return revoked, nil
}
