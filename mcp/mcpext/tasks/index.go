package tasks

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The index of an owner's tasks is one value in the Store, for tasks/list: every
// replica that makes a task adds it there.

const (
	indexPrefix = "tasks." // prefix of keys in the Store, before the owner
	// maxIndexed bounds the tasks of one index, so that its value has less than 512
	// KiB. When it is full, the oldest task is removed from the index, but can still
	// be used by its id.
	maxIndexed = 4096
)

// indexEntry is one task of an index. The times are in milliseconds.
type indexEntry struct {
	ID      string `json:"id"`
	Created int64  `json:"created"`
	Expires int64  `json:"expires"`
}

// compare orders entries by age, the oldest first.
func (a indexEntry) compare(b indexEntry) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
}

// cursor returns the cursor after an entry. It stays valid when the task expires.
func (a indexEntry) cursor() string { return strconv.FormatInt(a.Created, 10) + "." + a.ID }

func parseCursor(cursor string) (indexEntry, bool) {
	created, id, ok := strings.Cut(cursor, ".")
	at, err := strconv.ParseInt(created, 10, 64)
	return indexEntry{ID: id, Created: at}, ok && err == nil
}

// index returns the tasks of an owner that have not expired, in order, and the raw value
// in the Store, which is nil if there is none.
func (s *entryStore) index(ctx context.Context, owner string) (tasks []indexEntry, raw []byte, err error) {
	raw, found, err := s.store.Get(ctx, indexPrefix+owner)
	if err != nil {
		return nil, nil, fmt.Errorf("tasks: %w", err)
	}
	if !found {
		return nil, nil, nil
	}
	if err := json.Unmarshal(raw, &tasks); err != nil {
		return nil, nil, fmt.Errorf("tasks: index: %w", err)
	}
	now := time.Now().UnixMilli()
	return slices.DeleteFunc(tasks, func(t indexEntry) bool { return t.Expires <= now }), raw, nil
}

// addToIndex adds a task to the index of its owner.
func (s *entryStore) addToIndex(ctx context.Context, e *entry) error {
	added := indexEntry{ID: e.ID, Created: e.Created.UnixMilli(), Expires: e.Expires.UnixMilli()}
	for {
		tasks, old, err := s.index(ctx, e.Owner)
		if err != nil {
			return err
		}
		at, _ := slices.BinarySearchFunc(tasks, added, indexEntry.compare)
		tasks = slices.Insert(tasks, at, added)
		if len(tasks) > maxIndexed {
			tasks = tasks[1:]
		}
		raw, err := json.Marshal(tasks)
		if err != nil {
			return fmt.Errorf("tasks: index: %w", err)
		}
		last := slices.MaxFunc(tasks, func(a, b indexEntry) int { return cmp.Compare(a.Expires, b.Expires) })
		ttl := max(time.Until(time.UnixMilli(last.Expires)), time.Millisecond)
		var written bool
		if old == nil {
			written, err = s.store.Create(ctx, indexPrefix+e.Owner, raw, ttl)
		} else {
			written, err = s.store.Swap(ctx, indexPrefix+e.Owner, old, raw, ttl)
		}
		if err != nil {
			return fmt.Errorf("tasks: %w", err)
		}
		if written {
			return nil
		}
	}
}
