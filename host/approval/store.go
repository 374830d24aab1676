// Package approval stores which servers the user has approved: programs, which may be
// started, and remote servers, which may be connected to.
//
// An approval covers what decides which code runs, or what is sent where: see Subject. Each
// server has at most one approval, so a server that goes back to what was replaced by a
// newer approval needs another one. Servers are told apart by their name and the
// configuration file that names them. What other programs' configurations say about trust
// does not count.
package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"os"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp"
)

// Section is the text before the first "/" of all keys that a Store uses.
const Section = "approvals"

// Store has the approvals of the user. All methods are safe for concurrent use.
type Store struct {
	store     mcp.Store
	opts      Options
	home      string // of the user; empty if there is none
	adminOnly func(path string) bool
	// checkLocal returns an error for a path on another machine that a project names.
	checkLocal func(path, project string) error
}

// Options of New.
type Options struct {
	// Key returns the key of the digests of texts that may be secrets. Required.
	Key func(context.Context) ([]byte, error)
	// OnCarryOver is called when an approval was carried over to files that were replaced
	// below directories that only the administrator can write to. Default: nothing.
	OnCarryOver func(u *host.Upstream, changes []string)
	// Tools returns the tools that an upstream has listed, nil if they are not known. Default: they are
	// not known.
	Tools func(context.Context, *host.Upstream) *Tools
}

// New returns the approvals in a store, which has to keep others from changing them.
func New(store mcp.Store, o Options) *Store {
	home, _ := os.UserHomeDir()
	return &Store{store: store, opts: o, home: home, adminOnly: isAdminOnly, checkLocal: userfile.CheckLocal}
}

func (s *Store) key(ctx context.Context) ([]byte, error) {
	key, err := s.opts.Key(ctx)
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	return key, nil
}

// Approval is a stored approval.
type Approval struct {
	Subject Subject   `json:"subject"`
	At      time.Time `json:"at"`
	// By says who gave it and how, such as "by the user".
	By string `json:"by"`
	// Proxies are the variables of the host with the URL of a proxy that the program gets although it
	// may have a user or password. Like those that every program gets, they are no part of the subject.
	Proxies []string `json:"proxies,omitempty"`

	stored []byte // the record
}

// List returns all approvals, by name.
func (s *Store) List(ctx context.Context) ([]Approval, error) {
	var all []Approval
	for key, err := range host.StoreKeys(ctx, s.store, Section+"/") {
		if err != nil {
			return nil, fmt.Errorf("approvals: %w", err)
		}
		a, err := s.get(ctx, key)
		if err != nil {
			return nil, err
		}
		if a != nil {
			all = append(all, *a)
		}
	}
	return all, nil
}

// Revoke deletes an approval. The server needs approval again, also as it was approved.
func (s *Store) Revoke(ctx context.Context, a *Approval) error {
	return s.delete(ctx, storeKey(a.Subject.Name, a.Subject.File))
}

// Forget deletes the approval of an upstream, also one that cannot be read.
func (s *Store) Forget(ctx context.Context, u *host.Upstream) error {
	return s.delete(ctx, storeKey(u.Key, u.Origin.File))
}

func (s *Store) delete(ctx context.Context, key string) error {
	if err := s.store.Delete(ctx, key); err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	return nil
}

// storeKey returns the key of the approval of a server.
func storeKey(name, file string) string {
	sum := sha256.Sum256([]byte(file))
	return Section + "/" + name + "/" + hex.EncodeToString(sum[:16])
}

// read returns the approval of an upstream, nil if there is none.
func (s *Store) read(ctx context.Context, u *host.Upstream) (*Approval, error) {
	a, err := s.get(ctx, storeKey(u.Key, u.Origin.File))
	if err != nil || a == nil {
		return nil, err
	}
	if a.Subject.Name != u.Key || a.Subject.File != u.Origin.File {
		return nil, fmt.Errorf("approvals: the record of %q is that of %q; run fondaco approvals revoke %s", u.Key, a.Subject.Name, u.Key)
	}
	return a, nil
}

func (s *Store) get(ctx context.Context, key string) (*Approval, error) {
	text, found, err := s.store.Get(ctx, key)
	switch {
	case err != nil:
		return nil, fmt.Errorf("approvals: %w", err)
	case !found:
		return nil, nil
	}
	a := new(Approval)
	if err = json.Unmarshal(text, a, json.RejectUnknownMembers(true)); err == nil {
		err = a.Subject.check()
	}
	if err != nil {
		return nil, fmt.Errorf("approvals: record %s: %w; revoke it to approve anew", key, err)
	}
	a.stored = text
	return a, nil
}

func (s *Store) write(ctx context.Context, u *host.Upstream, a *Approval) error {
	text, err := json.Marshal(a, json.Deterministic(true))
	if err == nil {
		err = s.store.Put(ctx, storeKey(u.Key, u.Origin.File), text, 0)
	}
	if err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	return nil
}
