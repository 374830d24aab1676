package catalog

import (
	"context"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// capabilityList holds the features that were listed over a connection which declares certain
// capabilities and serves no call.
type capabilityList struct {
	last       *ListRead         // or nil
	declared   link.Capabilities // by the client that has asked last, with those on which no list depends
	reading    bool              // a read runs, or waits for its time
	features   *callerFeatures   // read last, or nil
	generation uint64            // of the shared catalog at that time
	begun      time.Time         // of the last read
	asked      time.Time         // by a request
	pause      time.Duration     // after the last read, which has failed; zero if it has not
	retry      time.Time         // the end of the pause
	stopRetry  func()            // stops the repetition after the pause; nil if there was none
	pace       link.RefreshPace
	wait       readWait // for its reads
}

// readWait is until when requests wait for reads of lists: up to a deadline for the first one, and not
// for later ones until one has ended in time.
type readWait struct{ deadline time.Time }

// begin returns until when requests wait for a read that begins now.
func (w *readWait) begin(limit time.Duration) time.Time {
	if w.deadline.IsZero() {
		w.deadline = time.Now().Add(limit)
	}
	return w.deadline
}

// end notes that a read has ended in time.
func (w *readWait) end() { w.deadline = time.Time{} }

// ListRead is one read of the features for certain capabilities.
type ListRead struct {
	done     chan struct{} // closed when it has ended
	deadline time.Time     // until which requests wait for it
}

// Wait waits until the read has ended, its deadline, or the end of ctx.
func (r *ListRead) Wait(ctx context.Context) {
	timer := time.NewTimer(time.Until(r.deadline))
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// capabilityRetryTime is for how long after the last request failed reads of features for certain
// capabilities are repeated. Each may start a process.
const capabilityRetryTime = time.Hour

// capabilityLists are the features of one upstream for callers with certain capabilities.
type capabilityLists struct {
	*SourceParams
	// readFeatures reads the features, and returns the generation of the shared catalog.
	readFeatures func(context.Context, link.Capabilities, mcpserver.Owner, *callerFeatures) (*callerFeatures, uint64, error)
	// again reads features again whose read has failed, if the state of the upstream allows it.
	again func(link.Capabilities, mcpserver.Owner)
	// notify notifies the clients with the capabilities.
	notify func(link.Capabilities, changedLists)

	mu             sync.Mutex // guards the fields below
	byCapabilities map[link.Capabilities]*capabilityList
	wait           readWait // for the reads of all
}

// begin begins a read unless the features are known, one runs, or the last one has just failed. shared is
// the catalog of everybody. Reads have the pauses that those over one connection have, because each may start a
// process, and no request waits for a pause. A server that has not answered in time, for these capabilities or for
// any, is not waited for until it has.
func (l *capabilityLists) begin(declared link.Capabilities, owner mcpserver.Owner, shared *Catalog, request bool) *ListRead {
	c := declared.ForLists()
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.byCapabilities[c]
	if list == nil {
		list = new(capabilityList)
		if l.byCapabilities == nil {
			l.byCapabilities = make(map[link.Capabilities]*capabilityList)
		}
		l.byCapabilities[c] = list
	}
	if request {
		list.asked, list.declared = time.Now(), declared
	} else if time.Since(list.asked) > capabilityRetryTime {
		return nil
	}
	age := time.Since(list.begun)
	switch {
	case list.reading:
		return list.last
	case list.pause > 0 && time.Now().Before(list.retry):
		return nil
	case list.pause == 0 && list.last != nil && list.generation == shared.generation && !(shared.ages && age >= max(shared.maxAge, link.MinRefreshInterval)):
		return nil
	}
	pause := list.pace.Rest(false)
	if !l.Pool.Go(func(ctx context.Context) { l.fill(ctx, list, c, owner, pause) }) {
		return nil
	}
	list.reading, list.last = true, &ListRead{done: make(chan struct{})}
	if pause > 0 {
		return nil
	}
	list.last.deadline = list.wait.begin(l.Wait)
	if all := l.wait.begin(l.Wait); all.Before(list.last.deadline) {
		list.last.deadline = all
	}
	return list.last
}

// fill reads the features after a pause.
func (l *capabilityLists) fill(ctx context.Context, list *capabilityList, c link.Capabilities, owner mcpserver.Owner, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	list.begun = time.Now()
	before, declared := list.features, list.declared
	l.mu.Unlock()
	now, generation, err := l.readFeatures(ctx, declared, owner, before)
	if err != nil && ctx.Err() == nil {
		l.Log.Warn("cannot list the features for clients with more capabilities", "error", link.RecordedText(err))
	}
	l.mu.Lock()
	list.reading = false
	if err == nil {
		list.features, list.generation, list.pause = now, generation, 0
		list.pace.Read(list.begun, before.changedTo(now) == changedLists{})
	} else if ctx.Err() == nil {
		list.pause = min(max(2*list.pause, firstListRetry), maxListRetry)
		l.scheduleLocked(list, c, owner)
	}
	if time.Since(list.begun) < l.Wait {
		list.wait.end()
		l.endWaitLocked()
	}
	close(list.last.done)
	l.mu.Unlock()
	if err == nil {
		l.notify(c, before.changedTo(now))
	}
}

// scheduleLocked repeats a failed read after its pause, for as long as requests ask for it. The caller
// holds mu.
func (l *capabilityLists) scheduleLocked(list *capabilityList, c link.Capabilities, owner mcpserver.Owner) {
	if list.stopRetry != nil {
		list.stopRetry()
	}
	list.retry = time.Now().Add(list.pause)
	list.stopRetry = l.Pool.After(list.pause, func() {
		l.again(c, owner)
		l.mu.Lock()
		defer l.mu.Unlock()
		due := list.pause > 0 && !list.reading && !time.Now().Before(list.retry)
		if due && time.Since(list.asked) <= capabilityRetryTime {
			l.scheduleLocked(list, c, owner) // the upstream was not ready
		}
	})
}

// endWaitLocked lets requests wait again if no read is late. The caller holds mu.
func (l *capabilityLists) endWaitLocked() {
	for _, list := range l.byCapabilities {
		if !list.wait.deadline.IsZero() {
			return
		}
	}
	l.wait.end()
}

// of returns the features for callers with certain capabilities, or nil.
func (l *capabilityLists) of(c link.Capabilities) *callerFeatures {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.byCapabilities[c.ForLists()]; list != nil {
		return list.features
	}
	return nil
}

// all returns the features for callers with each set of capabilities.
func (l *capabilityLists) all() map[link.Capabilities]*callerFeatures {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[link.Capabilities]*callerFeatures, len(l.byCapabilities))
	for c, list := range l.byCapabilities {
		all[c] = list.features
	}
	return all
}

// refilter filters the features again, after an approval.
func (l *capabilityLists) refilter(filter func(before *callerFeatures, on *link.Conn) *callerFeatures) {
	for c, before := range l.all() {
		if now := filter(before, nil); now != nil && l.replace(c, before, now) {
			l.notify(c, before.changedTo(now))
		}
	}
}

// replace replaces features unless a read has done so, and filtered its own features.
func (l *capabilityLists) replace(c link.Capabilities, before, now *callerFeatures) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.byCapabilities[c]
	if list.features != before {
		return false
	}
	list.features = now
	return true
}
