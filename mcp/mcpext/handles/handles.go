// Package handles stores state between tool calls: one tool stores a value and returns
// its handle, and others have the handle as an argument.
//
// Spec: 2026-07-28 server/tools#stateful-tools
package handles

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// ErrUnknown means that a handle does not exist, has expired or was deleted, or belongs to
// another principal. A handle of this process is also deleted when Options.Max or
// mcpserver.LoadOptions.MaxKept is reached and another owner needs the room: then its owner
// had the most, and has used the others later. A tool may return ErrUnknown unchanged: it
// tells the model to make a new handle.
var ErrUnknown = errors.New("it does not exist or has expired; use an existing handle, or create a new one")

// ErrNoRoom means that New cannot make another handle now, or Update cannot store a larger
// value: the principal has Options.MaxPerPrincipal handles, or there are Options.Max in all
// and no other owner has more than this one. The bytes of the values count to what the server
// keeps for the owner (mcpserver.LoadOptions.MaxKept), which may be reached as well. An owner is an authenticated principal, or one connection or session
// of an anonymous or local user: two connections of one local user are two owners. They
// can use each other's handles nevertheless, because these belong to the user.
var ErrNoRoom = errors.New("too many handles are in use; delete some first")

// Handles stores values of type T between calls. One tool stores a value and returns its
// handle, and others have the handle as an argument. Make one with the function New. All
// methods are safe for concurrent use.
//
// A handle is a random name of at least 128 bits. Only the principal that made it can use
// it; for others it is the same as one that does not exist. Anonymous principals cannot
// be distinguished, so any of them that knows a handle can use it.
//
// Values are stored as JSON in the Store of the server whose call uses them, so every
// replica of the server finds them. Outside of a call they are stored in memory. Get
// returns a copy; only Update changes the stored value. What JSON does not encode, such
// as unexported fields, is not stored.
//
// Spec: 2026-07-28 server/tools#stateful-tools
type Handles[T any] struct {
	table table
}

// Options are the options of New. Nil means the defaults. The description of the tool
// that makes handles should say how long they are valid.
type Options struct {
	// Prefix is the beginning of every handle, such as "basket_", which shows people
	// and models what it is for: at most 64 bytes of printable ASCII. Two Handles of
	// one server need different prefixes.
	Prefix string
	// Idle is how long a handle is valid after its last use. It may be valid for up
	// to an eighth longer, because not every use writes to the Store. Default: 30
	// minutes.
	Idle time.Duration
	// MaxSize bounds one value, in bytes of JSON, at most 1,000,000. Default: 64 KiB.
	MaxSize int
	// Max bounds the handles of all principals that this process has made, without
	// those that it knows to be deleted or expired. mcpserver.LoadOptions.MaxKept bounds
	// their bytes. Default: 10,000.
	Max int
	// MaxPerPrincipal bounds the handles of one authenticated principal. Default:
	// 1,000.
	MaxPerPrincipal int
}

func (o *Options) prefix() string { return o.orZero().Prefix }

func (o *Options) idle() time.Duration { return cmp.Or(o.orZero().Idle, 30*time.Minute) }

func (o *Options) maxSize() int { return cmp.Or(o.orZero().MaxSize, 64<<10) }

func (o *Options) max() int { return cmp.Or(o.orZero().Max, 10_000) }

func (o *Options) maxPerPrincipal() int { return cmp.Or(o.orZero().MaxPerPrincipal, 1000) }

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

// Limits of keys and values of a Store, less what this package adds to them.
const (
	maxPrefix = 64
	maxSize   = 1_000_000
)

// New returns handles of values of type T. It copies the options. It panics if T cannot
// be encoded as JSON, or if Prefix or MaxSize is not within its limits.
func New[T any](o *Options) *Handles[T] {
	var zero T
	_, err := json.Marshal(zero)
	switch {
	case err != nil:
	case len(o.prefix()) > maxPrefix || !isPrintable(o.prefix()):
		err = fmt.Errorf("option Prefix %q: want at most %d bytes of printable ASCII", o.prefix(), maxPrefix)
	case o.maxSize() > maxSize:
		err = fmt.Errorf("option MaxSize %d: want at most %d", o.maxSize(), maxSize)
	}
	if err != nil {
		panic(fmt.Sprintf("handles.New: %v", err))
	}
	return &Handles[T]{table: table{options: new(*o.orZero())}}
}

// New stores a value for the principal of ctx and returns its handle. If there are too
// many handles, the error is ErrNoRoom; errors of the Store are returned, too.
func (h *Handles[T]) New(ctx context.Context, value T) (handle string, err error) {
	data, err := h.table.encode(value)
	if err == nil {
		handle, err = h.table.add(ctx, data)
	}
	if errors.Is(err, ErrNoRoom) {
		mcpserver.From(ctx).ReportLimit(mcp.LimitHandles)
	}
	if err != nil {
		return "", fmt.Errorf("new handle: %w", err)
	}
	return handle, nil
}

// Get returns a copy of the value of a handle. If there is no such handle, the error is
// ErrUnknown.
func (h *Handles[T]) Get(ctx context.Context, handle string) (T, error) {
	value, _, err := h.load(ctx, handle)
	return value, err
}

// Update changes the value of a handle and returns the new value. It calls change with a
// copy to modify. If change returns an error, the stored value does not change, and
// Update returns that error. Updates of one handle are atomic: if another update was
// faster, change runs again with a newer copy, so it must have no other effects. If there
// is no such handle, the error is ErrUnknown; if ctx ends, it is the cause of ctx.
func (h *Handles[T]) Update(ctx context.Context, handle string, change func(value *T) error) (T, error) {
	for {
		value, old, err := h.load(ctx, handle)
		if err == nil {
			err = change(&value)
		}
		var stored bool
		if err == nil {
			stored, err = h.store(ctx, handle, value, old)
		}
		if err != nil {
			return *new(T), err
		}
		if stored {
			return value, nil
		}
	}
}

// load returns a copy of the value of a handle, and its entry in the Store.
func (h *Handles[T]) load(ctx context.Context, handle string) (value T, raw []byte, err error) {
	e, raw, err := h.table.get(ctx, handle)
	if err == nil {
		err = json.Unmarshal(e.Value, &value)
	}
	return value, raw, aboutHandle(handle, err)
}

// store replaces the value of a handle. It returns false if the entry in the Store is no
// longer old.
func (h *Handles[T]) store(ctx context.Context, handle string, value T, old []byte) (stored bool, err error) {
	data, err := h.table.encode(value)
	if err == nil {
		stored, err = h.table.swap(ctx, handle, old, data)
	}
	return stored, aboutHandle(handle, err)
}

// Delete deletes a handle and returns its last value. If there is no such handle, the
// error is ErrUnknown; of several concurrent calls, one succeeds.
func (h *Handles[T]) Delete(ctx context.Context, handle string) (value T, err error) {
	data, err := h.table.remove(ctx, handle)
	if err == nil {
		err = json.Unmarshal(data, &value)
	}
	return value, aboutHandle(handle, err)
}

func aboutHandle(handle string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("handle %.64q: %w", handle, err)
}

// table is the part of Handles that does not depend on the type.
type table struct {
	options *Options
	outside mcpserver.MemoryStore // for contexts without a call
	count   counter
}

// entry is a value in the Store. One without an owner is deleted.
type entry struct {
	Owner string         `json:"owner"`
	Used  time.Time      `json:"used"` // at the last write
	Value jsontext.Value `json:"value"`
}

// keyPrefix is the prefix of keys in the Store.
const keyPrefix = "handle."

func (t *table) storeOf(ctx context.Context) mcp.Store {
	if store := mcpserver.From(ctx).Store(); store != nil {
		return store
	}
	return &t.outside
}

// ownerOf returns the principal of ctx in the form in which it is stored.
func ownerOf(ctx context.Context) string {
	sum := sha256.Sum256([]byte(mcpserver.From(ctx).Principal().String()))
	return hex.EncodeToString(sum[:16])
}

func (t *table) encode(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if maxSize := t.options.maxSize(); len(data) > maxSize {
		return nil, fmt.Errorf("the value has %d bytes of JSON, want at most %d", len(data), maxSize)
	}
	return data, nil
}

// entry returns the encoded entry for a value of the principal of ctx.
func (t *table) entry(ctx context.Context, data []byte) ([]byte, error) {
	return json.Marshal(entry{Owner: ownerOf(ctx), Used: time.Now(), Value: data})
}

// ttl is the time to live of an entry in the Store. It includes renewal, because a use
// within that time after the last write does not write again.
func (t *table) ttl() time.Duration { return t.options.idle() + t.renewal() }

// renewal is the age at which a use writes an entry again.
func (t *table) renewal() time.Duration { return t.options.idle() / 8 }

func (t *table) add(ctx context.Context, data []byte) (string, error) {
	name := t.options.prefix() + rand.Text()
	if !t.count.add(ctx, name, t.storeOf(ctx), len(data), t.options) {
		return "", ErrNoRoom
	}
	t.deleteEvicted(ctx)
	raw, err := t.entry(ctx, data)
	made := false
	if err == nil {
		made, err = t.storeOf(ctx).Create(ctx, keyPrefix+name, raw, t.ttl())
	}
	if err == nil && !made {
		err = errors.New("the name is taken")
	}
	if err != nil {
		t.count.remove(name)
		return "", err
	}
	if !t.count.has(name) { // it was evicted meanwhile, and perhaps deleted before it was there
		_ = t.storeOf(ctx).Delete(ctx, keyPrefix+name)
		return "", ErrNoRoom
	}
	return name, nil
}

// deleteEvicted deletes the handles that made room for others.
func (t *table) deleteEvicted(ctx context.Context) {
	for _, u := range t.count.takeEvicted() {
		_ = u.store.Delete(ctx, keyPrefix+u.name) // otherwise it stays until it expires
	}
}

// get returns the entry of a handle and its encoded form, and counts as a use.
func (t *table) get(ctx context.Context, name string) (e entry, raw []byte, err error) {
	e, raw, err = t.find(ctx, name)
	if err != nil || time.Since(e.Used) < t.renewal() {
		return e, raw, err
	}
	renewed, err := t.entry(ctx, e.Value)
	if err != nil {
		return e, nil, err
	}
	swapped, err := t.storeOf(ctx).Swap(ctx, keyPrefix+name, raw, renewed, t.ttl())
	if err != nil {
		return e, nil, err
	}
	if swapped {
		raw = renewed
	}
	return e, raw, nil
}

// find returns the entry of a handle if it belongs to the principal.
func (t *table) find(ctx context.Context, name string) (e entry, raw []byte, err error) {
	if ctx.Err() != nil {
		return e, nil, context.Cause(ctx)
	}
	random, ok := strings.CutPrefix(name, t.options.prefix())
	if !ok || len(random) != len(rand.Text()) || !isPrintable(random) {
		return e, nil, ErrUnknown
	}
	raw, found, err := t.storeOf(ctx).Get(ctx, keyPrefix+name)
	if err != nil {
		return e, nil, err
	}
	if !found || json.Unmarshal(raw, &e) != nil || e.Owner != ownerOf(ctx) {
		return entry{}, nil, ErrUnknown
	}
	t.count.use(name)
	return e, raw, nil
}

// swap replaces the value of a handle whose entry is old.
func (t *table) swap(ctx context.Context, name string, old, data []byte) (bool, error) {
	if _, _, err := t.find(ctx, name); err != nil {
		return false, err
	}
	raw, err := t.entry(ctx, data)
	if err != nil {
		return false, err
	}
	if !t.count.resize(name, len(data)) {
		return false, ErrNoRoom
	}
	t.deleteEvicted(ctx)
	return t.storeOf(ctx).Swap(ctx, keyPrefix+name, old, raw, t.ttl())
}

// remove deletes a handle and returns its last value. It removes the owner from the entry
// by compare-and-swap before it deletes the entry, because Store.Delete does not report
// which of several callers has deleted it.
func (t *table) remove(ctx context.Context, name string) (data []byte, err error) {
	for {
		e, raw, err := t.find(ctx, name)
		if err != nil {
			return nil, err
		}
		store := t.storeOf(ctx)
		switch swapped, err := store.Swap(ctx, keyPrefix+name, raw, []byte("{}"), t.ttl()); {
		case err != nil:
			return nil, err
		case swapped:
			t.count.remove(name)
			return e.Value, store.Delete(ctx, keyPrefix+name)
		}
	}
}

// isPrintable reports whether a text may be part of a key in a Store.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// counter counts the handles that this process has made, by owner, and their bytes among those
// that the server keeps. They count as idle all the time, so an owner that has to make room
// loses the handle that it has not used for longest. It is safe for concurrent use.
type counter struct {
	once sync.Once
	pool *limit.Pool // made by once

	mu      sync.Mutex
	byName  map[string]*list.Element // guarded by mu
	byUse   list.List                // guarded by mu: of *use, the longest unused first
	evicted []*use                   // guarded by mu: evicted, but still in their Store
}

// use is a counted handle: its Store, and the time until which it counts.
type use struct {
	name    string
	store   mcp.Store
	place   *limit.Place // of the handle
	bytes   *limit.Place // of its value
	idle    time.Duration
	expires time.Time

	resizing sync.Mutex
	size     int // guarded by resizing: the most bytes that the value has had
}

// overhead is about how many bytes a handle takes besides its value.
const overhead = 1 << 10

// add counts a handle for the owner of ctx, with a value of that many bytes. It returns false if
// there are too many. It may evict handles of others, which takeEvicted returns.
func (c *counter) add(ctx context.Context, name string, store mcp.Store, size int, o *Options) bool {
	c.once.Do(func() {
		c.pool = limit.NewPool(limit.PoolBounds{Total: int64(o.max()), Principal: int64(o.maxPerPrincipal()), RenewIdle: true})
	})
	u := &use{name: name, store: store, size: size, idle: o.idle(), expires: time.Now().Add(o.idle())}
	c.enter(u)
	owner, evict := limit.OwnerFrom(ctx), func() { c.evict(u) }
	place, err := c.pool.Take(owner, 1, evict)
	var bytes *limit.Place
	if err == nil {
		bytes, err = limit.KeptFrom(ctx).Take(owner, size+overhead, evict)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.place, u.bytes = place, bytes
	if err != nil || c.byName[name] == nil { // it may have been evicted meanwhile
		c.removeLocked(name)
		place.Release()
		bytes.Release()
		return false
	}
	u.setIdle()
	return true
}

// setIdle says that the handle was used now, and is not in use any more.
func (u *use) setIdle() {
	u.place.SetIdle(true)
	u.bytes.SetIdle(true)
}

// resize counts another number of bytes for the value of a handle, if it is counted. It returns
// false if there is no room.
func (c *counter) resize(name string, size int) bool {
	c.mu.Lock()
	e := c.byName[name]
	c.mu.Unlock()
	if e == nil {
		return true
	}
	u := e.Value.(*use)
	u.resizing.Lock()
	defer u.resizing.Unlock()
	if size > u.size && u.bytes.Resize(size+overhead) != nil {
		return false
	}
	u.size = max(u.size, size)
	return true
}

func (c *counter) enter(u *use) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expireLocked()
	if c.byName == nil {
		c.byName = make(map[string]*list.Element)
	}
	c.byName[u.name] = c.byUse.PushBack(u)
}

// evict stops counting a handle to make room for another. A MemoryStore, where it takes that
// room, loses it at once; another Store may be slow, and loses it with the next handle.
func (c *counter) evict(u *use) {
	if m, ok := u.store.(*mcpserver.MemoryStore); ok {
		_ = m.Delete(context.Background(), keyPrefix+u.name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(u.name)
	c.evicted = append(c.evicted, u)
}

// has reports whether a handle is counted.
func (c *counter) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byName[name] != nil
}

// takeEvicted returns the evicted handles, which its caller must delete.
func (c *counter) takeEvicted() []*use {
	c.mu.Lock()
	defer c.mu.Unlock()
	evicted := c.evicted
	c.evicted = nil
	return evicted
}

// use records the use of a handle, if it is counted.
func (c *counter) use(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byName[name]; e != nil {
		u := e.Value.(*use)
		u.expires = time.Now().Add(u.idle)
		u.setIdle()
		c.byUse.MoveToBack(e)
	}
}

// remove stops counting a handle.
func (c *counter) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(name)
}

func (c *counter) removeLocked(name string) {
	if e := c.byName[name]; e != nil {
		delete(c.byName, name)
		u := c.byUse.Remove(e).(*use)
		u.place.Release()
		u.bytes.Release()
	}
}

// expireLocked stops counting the handles that have expired.
func (c *counter) expireLocked() {
	now := time.Now()
	for e := c.byUse.Front(); e != nil && !now.Before(e.Value.(*use).expires); e = c.byUse.Front() {
		c.removeLocked(e.Value.(*use).name)
	}
}
