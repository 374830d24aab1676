package audit

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp"
)

// counts are how many lines each writer has written, at least. They are kept apart from the
// files of the log, in an entry that only the user's key can make, so that Verify finds that
// all files were removed together, or replaced by earlier copies.
type counts map[string]int64

const (
	countsKey = "audit/lines"
	// countInterval is how long a line waits until it is counted.
	countInterval = time.Second
)

// readCounts returns nil if there are none.
func readCounts(ctx context.Context, store mcp.Store) (counts, error) {
	if store == nil {
		return nil, nil
	}
	c, _, err := getCounts(ctx, store)
	return c, err
}

func getCounts(ctx context.Context, store mcp.Store) (c counts, value []byte, err error) {
	value, found, err := store.Get(ctx, countsKey)
	if err != nil || !found {
		return nil, nil, err
	}
	c = make(counts)
	if err := json.Unmarshal(value, &c); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", countsKey, err)
	}
	return c, value, nil
}

// changeCounts stores what change returns for the counts, which are nil if there are none.
// It may call change several times. Nothing is stored if that returns nil.
func changeCounts(ctx context.Context, store mcp.Store, change func(counts) counts) error {
	for {
		c, old, err := getCounts(ctx, store)
		if err != nil {
			return err
		}
		missing := c == nil
		if c = change(c); c == nil {
			return nil
		}
		value, err := json.Marshal(c)
		if err != nil {
			return err
		}
		var changed bool
		if missing {
			changed, err = store.Create(ctx, countsKey, value, 0)
		} else {
			changed, err = store.Swap(ctx, countsKey, old, value, 0)
		}
		if changed || err != nil {
			return err
		}
	}
}

// total is the number of all lines.
func (c counts) total() (n int64) {
	for _, lines := range c {
		n += lines
	}
	return n
}

// joinCounts adds a writer to the counts, and those of the index that are missing. If counts
// were lost, the index says so from now on. The caller holds the lock of the log.
func joinCounts(ctx context.Context, store mcp.Store, x *index, self writerState) error {
	lost := false
	err := changeCounts(ctx, store, func(c counts) counts {
		if lost = c == nil && x.head.Counted; c == nil {
			c = make(counts)
		}
		for name, w := range x.writers {
			if _, known := c[name]; !known {
				c[name] = w.Sequence
			}
		}
		c[self.Writer] = self.Sequence
		return c
	})
	if err == nil {
		x.head.Counted, x.head.Damaged = true, x.head.Damaged || lost
	}
	return err
}

// joinCounts adds this process to the counts. If that fails it is added with a later line.
func (l *Log) joinCounts(x *index) {
	if l.options.Counts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), indexWait)
	defer cancel()
	if err := joinCounts(ctx, l.options.Counts, x, l.self); err != nil {
		l.options.Logger.Warn("audit log: cannot count the lines", "error", err)
	}
}

// errNoCounts reports that there are no counts, or that they lack the writer.
var errNoCounts = errors.New("the numbers of lines are missing")

// count updates the number of lines of a writer.
func count(ctx context.Context, store mcp.Store, self writerState) error {
	missing := false
	err := changeCounts(ctx, store, func(c counts) counts {
		if _, known := c[self.Writer]; !known {
			missing = true
			return nil
		}
		c[self.Writer] = max(c[self.Writer], self.Sequence)
		return c
	})
	if missing {
		return errNoCounts
	}
	return err
}

// forgetCounts removes writers from the counts.
func forgetCounts(ctx context.Context, store mcp.Store, gone map[string]int64) error {
	if store == nil || len(gone) == 0 {
		return nil
	}
	return changeCounts(ctx, store, func(c counts) counts {
		for writer := range gone {
			delete(c, writer)
		}
		return c
	})
}

// startCounting counts the lines in a second, unless that is under way. The caller holds mu.
func (l *Log) startCounting() {
	if l.options.Counts == nil || l.countTimer != nil || l.closed {
		return
	}
	l.countTimer = time.AfterFunc(countInterval, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.countTimer = nil; l.closed {
			return
		}
		self := l.self
		l.work.Go(func() { l.countUntil(self, rotationWait) })
	})
}

// countUntil counts the lines of this process up to a state of it. A failure fails no call:
// Verify accepts more lines than are counted. They are counted again with the next line.
func (l *Log) countUntil(self writerState, wait time.Duration) {
	if l.options.Counts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	err := count(ctx, l.options.Counts, self)
	if errors.Is(err, errNoCounts) {
		err = l.rejoinCounts(ctx, self)
	}
	if err != nil {
		l.options.Logger.Warn("audit log: cannot count the lines", "error", err)
	}
}

// rejoinCounts is joinCounts for a writer that is in the index already.
func (l *Log) rejoinCounts(ctx context.Context, self writerState) error {
	unlock, err := userfile.Lock(ctx, lockPath(l.path))
	if err != nil {
		return err
	}
	defer unlock()
	return changeHead(indexPath(l.path), l.key, func(x *index) error {
		if _, known := x.writers[self.Writer]; !known {
			return nil // its lines were removed by their age
		}
		return joinCounts(ctx, l.options.Counts, x, self)
	})
}
