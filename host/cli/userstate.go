package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/host/userkey"
	"github.com/fondaco/fondaco/mcp"
)

// userKey returns the source of the user's key, which encrypts what is in the directory for
// state.
func (m *Main) userKey(dir string) *userkey.Source {
	if m.key == nil {
		m.key = userkey.Open(dir, &userkey.Options{
			Env: m.Getenv,
			OnKeyFile: func(path string) {
				m.Message("there is no keyring: your key is in %s; programs that can read your files can use your tokens and approve for you", path)
			},
		})
	}
	return m.key
}

// derivedKey returns the function that finds the key for one purpose.
func (m *Main) derivedKey(dir, purpose string) func(context.Context) ([]byte, error) {
	source := m.userKey(dir)
	return func(ctx context.Context) ([]byte, error) {
		key, err := source.Key(ctx)
		if err != nil {
			return nil, err
		}
		return userkey.Derive(key, purpose), nil
	}
}

// stateStore holds what the user has decided.
type stateStore interface {
	mcp.Store
	// Version changes whenever an entry of a section was written or deleted.
	Version(section string) string
}

// userState returns the store of what the user has decided: what several hosts share, or the
// directory for state.
func (m *Main) userState() (stateStore, error) {
	if shared, err := m.sharedState(); err != nil {
		return nil, err
	} else if shared != nil {
		return shared, nil
	}
	dir, err := stateDir(m.Getenv)
	if err != nil {
		return nil, err
	}
	return m.localState(dir), nil
}

// localState returns the store in the directory for state.
func (m *Main) localState(dir string) *state.Store {
	return state.Open(filepath.Join(dir, "state"), m.userKey(dir).Key)
}

// stateDir returns the directory for state of the user: that of the XDG Base Directory
// Specification, or of Windows.
func stateDir(env config.Env) (string, error) {
	for _, place := range []struct{ variable, below string }{
		{"XDG_STATE_HOME", ""}, {"LOCALAPPDATA", ""}, {"HOME", filepath.Join(".local", "state")}, {"USERPROFILE", filepath.Join(".local", "state")},
	} {
		if dir, _ := env(place.variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, place.below, "fondaco"), nil
		}
	}
	return "", fmt.Errorf("no directory for approvals: set $HOME or $XDG_STATE_HOME")
}
