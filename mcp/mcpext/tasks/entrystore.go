package tasks

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	keyPrefix = "task."         // prefix of keys in the Store
	topic     = "fondaco.task." // prefix of topics on the Bus, before the id
	lease     = 30 * time.Second
	// maxEntry bounds an entry in the Store: the largest value of a Store, less what a Store that
	// encrypts adds.
	maxEntry = 1<<20 - 4096
)

// Errors of changes.
var (
	// errUnknown: there is no value in the Store.
	errUnknown = errors.New("unknown task")
	// errUnreadable: there is a value, but not one for this process, by its keys, version and
	// clock. Others may be able to read it. For a client it is no task.
	errUnreadable = errors.New("the task cannot be read here: it was written with other Options.Keys or by another version, was changed, or has expired by the clock of this machine")
	errEnded      = errors.New("the task has ended")
	errTooLarge   = errors.New("the task is too large for the Store")
)

// isUnknown reports whether a task does not exist for a client.
func isUnknown(err error) bool { return errors.Is(err, errUnknown) || errors.Is(err, errUnreadable) }

// entryStore keeps the entries of tasks, of a server or a client, in a Store. A watcher
// waits for changes of some of them.
type entryStore struct {
	store mcp.Store
	bus   mcp.Bus // nil: no other replicas

	// reserve reserves the room for a task whose entry is about to have that many bytes, or
	// returns why there is none. It is nil in clients.
	reserve func(ctx context.Context, id string, size int) error

	// sealer encrypts the entries of durable tasks. It is nil in clients, which have none.
	sealer sealer

	mu       sync.Mutex
	watchers map[string]map[*watcher]bool // guarded by mu: by task
}

// sealer is the part of a server that encrypts.
type sealer interface {
	Seal(data []byte, label string, expires time.Time) []byte
	Unseal(sealed []byte, label string) ([]byte, error)
}

// encode returns an entry as it is stored, or fails with errTooLarge. Entries of durable tasks are encrypted, because what
// they hold is run.
func (s *entryStore) encode(e *entry) ([]byte, error) {
	raw, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	if e.Durable != nil {
		raw = s.sealer.Seal(raw, keyPrefix+e.ID, e.Expires)
	}
	if len(raw) > maxEntry {
		return nil, fmt.Errorf("%w: %d bytes with its answers and the results of its steps, want at most %d", errTooLarge, len(raw), maxEntry)
	}
	return raw, nil
}

// decode returns the entry of a task from its stored form, or nil if it is not valid. The id says
// whether the entry has to be encrypted.
func (s *entryStore) decode(id string, raw []byte) *entry {
	sealed := isDurableID(id)
	if sealed {
		if s.sealer == nil {
			return nil
		}
		var err error
		if raw, err = s.sealer.Unseal(raw, keyPrefix+id); err != nil {
			return nil
		}
	}
	e := new(entry)
	if json.Unmarshal(raw, e) != nil || e.ID != id || (e.Durable != nil) != sealed {
		return nil
	}
	return e
}

// watcher is woken by changes of some tasks. It needs one stop.
type watcher struct {
	entries *entryStore
	ids     []string
	wake    chan struct{} // capacity 1; holds a token after a change
	off     []func()      // end the subscriptions to changes on other replicas
}

func (s *entryStore) watch(ids ...string) *watcher {
	w := &watcher{entries: s, ids: ids, wake: make(chan struct{}, 1)}
	w.subscribeBus()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		s.watchers = make(map[string]map[*watcher]bool)
	}
	for _, id := range ids {
		if s.watchers[id] == nil {
			s.watchers[id] = make(map[*watcher]bool)
		}
		s.watchers[id][w] = true
	}
	return w
}

// subscribeBus makes changes on other replicas wake the watcher. Where it cannot
// subscribe, the watcher is woken when its wait ends.
func (w *watcher) subscribeBus() {
	if w.entries.bus == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishTimeout)
	defer cancel()
	for _, id := range w.ids {
		if off, err := w.entries.bus.Subscribe(ctx, topic+id, func([]byte) { w.entries.signal(id) }); err == nil {
			w.off = append(w.off, off)
		}
	}
}

func (w *watcher) stop() {
	for _, off := range w.off {
		off()
	}
	s := w.entries
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range w.ids {
		if delete(s.watchers[id], w); len(s.watchers[id]) == 0 {
			delete(s.watchers, id)
		}
	}
}

// wait returns when a watched task has changed, after a third of a lease, or at until,
// whichever is first: a watcher is not woken when a task expires, when the process that
// worked on it has ended, or, without a Bus, when another replica changes it. It fails
// when ctx ends.
func (w *watcher) wait(ctx context.Context, until time.Time) error {
	return pause(ctx, min(lease/3, time.Until(until)), w.wake)
}

// signal wakes the watchers of the task in this process.
func (s *entryStore) signal(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers[id] {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// changed wakes the watchers of a task in all replicas. An error of the Bus only delays
// those of other replicas, which read the store every third of a lease.
func (s *entryStore) changed(ctx context.Context, id string) {
	s.signal(id)
	if s.bus != nil {
		_ = s.bus.Publish(ctx, topic+id, nil)
	}
}

// open writes a new task into the store.
func (s *entryStore) open(ctx context.Context, e *entry) error {
	raw, err := s.encode(e)
	if err != nil {
		return err
	}
	if err := s.reserveRoom(ctx, e, len(raw)); err != nil {
		return err
	}
	made, err := s.store.Create(ctx, keyPrefix+e.ID, raw, e.left())
	if err == nil && !made {
		err = errors.New("the id is taken")
	}
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	return nil
}

func (s *entryStore) reserveRoom(ctx context.Context, e *entry, size int) error {
	if s.reserve == nil {
		return nil
	}
	if e.Durable != nil {
		size += e.Durable.CallSize
	}
	return s.reserve(ctx, e.ID, size)
}

// idLength is that of rand.Text.
const idLength = 26

// read returns a task and its bytes in the store. It fails with errUnknown or errUnreadable.
func (s *entryStore) read(ctx context.Context, id string) (*entry, []byte, error) {
	if len(id) != idLength || !isPrintable(id) {
		return nil, nil, errUnknown
	}
	raw, found, err := s.store.Get(ctx, keyPrefix+id)
	if err != nil {
		return nil, nil, fmt.Errorf("task: %w", err)
	}
	if !found {
		return nil, nil, errUnknown
	}
	e := s.decode(id, raw)
	if e == nil || !time.Now().Before(e.Expires) {
		return nil, nil, errUnreadable
	}
	return e, raw, nil
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// load returns a task. A task whose lease was not renewed in time is marked as failed,
// because the process that worked on it has ended. A durable task continues on another replica.
func (s *entryStore) load(ctx context.Context, id string) (*entry, error) {
	e, _, err := s.read(ctx, id)
	if err != nil || e.Durable != nil || e.Status.Terminal() || time.Now().Before(e.Lease) {
		return e, err
	}
	e, err = s.change(ctx, id, func(e *entry) error {
		if e.Status.Terminal() || time.Now().Before(e.Lease) {
			return errEnded
		}
		e.end(mcp.TaskFailed, "the process that worked on the task has ended")
		e.Error = &Failure{Code: -32603, Message: e.Message}
		return nil
	})
	if errors.Is(err, errEnded) {
		err = nil
	}
	return e, err
}

// change applies a change to a task and sets the time of its update. When the function
// fails, the task is returned unchanged with that error. The function runs again after
// each concurrent change of the task, so it must have no other effects.
func (s *entryStore) change(ctx context.Context, id string, change func(*entry) error) (*entry, error) {
	return s.changeAndNotify(ctx, id, change, nil)
}

// changeAndNotify is like change, but calls notify, if it is not nil, before it wakes the
// watchers, so that the messages of notify are sent before those of the watchers.
func (s *entryStore) changeAndNotify(ctx context.Context, id string, change func(*entry) error, notify func(*entry)) (*entry, error) {
	return s.swap(ctx, id, func(e *entry) error {
		if err := change(e); err != nil {
			return err
		}
		if now := time.Now().Truncate(time.Millisecond); now.After(e.Updated) {
			e.Updated = now
		}
		return nil
	}, notify)
}

// swap replaces a task in the store by compare-and-swap, like change, but leaves the time
// of its update to the function.
func (s *entryStore) swap(ctx context.Context, id string, change func(*entry) error, notify func(*entry)) (*entry, error) {
	e, err := s.replace(ctx, id, change)
	if err == nil {
		if notify != nil {
			notify(e)
		}
		s.changed(ctx, id)
	}
	return e, err
}

// replace is swap without a message: nobody waits for the change.
func (s *entryStore) replace(ctx context.Context, id string, change func(*entry) error) (*entry, error) {
	for {
		e, old, err := s.read(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := change(e); err != nil {
			return e, err
		}
		raw, err := s.encode(e)
		if err != nil {
			return nil, err
		}
		if err := s.reserveRoom(ctx, e, len(raw)); err != nil {
			return e, err
		}
		swapped, err := s.store.Swap(ctx, keyPrefix+id, old, raw, e.left())
		if err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
		if swapped {
			return e, nil
		}
	}
}

// answer answers open questions of a task. A task that has ended has none.
func (s *entryStore) answer(ctx context.Context, id string, answers map[string]answer) error {
	_, err := s.change(ctx, id, func(e *entry) error {
		if e.Status.Terminal() {
			return errEnded
		}
		e.take(answers)
		return nil
	})
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// cancel cancels a task. The process of the task watches it and ends the handler. If the
// task has ended before, the error is errEnded.
func (s *entryStore) cancel(ctx context.Context, id string) (*entry, error) {
	return s.change(ctx, id, func(e *entry) error {
		if e.Status.Terminal() {
			return errEnded
		}
		e.end(mcp.TaskCancelled, "cancelled by the client")
		return nil
	})
}
