package mcpserver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
)

const stepsCall = `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"steps","_meta":{"progressToken":1}}}`

// A failure here means that a call has no outcome for a client that resumes it at another replica,
// because the event store has failed for a moment.
func TestEventsThatTheStoreHasRefusedAreStoredLater(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-114")
	c := newCluster(t, 2)
	id := c.open(0)
	go func() { c.step <- struct{}{} }()
	call := c.events(c.do(0, http.MethodPost, id, stepsCall))
	call.want(`"progress":1`)
	call.end()
	c.kept.full.Store(true)
	resumed := c.events(c.do(1, http.MethodGet, id, "", "Last-Event-ID", call.last))
	c.step <- struct{}{}
	c.step <- struct{}{}
	for c.kept.refused.Load() == 0 { // until it was given an event
		time.Sleep(time.Millisecond)
	}
	c.kept.full.Store(false)
	for _, text := range []string{`"progress":2`, `"progress":3`, "finished"} {
		resumed.want(text)
	}
	if got := resumed.next(); got != "" {
		t.Errorf("got %s after the reply, want the end", got)
	}
}

// A failure here means that a client waits for an event for ever that the event store has lost.
func TestCallWhoseEventsAreLostEndsWithAnError(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	go func() { c.step <- struct{}{} }()
	call := c.events(c.do(0, http.MethodPost, id, stepsCall))
	first := call.last
	call.want(`"progress":1`)
	call.end()
	c.kept.mu.Lock()
	clear(c.kept.streams)
	c.kept.mu.Unlock()
	if first == "" {
		first = call.last[:len(call.last)-1] + "0"
	}
	resumed := c.events(c.do(1, http.MethodGet, id, "", "Last-Event-ID", first))
	resumed.want("may have run")
	c.step <- struct{}{}
	c.step <- struct{}{}
}

// A failure here means that a call that runs is reported as lost because a key of the Store is
// missing.
func TestCallIsNotLostWhileItsReplicaAnswers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-114")
	c := newCluster(t, 2)
	id := c.open(0)
	go func() { c.step <- struct{}{} }()
	call := c.events(c.do(0, http.MethodPost, id, stepsCall))
	call.want(`"progress":1`)
	call.end()
	c.stores[0].hidden.Store(true)
	keys, err := c.stores[0].List(t.Context(), "replicas.", "", 10)
	if err != nil || len(keys) == 0 {
		t.Fatalf("got keys %q, %v, want those of the replicas", keys, err)
	}
	for _, key := range keys {
		if err := c.stores[0].Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	resumed := c.events(c.do(1, http.MethodGet, id, "", "Last-Event-ID", call.last))
	c.step <- struct{}{}
	c.step <- struct{}{}
	for _, text := range []string{`"progress":2`, `"progress":3`, "finished"} {
		resumed.want(text)
	}
}
