package quota

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// interval is the least time between two operations of the Store for one owner.
	interval = time.Second
	// firstDemand is how long the demand of an owner is measured before the first record.
	firstDemand = 250 * time.Millisecond
	// recordLife is how long a record is kept: two are written in that time.
	recordLife = 4 * time.Second
	// operationTimeout bounds an operation of the Store.
	operationTimeout = time.Second
	// maxRecords is how many records of one owner are read: some of each replica.
	maxRecords = 4 * maxReplicas
	// firstRecords are those of a replica that has begun so recently that none of its calls is
	// in the balance of others.
	firstRecords = 3
	// peerLife is how long the counts of replicas without calls are kept.
	peerLife = 10 * time.Minute
)

// startSync begins to use the Store, if there is room. The caller holds mu.
func (e *entry) startSync(now time.Time) {
	g := e.group
	if g.syncing.Add(1) > maxSyncing {
		g.syncing.Add(-1)
		return
	}
	e.syncing, e.reading = true, false
	e.offered, e.since = 0, now
	if e.next = e.next.Add(interval); e.next.Before(now.Add(firstDemand)) {
		e.next = now.Add(firstDemand)
	}
	time.AfterFunc(e.next.Sub(now), e.sync)
}

// sync makes one operation of the Store, and plans the next one.
func (e *entry) sync() {
	g := e.group
	if !g.work.Enter() {
		return
	}
	defer g.work.Leave()
	e.mu.Lock()
	began, reading, called := g.now(), e.reading, e.called
	e.called = false
	e.mu.Unlock()
	select {
	case g.slots <- struct{}{}:
		ctx, cancel := context.WithTimeout(g.life, operationTimeout)
		if reading {
			e.readRecords(ctx)
		} else {
			e.writeRecord(ctx, began)
		}
		cancel()
		<-g.slots
	default: // the Store is too slow: not now
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reading = !reading
	called = called || e.called
	if !called && (!reading || e.count == e.written.count) { // others know of all calls
		e.syncing, e.next = false, began
		g.syncing.Add(-1)
		return
	}
	if !called {
		e.reading = false // others have to know of the last calls
	}
	e.next = began.Add(interval)
	time.AfterFunc(e.next.Sub(g.now()), e.sync)
}

// writeRecord writes what this replica has admitted, and its demand.
func (e *entry) writeRecord(ctx context.Context, now time.Time) {
	e.mu.Lock()
	r := record{number: e.written.number + 1, count: e.count, balance: e.balanceNow(now)}
	r.demand = min(max(float64(e.offered)/now.Sub(e.since).Seconds(), minDemand(e.rate)), e.rate)
	e.written.number = r.number
	e.mu.Unlock()
	err := e.group.o.Store.Put(ctx, e.prefix+e.id+"."+r.String(), nil, recordLife)
	e.group.report(err)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.written = r
	e.offered, e.since = 0, now
}

// balanceNow returns the level of the bucket of all replicas without what the others have
// admitted since it was computed. The caller holds mu.
func (e *entry) balanceNow(now time.Time) float64 {
	return min(e.balance+e.rate*now.Sub(e.balanced).Seconds()-float64(e.count-e.counted), e.burst)
}

// readRecords reads the records of the other replicas and computes the part of this one.
func (e *entry) readRecords(ctx context.Context) {
	keys, err := e.group.o.Store.List(ctx, e.prefix, "", maxRecords)
	e.group.report(err)
	if err != nil {
		return
	}
	own := e.prefix + e.id + "."
	if !slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, own) }) {
		return // writes may have failed, also those of the others
	}
	others := parseRecords(keys, e.prefix, e.id)
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.group.now()
	e.fill(now)
	e.countOthers(now, others)
	e.part = share(e.rate, e.written.demand, others)
	e.level = e.part * (e.balance - unreported(e.rate, e.written.demand, others))
	if e.balance >= 1 {
		e.level = max(e.level, 1)
	}
	e.level = min(e.level, e.capacity())
	e.read = now
}

// countOthers computes the level of the bucket of all replicas. The time that has passed and all
// calls are counted before the level is limited to the burst, because records are late: a limit
// between the two would lose tokens. The caller holds mu.
func (e *entry) countOthers(now time.Time, others map[string]record) {
	balance := e.balance + e.rate*now.Sub(e.balanced).Seconds() - float64(e.count-e.counted)
	know := e.fresh(now)
	for id, r := range others {
		before, seen := e.seen[id]
		switch {
		case seen:
			balance -= float64(max(r.count-before.count, 0))
		case r.number <= firstRecords:
			balance -= float64(r.count)
		}
		if !know || !seen && r.number > firstRecords {
			balance = min(balance, r.balance)
		}
	}
	e.balance = max(min(balance, e.burst), -e.burst-e.rate*recordLife.Seconds())
	e.balanced, e.counted = now, e.count
	e.remember(now, others)
}

// remember keeps the counts of the other replicas. The caller holds mu.
func (e *entry) remember(now time.Time, others map[string]record) {
	if e.seen == nil {
		e.seen = make(map[string]peerCount)
	}
	for id, r := range others {
		e.seen[id] = peerCount{r.count, now}
	}
	maps.DeleteFunc(e.seen, func(_ string, c peerCount) bool {
		return now.Sub(c.at) > peerLife || len(e.seen) > maxRecords
	})
}
