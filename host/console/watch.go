package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// maxWatches limits the resources that a session watches. A further one ends the oldest.
	maxWatches = 8
	// keptUpdates limits the times of changes that a page shows.
	keptUpdates = 20
	// rereadInterval is how often a watched resource is read at most.
	rereadInterval = time.Second
)

// watch is a resource whose changes a session sees.
type watch struct {
	ID  int
	URI string
	end context.CancelFunc

	mu    sync.Mutex
	state watchState // guarded by mu
}

// watchState is what is known of a watched resource.
type watchState struct {
	URI     string
	Started time.Time
	// Updates is how often it has changed, and Times when, the last one first.
	Updates int
	Times   []time.Time
	// Blocks is its content, as it was read last.
	Blocks []block
	// Ended: it is not watched any more. Problem is why, or why it could not be read.
	Ended   bool
	Problem string
}

func (w *watch) now() watchState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

func (w *watch) change(do func(*watchState)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do(&w.state)
}

// startWatch begins to watch a resource and shows its page.
func (c *Console) startWatch(w http.ResponseWriter, r *http.Request, s *session) {
	one := c.newWatch(s, r.PostForm.Get("uri"))
	http.Redirect(w, r, s.path()+"try/watch/"+strconv.Itoa(one.ID), http.StatusSeeOther)
}

// newWatch watches a resource until the session ends or the user ends it.
func (c *Console) newWatch(s *session, uri string) *watch {
	ctx, end := context.WithTimeout(c.ctx, SessionTime)
	one := &watch{URI: uri, end: end, state: watchState{URI: uri, Started: time.Now()}}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.lastWatch++
	one.ID = s.lastWatch
	if len(s.watches) == maxWatches {
		s.watches[0].end()
		s.watches = slices.Delete(s.watches, 0, 1)
	}
	s.watches = append(s.watches, one)
	if !c.beginLocked(func() { c.follow(ctx, s, one) }) {
		end()
	}
	return one
}

// follow keeps a watch current until ctx or the session ends.
func (c *Console) follow(ctx context.Context, s *session, one *watch) {
	defer one.end()
	changed := make(chan struct{}, 1)
	var reading sync.WaitGroup
	reading.Go(func() { // a read takes its time, and changes meanwhile cause one more
		for {
			select {
			case <-changed:
				c.reread(ctx, one)
			case <-s.ended:
				one.end()
				return
			case <-ctx.Done():
				return
			}
			pause := time.NewTimer(rereadInterval)
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
			pause.Stop()
		}
	})
	first := true
	err := c.source.Watch(ctx, one.URI, func() {
		if !first {
			one.change(func(w *watchState) {
				w.Updates++
				w.Times = slices.Insert(slices.Clone(w.Times[:min(len(w.Times), keptUpdates-1)]), 0, time.Now())
			})
		}
		first = false
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	if ctx.Err() != nil { // the user, the session or the console has ended it
		err = nil
	}
	one.end()
	reading.Wait()
	one.change(func(w *watchState) {
		if w.Ended = true; err != nil {
			w.Problem = err.Error()
		}
	})
}

// reread reads a watched resource. Only its texts are shown.
func (c *Console) reread(ctx context.Context, one *watch) {
	result, err := c.source.Read(ctx, &Request{URI: one.URI})
	if ctx.Err() != nil {
		return
	}
	one.change(func(w *watchState) {
		w.Problem = ""
		if err != nil {
			w.Problem = err.Error()
			return
		}
		b := resultBuilder{} // keeps no files
		w.Blocks = nil
		for _, content := range embedded(result) {
			w.Blocks = append(w.Blocks, b.block(content))
		}
	})
}

// watchesOf returns the resources that a session watches.
func (c *Console) watchesOf(s *session) []*watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(s.watches)
}

// watch shows a watched resource and, for a POST, ends the watch.
func (c *Console) watch(w http.ResponseWriter, r *http.Request, s *session) {
	all := c.watchesOf(s)
	i := slices.IndexFunc(all, func(one *watch) bool { return strconv.Itoa(one.ID) == r.PathValue("id") })
	if i < 0 {
		c.showTry(w, r, s, &view{Message: "This resource is not watched any more.", Failed: true})
		return
	}
	if r.Method == http.MethodPost {
		all[i].end()
		c.mu.Lock()
		s.watches = slices.DeleteFunc(s.watches, func(one *watch) bool { return one == all[i] })
		c.mu.Unlock()
		http.Redirect(w, r, s.path()+"try", http.StatusSeeOther)
		return
	}
	state := all[i].now()
	c.show(w, s, "watch", &view{Title: state.URI, Section: "try", Data: &state})
}
