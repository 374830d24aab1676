package storage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/engine"
	"github.com/fondaco/fondaco/host/revocation"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/host/userkey"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// AddressVariable names the store of the hosts for all commands.
	AddressVariable = "FONDACO_STORE"
	// openTimeout is how long the store may take to be opened or to answer at the start.
	openTimeout = 10 * time.Second
)

// Engine returns the store that the options or the environment name, or nil without one.
func (s *Storage) Engine() (*engine.Engine, error) {
	fromEnv, _ := s.opts.Env(AddressVariable)
	address := cmp.Or(s.opts.Address, fromEnv)
	if address == "" || s.engine != nil {
		return s.engine, nil
	}
	keys, err := s.opts.Keys()
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, &SettingsError{fmt.Errorf("a store needs the variable %s, which has the keys that encrypt what is in it: want 32 random bytes in base64, as \"openssl rand -base64 32\" prints them", mcpserver.KeysVariable)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	e, err := engine.Open(ctx, address, keys, s.opts.Logger)
	if err != nil {
		return nil, err
	}
	s.engine = e
	s.onClose(func() { _ = e.Close() })
	return e, nil
}

// sharedState returns what several hosts share, or nil if they share nothing. What is in the file
// of one process is not shared: other commands could not read it while the host runs.
func (s *Storage) sharedState() (*state.Shared, error) {
	fromEnv, _ := s.opts.Env(AddressVariable)
	if s.shared != nil || !engine.IsShared(cmp.Or(s.opts.Address, fromEnv)) {
		return s.shared, nil
	}
	e, err := s.Engine()
	if err != nil {
		return nil, err
	}
	values, err := e.Part("state")
	if err != nil {
		return nil, err
	}
	marks, err := e.Part("changes")
	if err != nil {
		return nil, err
	}
	shared := state.Share(values, marks, e.Bus, approval.Section, definition.Section, definition.WaitingSection, revocation.Section, signin.Section)
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	if err := shared.Refresh(ctx); err != nil {
		return nil, err
	}
	s.shared = shared
	return shared, nil
}

// ApprovalKey returns the function that finds the key of the digests in approvals. Hosts that share
// approvals share the key, which was made once and does not change with those of the store.
func (s *Storage) ApprovalKey() (func(context.Context) ([]byte, error), error) {
	shared, err := s.sharedState()
	if err != nil {
		return nil, err
	}
	if shared != nil {
		return func(ctx context.Context) ([]byte, error) { return sharedSecret(ctx, shared, "approvals") }, nil
	}
	dir, err := Dir(s.opts.Env)
	if err != nil {
		return nil, err
	}
	return s.derivedKey(dir, "approvals"), nil
}

// sharedSecret returns the secret of the hosts for a purpose. The first of them that needs it makes it.
func sharedSecret(ctx context.Context, s *state.Shared, purpose string) ([]byte, error) {
	key := "secrets/" + purpose
	for range 2 {
		secret, found, err := s.Get(ctx, key)
		switch {
		case err != nil:
			return nil, err
		case found && len(secret) == userkey.Size:
			return secret, nil
		case found:
			return nil, fmt.Errorf("%s: found %d bytes, want %d", key, len(secret), userkey.Size)
		}
		secret = make([]byte, userkey.Size)
		_, _ = rand.Read(secret) // never fails
		if _, err := s.Create(ctx, key, secret, 0); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("store: a value that was just written is gone")
}

// IsShared reports whether several hosts share what is kept. It is known once the state was opened.
func (s *Storage) IsShared() bool { return s.shared != nil }

// Watch keeps known which parts of the shared state have changed, until stop is called.
func (s *Storage) Watch(ctx context.Context) (stop func()) {
	if s.shared == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.shared.Watch(ctx, func(err error) {
			if err != nil {
				s.opts.Message("the store does not answer; what is approved and revoked elsewhere is not known here until it does: %s", terminal.Clean(err.Error()))
				return
			}
			s.opts.Message("the store answers again")
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}
