// Package revocation keeps the names of principals and clients, and the digests of tokens,
// that the user of the host has revoked.
package revocation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// Section is the part of the store that has the list.
const Section = "revoked"

const (
	keyPrefix = Section + "/"
	// maxName limits a name in bytes, maxRevoked their number.
	maxName    = 512
	maxRevoked = 10_000
)

// Revocation is one entry of the list.
type Revocation struct {
	// Name is what was revoked: the subject of a principal, its text in the audit log, the
	// id or name of a client, or TokenName of a token.
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// List is the list of what is revoked. Processes with the same store share it. Before the
// first successful Load, and after one that failed, everything is refused. All methods are
// safe for concurrent use.
type List struct {
	store mcp.Store

	mu    sync.RWMutex
	names map[string]bool      // guarded by mu
	times map[string]time.Time // guarded by mu: when each was revoked last
	err   error                // guarded by mu: of Load
}

// Open returns the list in a store. Nothing is read yet.
func Open(store mcp.Store) *List {
	return &List{store: store, err: errors.New("it was not read yet")}
}

// Add revokes a name, or revokes it again. A list that is full takes no further name.
func (l *List) Add(ctx context.Context, name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("revoke: a name of %d bytes, want 1 to %d", len(name), maxName)
	}
	keys, err := l.store.List(ctx, keyPrefix, "", maxRevoked)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if len(keys) >= maxRevoked && !slices.Contains(keys, keyOf(name)) {
		return fmt.Errorf("revoke: %d names are revoked, which is the limit; accept some of them again", len(keys))
	}
	value, err := json.Marshal(Revocation{Name: name, At: time.Now().UTC()})
	if err == nil {
		err = l.store.Put(ctx, keyOf(name), value, 0)
	}
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	return nil
}

// Remove removes a name, if the list has it.
func (l *List) Remove(ctx context.Context, name string) error {
	if err := l.store.Delete(ctx, keyOf(name)); err != nil {
		return fmt.Errorf("remove a revocation: %w", err)
	}
	return nil
}

// Has reports whether the list has a name, also while All fails.
func (l *List) Has(ctx context.Context, name string) (bool, error) {
	_, found, err := l.store.Get(ctx, keyOf(name))
	if err != nil {
		return false, fmt.Errorf("revocations: %w", err)
	}
	return found, nil
}

// All returns the list, the oldest entry first. A list that is longer than its limit is an error:
// part of it would accept what was revoked.
func (l *List) All(ctx context.Context) ([]Revocation, error) {
	keys, err := l.store.List(ctx, keyPrefix, "", maxRevoked+1)
	if err != nil {
		return nil, fmt.Errorf("revocations: %w", err)
	}
	if len(keys) > maxRevoked {
		return nil, fmt.Errorf("revocations: found more than %d, which is the limit; accept some of them again", maxRevoked)
	}
	var all []Revocation
	for _, key := range keys {
		value, found, err := l.store.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("revocations: %w", err)
		}
		if !found { // removed in the meantime
			continue
		}
		var r Revocation
		if err := json.Unmarshal(value, &r); err != nil || keyOf(r.Name) != key {
			return nil, fmt.Errorf("revocations: the entry %s is damaged", key)
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b Revocation) int { return a.At.Compare(b.At) })
	return all, nil
}

// Load reads the list, which the checks use from then on, and returns the names that were
// added since, also those that were added again: a program that has connected again under a
// revoked name is ended once more.
func (l *List) Load(ctx context.Context) (added []string, err error) {
	all, err := l.All(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	if err != nil {
		return nil, err
	}
	before := l.times
	l.names, l.times = make(map[string]bool, len(all)), make(map[string]time.Time, len(all))
	for _, r := range all {
		l.names[r.Name], l.names[TokenName(r.Name)] = true, true // a token may be given as it is
		l.times[r.Name] = r.At
		if at, known := before[r.Name]; !known || !at.Equal(r.At) {
			added = append(added, r.Name)
		}
	}
	return added, nil
}

// ErrRevoked is the error of Check for what is revoked. Other errors say that the list
// cannot be read.
var ErrRevoked = errors.New("it was revoked")

// Check returns ErrRevoked if a token, by its TokenName, or a principal or its client is
// revoked. An empty name is no token, and principals that are not authenticated cannot be
// revoked.
func (l *List) Check(token string, p mcp.Principal) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch {
	case l.err != nil:
		return fmt.Errorf("the list of what is revoked cannot be read: %w", l.err)
	case token != "" && l.names[token], p.Authenticated() && (l.names[p.Subject] || p.Client != "" && l.names[p.Client] || l.names[p.String()]):
		return ErrRevoked
	}
	return nil
}

// MatchesCaller is Matches for a client program with its name and version as one text, from
// host.ClientName. Where the name ends is not known, so a name also matches programs whose
// name has more words.
func MatchesCaller(name string, p mcp.Principal, client string) bool {
	if shown := host.ClientName(name, ""); name != "" && (client == shown || strings.HasPrefix(client, shown+" ")) {
		return true
	}
	return Matches([]string{name}, p, nil)
}

// Matches reports whether one of the names is that of the principal, of its client, or of
// the program that the client says it is.
func Matches(names []string, p mcp.Principal, client *mcp.Implementation) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		if client != nil && client.Name == name && name != "" {
			return true
		}
		return p.Authenticated() && slices.Contains([]string{p.Subject, p.Client, p.String()}, name) && name != ""
	})
}

func keyOf(name string) string {
	digest := sha256.Sum256([]byte(name))
	return keyPrefix + hex.EncodeToString(digest[:])
}
