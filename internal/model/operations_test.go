package model_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// update announces at any replica that a resource has changed.
func (w *world) update(uri string) {
	live := w.live()
	at := live[w.others.index(len(live))]
	w.facts.log("%v: %s is updated", at, uri)
	at.server.Updated(uri)
}

func (c *client) index(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

// kill kills a replica and starts another one.
func (w *world) kill(which int) {
	w.start()
	w.replica(which).kill()
}

func (w *world) replica(number int) *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replicas[number]
}

func (w *world) partition(which int, state connection, lasts time.Duration) {
	l := w.replica(which).link
	l.set(state)
	time.Sleep(lasts)
	l.set(connected)
	w.facts.log("replica %d and the engine: connected", which)
}

func (w *world) failCalls(which, percent int, lasts time.Duration) {
	l := w.replica(which).link
	l.setErrors(percent)
	time.Sleep(lasts)
	l.setErrors(0)
}

func (w *world) disturbBus(f busFaults, lasts time.Duration) {
	w.engine.setBus(f)
	time.Sleep(lasts)
	w.engine.setBus(busFaults{})
}

// flood has one owner call a replica more often at once than its share permits. Another owner's call
// has to be served nevertheless.
func (w *world) flood(r *replica) {
	var calls sync.WaitGroup
	for range 2 * maxCalls {
		calls.Go(func() { _, _ = w.greedy.callAt(r, "wait", 3000) })
	}
	time.Sleep(500 * time.Millisecond)
	m, err := w.others.callAt(r, "progress", 0)
	if kind, text := m.outcome(); !r.killed.Load() && (err != nil || kind != succeeded) {
		w.facts.record(&w.facts.excluded, "%v: a call of another owner than the greedy one: got %v %s, %v", r, kind, text, err)
	}
	calls.Wait()
}

// callAt calls a tool at one replica.
func (c *statelessClient) callAt(r *replica, tool string, pause int) (m message, err error) {
	body, header := stateless("tools/call", tool, toolParams(tool, pause), "", "")
	res, err := r.send(context.Background(), c.owner, http.MethodPost, body, header)
	if err != nil {
		return m, err
	}
	text, err := res.text()
	if err != nil {
		return m, err
	}
	return parse(text)
}

func toolParams(tool string, pause int) string {
	return fmt.Sprintf(`"name":%q,"arguments":{"nonce":"n","pause":%d}`, tool, pause)
}
