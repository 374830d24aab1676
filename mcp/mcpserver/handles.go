package mcpserver

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"encoding/json/v2"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// ErrUnknownHandle reports a handle that was never made, has expired or was
// deleted, or belongs to somebody else. A tool may return it as it is: it tells the
// model to make a new one.
var ErrUnknownHandle = errors.New("unknown or expired; want one that is in use, or make a new one")

// ErrNoRoom reports that no further handle can be made now.
var ErrNoRoom = errors.New("too many are in use; want some deleted first")

// Handles keeps state between calls, because the protocol does not: one tool makes
// a value and returns its handle, others take the handle as an argument. Make one
// with NewHandles; all methods are safe for concurrent use.
//
// A handle is a random name of at least 128 bits. It is valid for the principal
// that made it and for no other, who cannot tell it from one that does not exist.
// Principals that nobody authenticated are not told apart: for them, to know the
// handle is to own it.
//
// Values are kept in this process as JSON, so what Get returns is a copy that only
// Update can put back. Of T no more is kept than JSON carries: exported fields.
//
// Spec: 2026-07-28 server/tools#stateful-tools
type Handles[T any] struct {
	table handleTable
}

// HandlesOptions bound a store of handles. Nil gives the defaults. Say in the
// description of the tool that makes handles how long they last.
type HandlesOptions struct {
	// Prefix begins every handle, so that people and models can tell what it is
	// for, such as "basket_".
	Prefix string
	// Idle is how long a handle is kept after it was used last. Default: 30 minutes.
	Idle time.Duration
	// MaxSize bounds one value, in bytes of JSON. Default: 64 KiB.
	MaxSize int
	// Max bounds the handles of all principals together. Default: 10,000.
	Max int
	// MaxPerPrincipal bounds those of one authenticated principal. Default: 1,000.
	MaxPerPrincipal int
}

func (o *HandlesOptions) prefix() string { return o.orZero().Prefix }

func (o *HandlesOptions) idle() time.Duration { return cmp.Or(o.orZero().Idle, 30*time.Minute) }

func (o *HandlesOptions) maxSize() int { return cmp.Or(o.orZero().MaxSize, 64<<10) }

func (o *HandlesOptions) max() int { return cmp.Or(o.orZero().Max, 10_000) }

func (o *HandlesOptions) maxPerPrincipal() int { return cmp.Or(o.orZero().MaxPerPrincipal, 1000) }

func (o *HandlesOptions) orZero() *HandlesOptions {
	if o == nil {
		return new(HandlesOptions)
	}
	return o
}

// NewHandles returns an empty store. It panics when T has no JSON form.
func NewHandles[T any](o *HandlesOptions) *Handles[T] {
	var zero T
	if _, err := json.Marshal(zero); err != nil {
		panic(fmt.Sprintf("mcpserver.NewHandles: %v", err))
	}
	return &Handles[T]{table: handleTable{options: new(*o.orZero())}}
}

// New keeps a value for the principal of ctx and returns its handle. It fails with
// ErrNoRoom when there are too many.
func (h *Handles[T]) New(ctx context.Context, value T) (handle string, err error) {
	data, err := h.table.encode(value)
	if err == nil {
		handle, err = h.table.add(From(ctx).Principal(), data)
	}
	if errors.Is(err, ErrNoRoom) {
		From(ctx).Reached(mcp.LimitHandles)
	}
	if err != nil {
		return "", fmt.Errorf("new handle: %w", err)
	}
	return handle, nil
}

// Get returns a copy of the value of a handle. It fails with ErrUnknownHandle.
func (h *Handles[T]) Get(ctx context.Context, handle string) (T, error) {
	value, _, err := h.load(ctx, handle)
	return value, err
}

// Update changes the value of a handle and returns the new one. change gets a copy
// to modify; its error is returned, and nothing is changed then. Updates of one
// handle take effect one after the other: change runs again, on a newer copy, when
// another update was faster, so it must do nothing else. Update fails with
// ErrUnknownHandle, and with the cause of ctx.
func (h *Handles[T]) Update(ctx context.Context, handle string, change func(value *T) error) (T, error) {
	for {
		value, version, err := h.load(ctx, handle)
		if err == nil {
			err = change(&value)
		}
		var stored bool
		if err == nil {
			stored, err = h.store(ctx, handle, value, version)
		}
		if err != nil {
			return *new(T), err
		}
		if stored {
			return value, nil
		}
	}
}

// load returns a copy of the value of a handle, and its version.
func (h *Handles[T]) load(ctx context.Context, handle string) (value T, version uint64, err error) {
	if ctx.Err() != nil {
		return value, 0, aboutHandle(handle, context.Cause(ctx))
	}
	state, err := h.table.get(From(ctx).Principal(), handle)
	if err == nil {
		err = json.Unmarshal(state.data, &value)
	}
	return value, state.version, aboutHandle(handle, err)
}

// store makes value the next version of a handle. It reports false when the handle
// has another version by now.
func (h *Handles[T]) store(ctx context.Context, handle string, value T, version uint64) (stored bool, err error) {
	data, err := h.table.encode(value)
	if err == nil {
		stored, err = h.table.swap(From(ctx).Principal(), handle, version, data)
	}
	return stored, aboutHandle(handle, err)
}

// Delete forgets a handle and returns its last value. It fails with
// ErrUnknownHandle, also for all but one of those who delete at once.
func (h *Handles[T]) Delete(ctx context.Context, handle string) (value T, err error) {
	data, err := h.table.remove(From(ctx).Principal(), handle)
	if err == nil {
		err = json.Unmarshal(data, &value)
	}
	return value, aboutHandle(handle, err)
}

func aboutHandle(handle string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("handle %q: %w", cleanText(handle, 64), err)
}

// handleTable is the part of Handles that knows nothing of the type.
type handleTable struct {
	options *HandlesOptions

	mu      sync.Mutex
	byName  map[string]*list.Element // guarded by mu
	byUse   list.List                // guarded by mu: of *handleState, the longest unused first
	perUser map[mcp.Principal]int    // guarded by mu: how many
}

// handleState is one value. The bytes are never modified, only replaced.
type handleState struct {
	name    string
	owner   mcp.Principal
	data    []byte
	version uint64
	used    time.Time
}

func (t *handleTable) encode(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if most := t.options.maxSize(); len(data) > most {
		return nil, fmt.Errorf("the value has %d bytes of JSON, the limit is %d", len(data), most)
	}
	return data, nil
}

func (t *handleTable) add(owner mcp.Principal, data []byte) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire()
	if len(t.byName) >= t.options.max() || owner.Authenticated() && t.perUser[owner] >= t.options.maxPerPrincipal() {
		return "", ErrNoRoom
	}
	if t.byName == nil {
		t.byName, t.perUser = make(map[string]*list.Element), make(map[mcp.Principal]int)
	}
	name := t.options.prefix() + rand.Text()
	t.byName[name] = t.byUse.PushBack(&handleState{name: name, owner: owner, data: data, used: time.Now()})
	t.perUser[owner]++
	return name, nil
}

// get returns the state of a handle, which counts as a use of it.
func (t *handleTable) get(owner mcp.Principal, name string) (handleState, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.find(owner, name)
	if e == nil {
		return handleState{}, ErrUnknownHandle
	}
	return *t.touch(e), nil
}

// swap replaces the value of a handle, unless it has another version by now.
func (t *handleTable) swap(owner mcp.Principal, name string, version uint64, data []byte) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.find(owner, name)
	if e == nil {
		return false, ErrUnknownHandle
	}
	s := t.touch(e)
	if s.version != version {
		return false, nil
	}
	s.data, s.version = data, version+1
	return true, nil
}

// remove forgets a handle and returns its last value.
func (t *handleTable) remove(owner mcp.Principal, name string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.find(owner, name)
	if e == nil {
		return nil, ErrUnknownHandle
	}
	t.drop(e)
	return e.Value.(*handleState).data, nil
}

// find returns the handle of that name as far as it is the owner's. The caller
// holds mu.
func (t *handleTable) find(owner mcp.Principal, name string) *list.Element {
	t.expire()
	e := t.byName[name]
	if e == nil || e.Value.(*handleState).owner != owner {
		return nil
	}
	return e
}

// touch notes that a handle is used. The caller holds mu.
func (t *handleTable) touch(e *list.Element) *handleState {
	s := e.Value.(*handleState)
	s.used = time.Now()
	t.byUse.MoveToBack(e)
	return s
}

// expire drops the handles that were not used for too long. The caller holds mu.
func (t *handleTable) expire() {
	before := time.Now().Add(-t.options.idle())
	for e := t.byUse.Front(); e != nil && !e.Value.(*handleState).used.After(before); e = t.byUse.Front() {
		t.drop(e)
	}
}

// drop forgets a handle. The caller holds mu.
func (t *handleTable) drop(e *list.Element) {
	s := t.byUse.Remove(e).(*handleState)
	delete(t.byName, s.name)
	if t.perUser[s.owner]--; t.perUser[s.owner] == 0 {
		delete(t.perUser, s.owner)
	}
}
