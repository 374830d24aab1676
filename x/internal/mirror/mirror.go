// Package mirror registers the features of a server of another SDK in a server of this one,
// and forwards the requests for them. It knows no SDK: a package for one implements Foreign.
package mirror

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Foreign is a server of another SDK. It is safe for concurrent use.
type Foreign interface {
	// Do sends a request to the foreign server and returns the result. If CallFrom(ctx) is not
	// nil, the request belongs to that call and may use its session and its client; otherwise
	// it is the mirror's own. An error response is an *mcp.Error.
	Do(ctx context.Context, method string, params any) (jsontext.Value, error)
}

// Mirror keeps the features of a foreign server registered in a server. All methods are safe
// for concurrent use.
type Mirror struct {
	server  *mcpserver.Server
	foreign Foreign
	// Options are those of every feature.
	Options []mcpserver.Option
	// Completes forwards completions, Subscribes subscriptions to resources. Both are set
	// before the first Sync.
	Completes, Subscribes bool
	// InputRequired gives the foreign handlers the answers to the questions that they have
	// returned (input_required). It is set before the first Sync.
	InputRequired bool

	mu         sync.Mutex
	registered map[string]map[string]string // method of a list → key of a feature → definition; guarded by mu
}

// New returns a mirror that has registered nothing.
func New(server *mcpserver.Server, foreign Foreign) *Mirror {
	return &Mirror{server: server, foreign: foreign, registered: make(map[string]map[string]string)}
}

// Sync registers what the foreign server lists, and removes what it no longer lists. A
// feature that cannot be registered is left out and part of the error.
func (m *Mirror) Sync(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for i := range lists {
		l := &lists[i]
		listed, err := m.list(ctx, l)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l.method, err))
			continue
		}
		m.server.BatchChanges(func() { errs = append(errs, m.replaceLocked(l, listed)) })
	}
	return errors.Join(errs...)
}

// Remove removes every feature that Sync has registered.
func (m *Mirror) Remove() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server.BatchChanges(func() {
		for i := range lists {
			_ = m.replaceLocked(&lists[i], nil)
		}
	})
}

// replaceLocked makes the registered features of a list those that are listed.
func (m *Mirror) replaceLocked(l *list, listed []jsontext.Value) error {
	var errs []error
	before, now := m.registered[l.method], make(map[string]string, len(listed))
	for _, def := range listed {
		key, err := l.keyOf(def)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		text, known := before[key]
		if known && text == string(def) {
			now[key] = text
			continue
		}
		if err := l.register(m, def, known); err != nil {
			errs = append(errs, fmt.Errorf("%s: %q: %w", l.method, key, err))
			continue
		}
		now[key] = string(def)
	}
	for key := range before {
		if _, kept := now[key]; !kept {
			l.remove(m.server, key)
		}
	}
	m.registered[l.method] = now
	return errors.Join(errs...)
}

// maxPages is how many pages of one list a mirror reads.
const maxPages = 1000

// list returns all entries of a list. A server without the feature has none.
func (m *Mirror) list(ctx context.Context, l *list) (all []jsontext.Value, err error) {
	var p mcp.ListParams
	for range maxPages {
		raw, err := m.foreign.Do(ctx, l.method, &p)
		if mcp.CodeOf(err) == mcp.CodeMethodNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		page, next, err := l.page(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		p.Cursor = &next
	}
	return nil, fmt.Errorf("more than %d pages", maxPages)
}
