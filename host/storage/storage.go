// Package storage opens what a host and its commands keep for their user: decisions, tokens of sign-ins and the audit
// log. They are in the directory for state, encrypted with the key of the user, or in the store that several hosts
// share.
package storage

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/engine"
	"github.com/fondaco/fondaco/host/policy"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/host/userkey"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Options of a Storage. Those that are not optional are required.
type Options struct {
	// Env looks up a variable, as os.LookupEnv does.
	Env config.Env
	// Address is that of the store that hosts share. Default: that of the variable AddressVariable, if any.
	Address string
	// Keys returns the keys that encrypt what is in that store, none if there are none.
	Keys func() ([]mcpserver.Key, error)
	// Policy is the managed policy, which can require more of the audit log than its settings. Nil: none.
	Policy *policy.Policy
	// Message shows a text to the user.
	Message func(format string, args ...any)
	Logger  *slog.Logger
}

// SettingsError is an error in the configuration or the environment: what they say cannot be opened.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }
func (e *SettingsError) Unwrap() error { return e.Err }

// Storage opens each part when it is first used, until Close. Its methods are called one at a time, but for AuditFile,
// VerifyAudit and the function of Watch.
type Storage struct {
	opts    Options
	engine  *engine.Engine // nil before the first use of Engine, and without a store
	shared  *state.Shared  // nil before the first use of sharedState
	closers []func()

	mu  sync.Mutex
	key *userkey.Source // guarded by mu: nil before the first use of userKey
}

// New returns a storage. Nothing is opened yet.
func New(o Options) *Storage { return &Storage{opts: o} }

// Close closes what was opened, in the opposite order.
func (s *Storage) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}

func (s *Storage) onClose(f func()) { s.closers = append(s.closers, f) }

// userKey returns the source of the user's key, which encrypts what is in the directory for
// state.
func (s *Storage) userKey(dir string) *userkey.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == nil {
		s.key = userkey.Open(dir, &userkey.Options{
			Env: s.opts.Env,
			OnKeyFile: func(path string) {
				s.opts.Message("there is no keyring: your key is in %s; programs that can read your files can use your tokens and approve for you", path)
			},
		})
	}
	return s.key
}

// derivedKey returns the function that finds the key for one purpose.
func (s *Storage) derivedKey(dir, purpose string) func(context.Context) ([]byte, error) {
	source := s.userKey(dir)
	return func(ctx context.Context) ([]byte, error) {
		key, err := source.Key(ctx)
		if err != nil {
			return nil, err
		}
		return userkey.Derive(key, purpose), nil
	}
}

// State holds what the user has decided.
type State interface {
	mcp.Store
	// Version returns another text whenever an entry of a section was written or deleted.
	Version(section string) string
}

// State returns the store of what the user has decided: what several hosts share, or the
// directory for state.
func (s *Storage) State() (State, error) {
	if shared, err := s.sharedState(); err != nil {
		return nil, err
	} else if shared != nil {
		return shared, nil
	}
	dir, err := Dir(s.opts.Env)
	if err != nil {
		return nil, err
	}
	return s.localState(dir), nil
}

// localState returns the store in the directory for state.
func (s *Storage) localState(dir string) *state.Store {
	return state.Open(filepath.Join(dir, "state"), s.userKey(dir).Key)
}

// Tokens returns the store of the user's tokens for servers.
func (s *Storage) Tokens() (*signin.TokenStore, error) {
	if shared, err := s.sharedState(); err != nil {
		return nil, err
	} else if shared != nil {
		return signin.Open("", &signin.Options{Shared: shared, Logger: s.opts.Logger}), nil
	}
	dir, err := Dir(s.opts.Env)
	if err != nil {
		return nil, err
	}
	return signin.Open(dir, &signin.Options{Key: s.userKey(dir).Key, Logger: s.opts.Logger}), nil
}

// Dir returns the directory for state of the user: that of the XDG Base Directory
// Specification, or of Windows. It need not exist.
func Dir(env config.Env) (string, error) {
	for _, place := range []struct{ variable, below string }{
		{"XDG_STATE_HOME", ""}, {"LOCALAPPDATA", ""}, {"HOME", filepath.Join(".local", "state")}, {"USERPROFILE", filepath.Join(".local", "state")},
	} {
		if dir, _ := env(place.variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, place.below, "fondaco"), nil
		}
	}
	return "", fmt.Errorf("no directory for approvals: set $HOME or $XDG_STATE_HOME")
}
