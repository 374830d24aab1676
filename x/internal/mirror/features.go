package mirror

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"sync"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// features are the features of a foreign server that are registered in a server. All methods
// are safe for concurrent use.
type features struct {
	server *mcpserver.Server
	bridge *bridge

	mu         sync.Mutex
	registered map[string]map[string]string // method of a list → key of a feature → definition; guarded by mu
}

func newFeatures(server *mcpserver.Server, b *bridge) *features {
	return &features{server: server, bridge: b, registered: make(map[string]map[string]string)}
}

// sync registers what the foreign server lists, and removes what it no longer lists. A
// feature that cannot be registered is left out and part of the error.
func (f *features) sync(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for i := range lists {
		l := &lists[i]
		listed, err := l.read(ctx, f.bridge)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l.method, err))
			continue
		}
		f.server.BatchChanges(func() { errs = append(errs, f.replaceLocked(l, listed)) })
	}
	return errors.Join(errs...)
}

// remove removes every feature that sync has registered.
func (f *features) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.server.BatchChanges(func() {
		for i := range lists {
			_ = f.replaceLocked(&lists[i], nil)
		}
	})
}

// replaceLocked makes the registered features of a list those that are listed.
func (f *features) replaceLocked(l *list, listed []jsontext.Value) error {
	var errs []error
	before, now := f.registered[l.method], make(map[string]string, len(listed))
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
		if err := l.register(f, def, known); err != nil {
			errs = append(errs, fmt.Errorf("%s: %q: %w", l.method, key, err))
			continue
		}
		now[key] = string(def)
	}
	for key := range before {
		if _, kept := now[key]; !kept {
			l.remove(f.server, key)
		}
	}
	f.registered[l.method] = now
	return errors.Join(errs...)
}
