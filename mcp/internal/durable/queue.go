package durable

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// holderTime is how long a holder key is kept after it was renewed last: longer than the work
	// of a Term that was lost is kept.
	holderTime = 31 * 24 * time.Hour
	// emptyTime is how long a Term that was lost has to be without work before its holder key is
	// deleted, since its process may have been about to write the key of new work.
	emptyTime = time.Minute
	// maxListed bounds the keys of one List.
	maxListed = 256
)

// Queue is the durable work of all servers of one name that share a Store.
type Queue struct {
	store  mcp.Store
	prefix string
	topic  string

	mu    sync.Mutex
	empty map[string]time.Time // guarded by mu: since when a Term that was lost has no work
	after string               // guarded by mu: the last due key that was found
	// orphan is the last key that was found of each Term that was lost; guarded by mu.
	orphan map[string]string
}

// NewQueue returns the queue for the work of a kind of the servers of a name.
func NewQueue(store mcp.Store, kind, server string) *Queue {
	sum := sha256.Sum256([]byte(kind + "\x00" + server))
	name := hex.EncodeToString(sum[:8])
	return &Queue{store: store, prefix: "durable." + name + ".", topic: "fondaco.durable." + name, empty: make(map[string]time.Time), orphan: make(map[string]string)}
}

// Topic returns the topic of a Bus for news of work that is due.
func (q *Queue) Topic() string { return q.topic }

// Work is a key of the queue.
type Work struct {
	ID string
	// Token names the Term that runs the work, or is empty.
	Token string
	key   string
}

func (q *Queue) leaseKey(token string) string      { return q.prefix + "lease." + token }
func (q *Queue) holderKey(token string) string     { return q.prefix + "holder." + token }
func (q *Queue) runningPrefix(token string) string { return q.prefix + "run." + token + "." }
func (q *Queue) deadPrefix() string                { return q.prefix + "dead." }
func (q *Queue) duePrefix() string                 { return q.prefix + "due." }

// Running returns the key of work that runs in the Term of a token.
func (q *Queue) Running(token, id string) Work {
	return Work{ID: id, Token: token, key: q.runningPrefix(token) + id}
}

// Due returns the key of work that is to be run at a time.
func (q *Queue) Due(at time.Time, id string) Work {
	return Work{ID: id, key: fmt.Sprintf("%s%013d.%s", q.duePrefix(), at.UnixMilli(), id)}
}

// Dead returns the key of work that is not run until somebody asks for it.
func (q *Queue) Dead(id string) Work { return Work{ID: id, key: q.deadPrefix() + id} }

// Add writes a key, which expires after ttl.
func (q *Queue) Add(ctx context.Context, w Work, ttl time.Duration) error {
	return q.store.Put(ctx, w.key, nil, ttl)
}

// Remove deletes a key.
func (q *Queue) Remove(ctx context.Context, w Work) error { return q.store.Delete(ctx, w.key) }

// Orphans returns work that runs in Terms that have ended, at most as much as limit from each. The
// next call continues after it, and begins again when it has found all. The order is random, so that
// several replicas take different work.
func (q *Queue) Orphans(ctx context.Context, limit int) (found []Work, err error) {
	lost, err := q.lost(ctx)
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(lost), func(i, j int) { lost[i], lost[j] = lost[j], lost[i] })
	for _, token := range lost {
		keys, err := q.nextRunning(ctx, token, limit)
		if err != nil {
			return nil, err
		}
		if err := q.forget(ctx, token, len(keys) == 0); err != nil {
			return nil, err
		}
		rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for _, key := range keys {
			found = append(found, Work{ID: key[len(q.runningPrefix(token)):], Token: token, key: key})
		}
	}
	return found, nil
}

// nextRunning returns keys of work that runs in the Term of a token, after those that the last call
// has returned. It returns none only if there are none.
func (q *Queue) nextRunning(ctx context.Context, token string, limit int) ([]string, error) {
	prefix := q.runningPrefix(token)
	q.mu.Lock()
	after := q.orphan[token]
	q.mu.Unlock()
	keys, err := q.store.List(ctx, prefix, after, limit)
	if err == nil && after != "" && len(keys) < limit {
		var first []string
		first, err = q.store.List(ctx, prefix, "", limit-len(keys))
		keys = append(keys, slices.DeleteFunc(first, func(key string) bool { return key > after })...)
	}
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if delete(q.orphan, token); len(keys) == limit && limit > 0 {
		q.orphan[token] = keys[limit-1]
	}
	return keys, nil
}

// lost returns the tokens of Terms that have ended and may have work. The holders are listed
// first, because a Term writes its holder key after its lease.
func (q *Queue) lost(ctx context.Context) ([]string, error) {
	holders, err := q.tokens(ctx, q.prefix+"holder.")
	if err != nil || len(holders) == 0 {
		return nil, err
	}
	leases, err := q.tokens(ctx, q.prefix+"lease.")
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	maps.DeleteFunc(q.empty, func(token string, _ time.Time) bool { return !slices.Contains(holders, token) })
	maps.DeleteFunc(q.orphan, func(token, _ string) bool { return !slices.Contains(holders, token) })
	q.mu.Unlock()
	return slices.DeleteFunc(holders, func(token string) bool {
		_, held := slices.BinarySearch(leases, token)
		return held
	}), nil
}

// tokens returns what follows the prefix in all keys that have it, in order.
func (q *Queue) tokens(ctx context.Context, prefix string) (tokens []string, err error) {
	after := ""
	for {
		keys, err := q.store.List(ctx, prefix, after, maxListed)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			tokens = append(tokens, key[len(prefix):])
		}
		if len(keys) < maxListed {
			return tokens, nil
		}
		after = keys[len(keys)-1]
	}
}

// forget deletes the holder key of a Term that was lost and has been without work for emptyTime.
func (q *Queue) forget(ctx context.Context, token string, isEmpty bool) error {
	q.mu.Lock()
	since, known := q.empty[token]
	over := isEmpty && known && time.Since(since) >= emptyTime
	switch {
	case !isEmpty || over:
		delete(q.empty, token)
	case !known:
		q.empty[token] = time.Now()
	}
	q.mu.Unlock()
	if !over {
		return nil
	}
	return q.store.Delete(ctx, q.holderKey(token))
}

// NextDue returns work whose time has come, at most as much as limit. The next call continues
// after it, and begins again when it has found all.
func (q *Queue) NextDue(ctx context.Context, limit int) ([]Work, error) {
	q.mu.Lock()
	after := q.after
	q.mu.Unlock()
	keys, err := q.store.List(ctx, q.duePrefix(), after, limit)
	if err != nil {
		return nil, err
	}
	var found []Work
	now := time.Now().UnixMilli()
	for _, key := range keys {
		at, id, _ := strings.Cut(key[len(q.duePrefix()):], ".")
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			continue // no key of ours
		}
		if ms > now {
			break
		}
		found = append(found, Work{ID: id, key: key})
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.after = ""
	if len(keys) == limit && len(found) > 0 && found[len(found)-1].key == keys[limit-1] {
		q.after = keys[limit-1]
	}
	return found, nil
}

// ListDead returns work that is not run until somebody asks for it, in the order of the ids, after
// that id and at most as much as limit.
func (q *Queue) ListDead(ctx context.Context, after string, limit int) ([]Work, error) {
	if after != "" {
		after = q.deadPrefix() + after
	}
	keys, err := q.store.List(ctx, q.deadPrefix(), after, limit)
	if err != nil {
		return nil, err
	}
	found := make([]Work, len(keys))
	for i, key := range keys {
		found[i] = Work{ID: key[len(q.deadPrefix()):], key: key}
	}
	return found, nil
}
