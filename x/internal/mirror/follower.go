package mirror

import "sync"

// follower runs a function after changes: on one goroutine, which exists only while there is
// something to do. Changes during a run cause one more run. All methods are safe for concurrent
// use.
type follower struct {
	mu      sync.Mutex
	run     func() // nil before start and after stop; guarded by mu
	changed bool   // since the last run began; guarded by mu
	running bool   // guarded by mu
	runs    sync.WaitGroup
}

// notify notifies of a change.
func (f *follower) notify() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = true
	f.wakeLocked()
}

// start begins to run fn for changes, those before start included.
func (f *follower) start(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run = fn
	f.wakeLocked()
}

// stop ends the runs, and waits for one that has begun.
func (f *follower) stop() {
	f.mu.Lock()
	f.run = nil
	f.mu.Unlock()
	f.runs.Wait()
}

// wakeLocked starts the goroutine, unless it exists or has nothing to do.
func (f *follower) wakeLocked() {
	if f.changed && f.run != nil && !f.running {
		f.running = true
		f.runs.Go(f.work)
	}
}

func (f *follower) work() {
	for {
		run := f.next()
		if run == nil {
			return
		}
		run()
	}
}

// next returns the function if there were changes.
func (f *follower) next() func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.changed || f.run == nil {
		f.running = false
		return nil
	}
	f.changed = false
	return f.run
}
