//go:build unix && replicas

package fault_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// announcements changes the watched resource, announces it at a random replica, and measures how
// late the watchers learn of it.
type announcements struct {
	file string

	mu        sync.Mutex
	announced []time.Time // guarded by mu: when the change to each version was announced
	watchers  []*watcher
}

// watcher is one client that is subscribed to the resource.
type watcher struct {
	name    string
	seen    int           // guarded by mu of announcements: the newest version that it has read
	longest time.Duration // guarded by mu of announcements: from an announcement until it was seen
	err     error         // guarded by mu of announcements: why it has ended
}

func newAnnouncements(t *testing.T, file string) *announcements {
	a := &announcements{file: file + ".state"}
	a.write(t, 0)
	a.announced = append(a.announced, time.Now())
	return a
}

func (a *announcements) write(t *testing.T, version int) {
	t.Helper()
	if err := os.WriteFile(a.file+".new", []byte(strconv.Itoa(version)), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.Rename(a.file+".new", a.file); err != nil {
		t.Error(err)
	}
}

// run announces a change every 500 ms, until stop is closed. The last one is announced twice,
// because the replica at which it was announced may have been killed.
func (a *announcements) run(ctx context.Context, t *testing.T, by *mcpclient.Client, stop <-chan struct{}) {
	for version := 1; ; version++ {
		a.write(t, version)
		for {
			if _, err := by.CallTool(ctx, "announce", labelled{}); err == nil || ctx.Err() != nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		a.mu.Lock()
		a.announced = append(a.announced, time.Now())
		a.mu.Unlock()
		select {
		case <-stop:
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// watch subscribes a client until ctx ends.
func (a *announcements) watch(ctx context.Context, caller *sharedCaller) {
	w := &watcher{name: caller.name}
	a.mu.Lock()
	a.watchers = append(a.watchers, w)
	a.mu.Unlock()
	var ended error
	for ended == nil && ctx.Err() == nil { // a replica may be killed while it subscribes
		client := caller.current(ctx)
		for _, err := range client.Watch(ctx, watchedURI) {
			if err == nil {
				var version int
				if version, err = readVersion(ctx, client); err == nil {
					a.see(w, version)
				}
			}
			caller.dropped(client, err)
			if err != nil && ctx.Err() == nil && !caller.endsWithReplica() {
				ended = err
			}
			if err != nil {
				break
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w.err = ended
}

// readVersion reads the resource, again if the replica is killed.
func readVersion(ctx context.Context, c *mcpclient.Client) (version int, err error) {
	for range 3 * attempts {
		result, failed := c.ReadResource(ctx, watchedURI)
		if err = failed; err == nil {
			return strconv.Atoi(result.Contents[0].Text)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return 0, err
}

func (a *announcements) see(w *watcher, version int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.longest = max(w.longest, a.late(w))
	w.seen = max(w.seen, version)
}

// late returns for how long a watcher has not learned of a change. The caller holds mu.
func (a *announcements) late(w *watcher) time.Duration {
	if w.seen+1 >= len(a.announced) {
		return 0
	}
	return time.Since(a.announced[w.seen+1])
}

// check waits until all watchers have seen the last version.
func (a *announcements) check(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); !a.allSeen() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.watchers {
		if w.err != nil {
			t.Errorf("%s: the subscription has ended: %v", w.name, w.err)
		}
		if want := len(a.announced) - 1; w.seen < want {
			t.Errorf("%s: has seen the change %d, want %d", w.name, w.seen, want)
		}
		t.Logf("%s has learned of %d changes after at most %v", w.name, w.seen, w.longest.Round(time.Millisecond))
	}
}

func (a *announcements) allSeen() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.watchers {
		if w.err == nil && w.seen < len(a.announced)-1 {
			return false
		}
	}
	return true
}
