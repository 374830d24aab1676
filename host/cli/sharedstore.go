package cli

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
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/revocation"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/host/userkey"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// storeVariable names the store of the hosts for all commands.
	storeVariable = "FONDACO_STORE"
	// openTimeout is how long the store may take to be opened or to answer at the start.
	openTimeout = 10 * time.Second
)

// openEngine returns the store that --store or the environment names, or nil without one.
func (m *Main) openEngine() (*engine.Engine, error) {
	fromEnv, _ := m.Getenv(storeVariable)
	address := cmp.Or(m.storeURL, fromEnv)
	if address == "" || m.engine != nil {
		return m.engine, nil
	}
	keys, err := m.sharedKeys()
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, usagef("a store needs the variable %s, which has the keys that encrypt what is in it: want 32 random bytes in base64, as \"openssl rand -base64 32\" prints them", mcpserver.KeysVariable)
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	e, err := engine.Open(ctx, address, keys, m.logger())
	if err != nil {
		return nil, err
	}
	m.engine = e
	m.onClose(func() { _ = e.Close() })
	return e, nil
}

// sharedState returns what several hosts share, or nil if they share nothing. What is in the file
// of one process is not shared: other commands could not read it while the host runs.
func (m *Main) sharedState() (*state.Shared, error) {
	fromEnv, _ := m.Getenv(storeVariable)
	if m.shared != nil || !engine.IsShared(cmp.Or(m.storeURL, fromEnv)) {
		return m.shared, nil
	}
	e, err := m.openEngine()
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
	s := state.Share(values, marks, e.Bus, approval.Section, definition.Section, definition.WaitingSection, revocation.Section, signin.Section)
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	if err := s.Refresh(ctx); err != nil {
		return nil, err
	}
	m.shared = s
	return s, nil
}

// approvalKey returns the function that finds the key of the digests in approvals. Hosts that share
// approvals share the key, which was made once and does not change with those of the store.
func (m *Main) approvalKey() (func(context.Context) ([]byte, error), error) {
	shared, err := m.sharedState()
	if err != nil {
		return nil, err
	}
	if shared != nil {
		return func(ctx context.Context) ([]byte, error) { return sharedSecret(ctx, shared, "approvals") }, nil
	}
	dir, err := stateDir(m.Getenv)
	if err != nil {
		return nil, err
	}
	return m.derivedKey(dir, "approvals"), nil
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

// watchShared keeps known which parts of the shared state have changed, until stop is called.
func (m *Main) watchShared(ctx context.Context) (stop func()) {
	if m.shared == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.shared.Watch(ctx, func(err error) {
			if err != nil {
				m.Message("the store does not answer; what is approved and revoked elsewhere is not known here until it does: %s", terminal.Clean(err.Error()))
				return
			}
			m.Message("the store answers again")
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}

// useEngine makes the gateway keep sessions and their events in the store of the host, if there is one.
func (h *hostProcess) useEngine(o *gateway.Options) (err error) {
	if h.engine == nil {
		return nil
	}
	if o.Store, err = h.engine.Part("server"); err != nil {
		return err
	}
	if o.HTTP == nil {
		o.HTTP = new(mcpserver.HTTPOptions)
	}
	o.Bus, o.HTTP.Events = h.engine.Bus, h.engine.Events
	return nil
}
