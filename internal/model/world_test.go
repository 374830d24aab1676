package model_test

import (
	"slices"
	"sync"
	"time"
)

// world is what one schedule runs in.
type world struct {
	seed    uint64
	engine  *engine
	facts   *facts
	work    sync.WaitGroup // what clients do
	clients int            // how many there were
	greedy  *statelessClient
	others  *statelessClient

	sessions []*session

	mu       sync.Mutex
	replicas []*replica // guarded by mu: also those that were killed
}

func newWorld(seed uint64) *world {
	w := &world{seed: seed, engine: newEngine(seed), facts: newFacts()}
	w.greedy = &statelessClient{newClient(w, "greedy", "greedy")}
	w.others = &statelessClient{newClient(w, "other", "other")}
	return w
}

// start adds a replica.
func (w *world) start() *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := newReplica(w, len(w.replicas))
	w.replicas = append(w.replicas, r)
	return r
}

// live returns the replicas that were not killed.
func (w *world) live() []*replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.replicas), func(r *replica) bool { return r.killed.Load() })
}

// heal ends all faults, except that what was killed is dead.
func (w *world) heal() {
	w.facts.log("all faults end")
	w.engine.setBus(busFaults{})
	for _, r := range w.live() {
		r.link.set(connected)
		r.link.setErrors(0)
	}
}

// settled is the time after which lost messages have no effect any more: the replicas read the
// state of sessions every 30 seconds.
const settled = 40 * time.Second

// run runs a schedule from its beginning to the end of all replicas.
func (w *world) run(plan []operation) {
	for range replicasAtFirst {
		w.start()
	}
	for _, op := range plan {
		time.Sleep(time.Until(w.facts.began.Add(op.at)))
		w.facts.log("%s", op.what)
		w.work.Go(func() { op.do(w) })
	}
	time.Sleep(time.Until(w.facts.began.Add(faultsEnd)))
	w.heal()
	time.Sleep(settled)
	w.facts.endWaiting()
	w.checkNotifications()
	for _, s := range w.sessions {
		w.work.Go(s.end)
	}
	w.work.Wait()
	w.checkPlaces()
	w.shutDown()
}
