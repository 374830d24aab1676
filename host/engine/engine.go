// Package engine opens the store of a host: what is kept besides the memory of its process.
//
//	nats://HOST, tls://HOST    NATS with JetStream
//	redis://HOST, rediss://HOST  Redis, with TLS
//	postgres://HOST/DATABASE   PostgreSQL
//	file:PATH                  a file of one process
package engine

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store"
	"github.com/fondaco/fondaco/mcp/store/boltstore"
	"github.com/fondaco/fondaco/mcp/store/natsstore"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

// Engine is an open store. It is safe for concurrent use.
type Engine struct {
	// Bus carries messages to the hosts that use the engine. They are not encrypted.
	Bus mcp.Bus
	// Events has the events of streams that clients can resume. They are encrypted.
	Events mcp.EventStore

	values mcp.Store
	keys   []mcpserver.Key
	closer io.Closer
}

// backend is what each engine is.
type backend interface {
	mcp.Store
	mcp.Bus
	io.Closer
	Events() mcp.EventStore
}

// Open opens the store at an address. The first key encrypts values, all of them decrypt.
// Errors name the address without its password. The caller has to call Close.
func Open(ctx context.Context, address string, keys []mcpserver.Key, log *slog.Logger) (*Engine, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("open store: found no keys, want at least one")
	}
	scheme, _, found := strings.Cut(address, ":")
	open := openers[scheme]
	if !found || open == nil {
		return nil, fmt.Errorf("open store: found no known scheme, want nats://, redis://, postgres:// or file:PATH")
	}
	b, err := open(ctx, address, log)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %s", Redacted(address), withoutPassword(err.Error(), address))
	}
	e := &Engine{Bus: b, values: b, keys: keys, closer: b}
	if e.Events, err = store.SealedEvents(b.Events(), e.derived("events")...); err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("open store: %w", err)
	}
	return e, nil
}

const fileScheme = "file"

// IsShared reports whether several hosts can use the store at an address.
func IsShared(address string) bool {
	return address != "" && !strings.HasPrefix(address, fileScheme+":")
}

var openers = map[string]func(context.Context, string, *slog.Logger) (backend, error){
	"nats": openNATS, "tls": openNATS, "redis": openRedis, "rediss": openRedis,
	"postgres": openPostgres, "postgresql": openPostgres, fileScheme: openFile,
}

func openNATS(ctx context.Context, address string, log *slog.Logger) (backend, error) {
	return opened(natsstore.Open(ctx, address, &natsstore.Options{Logger: log}))
}

func openRedis(ctx context.Context, address string, log *slog.Logger) (backend, error) {
	return opened(redisstore.Open(ctx, address, &redisstore.Options{Logger: log}))
}

func openPostgres(ctx context.Context, address string, log *slog.Logger) (backend, error) {
	return opened(pgstore.Open(ctx, address, &pgstore.Options{Logger: log}))
}

func openFile(ctx context.Context, address string, log *slog.Logger) (backend, error) {
	return opened(boltstore.Open(ctx, strings.TrimPrefix(address, fileScheme+":"), &boltstore.Options{Logger: log}))
}

// opened keeps a nil pointer out of the interface.
func opened[B backend](b B, err error) (backend, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Redacted returns an address without users, passwords and parameters. Of several hosts it has the
// last one.
func Redacted(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return address // the path of a file
	}
	place, _, _ := strings.Cut(rest, "?")
	last := strings.LastIndex(place, "@")
	if last < 0 && strings.Contains(rest, "@") {
		return scheme + "://"
	}
	return scheme + "://" + place[last+1:]
}

// withoutPassword removes the passwords of an address from the text of an error.
func withoutPassword(text, address string) string {
	text = strings.ReplaceAll(text, address, Redacted(address))
	_, rest, _ := strings.Cut(address, "://")
	for part := range strings.SplitSeq(rest, ",") {
		user := part[:max(0, strings.LastIndex(part, "@"))]
		if _, password, _ := strings.Cut(user, ":"); password != "" {
			text = strings.ReplaceAll(text, password, "xxxxx")
		}
	}
	if u, err := url.Parse(address); err == nil {
		if password, _ := u.User.Password(); password != "" {
			text = strings.ReplaceAll(text, password, "xxxxx")
		}
	}
	return text
}

// Part returns the values of one part of the host. They are encrypted with keys of their own, so
// that no value can be moved to another part.
func (e *Engine) Part(name string) (mcp.Store, error) {
	return store.Sealed(store.Prefixed(e.values, "host/"+name+"/"), e.derived(name)...)
}

// Wrap replaces the store and the bus of the engine by what the functions return, to measure them for instance.
// It must be called before Part, and before Bus is used.
func (e *Engine) Wrap(values func(mcp.Store) mcp.Store, bus func(mcp.Bus) mcp.Bus) {
	e.values, e.Bus = values(e.values), bus(e.Bus)
}

// derived returns the keys of one part.
func (e *Engine) derived(name string) []mcpserver.Key {
	keys := make([]mcpserver.Key, len(e.keys))
	for i, k := range e.keys {
		keys[i] = mcpserver.Key{ID: k.ID, Secret: derive(k.Secret, "fondaco host "+name)}
	}
	return keys
}

// derive returns a key for one purpose.
func derive(secret []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, sha256.Size)
	if err != nil {
		panic(fmt.Sprintf("engine: %v", err)) // cannot happen: the size is fixed
	}
	return key
}

// Close closes the engine. It waits until functions that subscribers of Bus run have returned.
func (e *Engine) Close() error { return e.closer.Close() }

// Secrets returns keys for one purpose, one for each key of the host and in the same order.
func (e *Engine) Secrets(purpose string) [][]byte {
	secrets := make([][]byte, len(e.keys))
	for i, k := range e.keys {
		secrets[i] = derive(k.Secret, "fondaco host secret "+purpose)
	}
	return secrets
}
