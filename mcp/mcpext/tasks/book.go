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
	keyPrefix = "task."         // of the keys in the store
	topic     = "fondaco.task." // of the notices on the bus, before the id
	lease     = 30 * time.Second
)

// Reasons for which nothing is changed.
var (
	errUnknown = errors.New("unknown task")
	errEnded   = errors.New("the task has ended")
)

// book keeps the tasks of a server or a client. Whoever waits for a change of one
// watches it.
type book struct {
	store mcp.Store
	bus   mcp.Bus // nil: no other replicas

	mu       sync.Mutex
	watchers map[string]map[*watcher]bool // guarded by mu: by task
}

// watcher wakes somebody who waits for changes of some tasks.
type watcher struct {
	book *book
	ids  []string
	wake chan struct{} // one token: something has changed
	off  []func()      // end the subscriptions to news of other replicas
}

func (b *book) watch(ids ...string) *watcher {
	w := &watcher{book: b, ids: ids, wake: make(chan struct{}, 1)}
	w.overhear()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers == nil {
		b.watchers = make(map[string]map[*watcher]bool)
	}
	for _, id := range ids {
		if b.watchers[id] == nil {
			b.watchers[id] = make(map[*watcher]bool)
		}
		b.watchers[id][w] = true
	}
	return w
}

// overhear lets news of other replicas wake those who watch here. Where that fails
// they are woken later.
func (w *watcher) overhear() {
	if w.book.bus == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	for _, id := range w.ids {
		if off, err := w.book.bus.Subscribe(ctx, topic+id, func([]byte) { w.book.signal(id) }); err == nil {
			w.off = append(w.off, off)
		}
	}
}

func (w *watcher) stop() {
	for _, off := range w.off {
		off()
	}
	b := w.book
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range w.ids {
		if delete(b.watchers[id], w); len(b.watchers[id]) == 0 {
			delete(b.watchers, id)
		}
	}
}

// wait returns when a watched task has changed, and in any case after a while or at
// until: nobody tells of a task that expires, of one whose process has gone, and
// without a Bus of what another replica has done. It fails when ctx ends.
func (w *watcher) wait(ctx context.Context, until time.Time) error {
	return pause(ctx, min(lease/3, time.Until(until)), w.wake)
}

// signal wakes those of this process who watch the task.
func (b *book) signal(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.watchers[id] {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// changed tells everybody that a task has changed. That nobody of another replica
// hears of it only delays them: they look into the store every third of a lease.
func (b *book) changed(ctx context.Context, id string) {
	b.signal(id)
	if b.bus != nil {
		_ = b.bus.Publish(ctx, topic+id, nil)
	}
}

// open writes a new task.
func (b *book) open(ctx context.Context, e *entry) error {
	raw, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	made, err := b.store.Create(ctx, keyPrefix+e.ID, raw, e.left())
	if err == nil && !made {
		err = errors.New("the id is taken")
	}
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	return nil
}

// idLength is that of rand.Text.
const idLength = 26

// read returns a task and its bytes in the store.
func (b *book) read(ctx context.Context, id string) (*entry, []byte, error) {
	if len(id) != idLength || !isPrintable(id) {
		return nil, nil, errUnknown
	}
	raw, found, err := b.store.Get(ctx, keyPrefix+id)
	if err != nil {
		return nil, nil, fmt.Errorf("task: %w", err)
	}
	e := new(entry)
	if !found || json.Unmarshal(raw, e) != nil || !time.Now().Before(e.Expires) {
		return nil, nil, errUnknown
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

// load returns a task. One whose process has not renewed its lease has failed.
func (b *book) load(ctx context.Context, id string) (*entry, error) {
	e, _, err := b.read(ctx, id)
	if err != nil || e.Status.Terminal() || time.Now().Before(e.Lease) {
		return e, err
	}
	e, err = b.change(ctx, id, func(e *entry) error {
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

// change changes a task, unless the change fails: then the task is returned as it
// is, with that error. It runs again when somebody else was faster, so it must do
// nothing else.
func (b *book) change(ctx context.Context, id string, change func(*entry) error) (*entry, error) {
	return b.changeTelling(ctx, id, change, nil)
}

// changeTelling is change with somebody who hears of it before those who watch the
// task do, so that what it sends comes before what they send.
func (b *book) changeTelling(ctx context.Context, id string, change func(*entry) error, told func(*entry)) (*entry, error) {
	return b.swap(ctx, id, func(e *entry) error {
		if err := change(e); err != nil {
			return err
		}
		if now := time.Now().Truncate(time.Millisecond); now.After(e.Updated) {
			e.Updated = now
		}
		return nil
	}, told)
}

func (b *book) swap(ctx context.Context, id string, change func(*entry) error, told func(*entry)) (*entry, error) {
	for {
		e, old, err := b.read(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := change(e); err != nil {
			return e, err
		}
		raw, err := json.Marshal(e, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
		swapped, err := b.store.Swap(ctx, keyPrefix+id, old, raw, e.left())
		if err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
		if swapped {
			if told != nil {
				told(e)
			}
			b.changed(ctx, id)
			return e, nil
		}
	}
}

// answer answers open questions of a task. A task that has ended has none.
func (b *book) answer(ctx context.Context, id string, answers map[string]answer) error {
	_, err := b.change(ctx, id, func(e *entry) error {
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

// cancel ends a task. Its work hears of it by watching. It fails with errEnded
// when the task has ended before.
func (b *book) cancel(ctx context.Context, id string) (*entry, error) {
	return b.change(ctx, id, func(e *entry) error {
		if e.Status.Terminal() {
			return errEnded
		}
		e.end(mcp.TaskCancelled, "cancelled by the client")
		return nil
	})
}
