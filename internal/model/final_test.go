package model_test

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// checkNotifications checks that each client that has subscribed to a resource is notified once
// of a change of it at any replica, when all faults have ended.
func (w *world) checkNotifications() {
	for _, s := range w.sessions {
		for _, uri := range s.watched() {
			before := s.updates(uri)
			w.update(uri)
			time.Sleep(5 * time.Second)
			if n := s.updates(uri) - before; n != 1 && !s.hasEnded() {
				w.facts.record(&w.facts.unreached, "%s: was notified %d times of one change of %s, want once", s.name, n, uri)
			}
		}
	}
}

// watched returns the resources of which the client expects to be notified.
func (s *session) watched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listening || s.hasEnded() {
		return nil
	}
	uris := slices.Sorted(maps.Keys(s.subscribed))
	return slices.DeleteFunc(uris, func(uri string) bool { return !s.subscribed[uri] })
}

func (s *session) updates(uri string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notified[uri]
}

// checkPlaces checks that all places of the limits are free again: each owner can use its whole
// share of calls and of streams at each replica.
func (w *world) checkPlaces() {
	time.Sleep(10 * time.Second) // cancelled calls end
	for _, r := range w.live() {
		for _, owner := range []string{"ada", "bob", "greedy", "other"} {
			c := &statelessClient{newClient(w, "check", owner)}
			w.checkCalls(r, c)
			w.checkStreams(r, c)
		}
	}
}

func (w *world) checkCalls(r *replica, c *statelessClient) {
	began := time.Now()
	var calls sync.WaitGroup
	for range shareCalls {
		calls.Go(func() {
			m, err := c.callAt(r, "wait", 100)
			if kind, text := m.outcome(); err != nil || kind != succeeded {
				w.facts.record(&w.facts.left, "%v: call of %s: got %v %s, %v", r, c.owner, kind, text, err)
			}
		})
	}
	calls.Wait()
	if took := time.Since(began); took > 300*time.Millisecond {
		w.facts.record(&w.facts.left, "%v: %d calls of %s took %v, so some places are held", r, shareCalls, c.owner, took)
	}
}

func (w *world) checkStreams(r *replica, c *statelessClient) {
	var open []*response
	for n := range shareStreams {
		body, header := stateless("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`, "", "")
		res, err := r.send(context.Background(), c.owner, http.MethodPost, body, header)
		if err != nil || !res.isStream() {
			w.facts.record(&w.facts.left, "%v: stream %d of %s was refused: %v", r, n+1, c.owner, err)
			continue
		}
		open = append(open, res)
	}
	for _, res := range open {
		res.Close()
	}
}

// shutDown ends all replicas, and checks what is left.
func (w *world) shutDown() {
	f := w.facts
	for _, r := range w.replicas {
		if r.killed.Load() {
			<-r.ended
		} else if err := r.stop(10 * time.Second); err != nil {
			f.record(&f.left, "%v: shutdown: %v", r, err)
		}
	}
	for _, key := range w.engine.withoutExpiry() {
		f.record(&f.left, "the key %s does not expire", key)
	}
	time.Sleep(10 * time.Second) // the Bus delivers its last messages
	synctest.Wait()
	for _, stack := range goroutines() {
		f.record(&f.left, "a goroutine was left:\n%s", stack)
	}
}

// goroutines returns the stacks of the other goroutines of this schedule.
func goroutines() (others []string) {
	buffer := make([]byte, 1<<20)
	own, rest, _ := strings.Cut(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	bubble := own[strings.Index(own, "synctest bubble"):]
	bubble = bubble[:strings.IndexAny(bubble, "],")]
	for stack := range strings.SplitSeq(rest, "\n\n") {
		head, _, _ := strings.Cut(stack, "\n")
		inside := strings.Contains(head, bubble+"]") || strings.Contains(head, bubble+",")
		if inside && !strings.Contains(stack, "testing/synctest.Test(") && !strings.Contains(stack, "testing/synctest.testingSynctestTest(") {
			others = append(others, stack)
		}
	}
	return others
}
