package mcptest_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// brokenEventStores are event stores by what is wrong with them, and the subtests that find
// it.
var brokenEventStores = map[string]struct {
	fails string
	open  func() (one, two mcp.EventStore)
}{
	"does not share events": {"events are returned in order", func() (one, two mcp.EventStore) {
		return new(plainEvents), new(plainEvents)
	}},
	"returns event n as well": {"events are returned in order", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.after = func(ctx context.Context, stream string, n int64) ([][]byte, error) {
				return e.EventStore.After(ctx, stream, n-1)
			}
		})
	}},
	"returns the newest first": {"events are returned in order", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.after = func(ctx context.Context, stream string, n int64) ([][]byte, error) {
				msgs, err := e.EventStore.After(ctx, stream, n)
				slices.Reverse(msgs)
				return msgs, err
			}
		})
	}},
	"returns one page": {"long streams are complete", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.after = func(ctx context.Context, stream string, n int64) ([][]byte, error) {
				msgs, err := e.EventStore.After(ctx, stream, n)
				return msgs[:min(len(msgs), 100)], err
			}
		})
	}},
	"ignores what follows a point": {"streams do not mix", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.append = func(ctx context.Context, stream string, n int64, msg []byte) error {
				stream, _, _ = strings.Cut(stream, ".")
				return e.EventStore.Append(ctx, stream, n, msg)
			}
		})
	}},
	"refuses an event that it has": {"an event is appended once", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.append = func(ctx context.Context, stream string, n int64, msg []byte) error {
				if msgs, _ := e.EventStore.After(ctx, stream, n-1); len(msgs) > 0 {
					return errors.New("the stream has the event")
				}
				return e.EventStore.Append(ctx, stream, n, msg)
			}
		})
	}},
	"drops events after one that it has": {"an event is appended once", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.append = func(ctx context.Context, stream string, n int64, msg []byte) error {
				if msgs, _ := e.EventStore.After(ctx, stream, n-1); len(msgs) > 0 {
					_ = e.EventStore.Trim(ctx, stream, math.MaxInt64)
				}
				return e.EventStore.Append(ctx, stream, n, msg)
			}
		})
	}},
	"keeps what was trimmed": {"trimmed events are gone", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.trim = func(context.Context, string, int64) error { return nil }
		})
	}},
	"trims one event too few": {"trimmed events are gone", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.trim = func(ctx context.Context, stream string, n int64) error { return e.EventStore.Trim(ctx, stream, n-1) }
		})
	}},
	"numbers anew after a trim": {"a trimmed stream goes on", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.append = func(ctx context.Context, stream string, n int64, msg []byte) error {
				msgs, _ := e.EventStore.After(ctx, stream, 0)
				return e.EventStore.Append(ctx, stream, int64(len(msgs))+1, msg)
			}
		})
	}},
	"cuts large events": {"the longest name, a large event", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.append = func(ctx context.Context, stream string, n int64, msg []byte) error {
				return e.EventStore.Append(ctx, stream, n, msg[:min(len(msg), 1<<16)])
			}
		})
	}},
	"ignores contexts": {"calls end with their context", func() (one, two mcp.EventStore) {
		return brokenEvents(func(e *changedEvents) {
			e.append = func(ctx context.Context, stream string, n int64, msg []byte) error {
				if ctx.Err() != nil {
					select {}
				}
				return e.EventStore.Append(ctx, stream, n, msg)
			}
		})
	}},
}

// brokenEvents returns an event store that is changed, twice.
func brokenEvents(change func(*changedEvents)) (one, two mcp.EventStore) {
	e := &changedEvents{EventStore: new(plainEvents)}
	change(e)
	return e, e
}

// changedEvents is an EventStore of which some methods are replaced.
type changedEvents struct {
	mcp.EventStore
	append func(ctx context.Context, stream string, n int64, msg []byte) error
	after  func(ctx context.Context, stream string, n int64) ([][]byte, error)
	trim   func(ctx context.Context, stream string, n int64) error
}

func (e *changedEvents) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	if e.append != nil {
		return e.append(ctx, stream, n, msg)
	}
	return e.EventStore.Append(ctx, stream, n, msg)
}

func (e *changedEvents) After(ctx context.Context, stream string, n int64) ([][]byte, error) {
	if e.after != nil {
		return e.after(ctx, stream, n)
	}
	return e.EventStore.After(ctx, stream, n)
}

func (e *changedEvents) Trim(ctx context.Context, stream string, n int64) error {
	if e.trim != nil {
		return e.trim(ctx, stream, n)
	}
	return e.EventStore.Trim(ctx, stream, n)
}

// plainEvents is the smallest EventStore. The zero value is ready for use.
type plainEvents struct {
	mu      sync.Mutex
	streams map[string]map[int64][]byte
}

func (e *plainEvents) Append(_ context.Context, stream string, n int64, msg []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams == nil {
		e.streams = make(map[string]map[int64][]byte)
	}
	if e.streams[stream] == nil {
		e.streams[stream] = make(map[int64][]byte)
	}
	e.streams[stream][n] = msg
	return nil
}

func (e *plainEvents) After(_ context.Context, stream string, n int64) (msgs [][]byte, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, number := range e.numbers(stream) {
		if number > n {
			msgs = append(msgs, e.streams[stream][number])
		}
	}
	return msgs, nil
}

func (e *plainEvents) Trim(_ context.Context, stream string, n int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, number := range e.numbers(stream) {
		if number <= n {
			delete(e.streams[stream], number)
		}
	}
	return nil
}

// numbers returns the numbers of the events of a stream, in order. The caller holds mu.
func (e *plainEvents) numbers(stream string) (all []int64) {
	for n := range e.streams[stream] {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}
