//go:build linux

package scale_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// probe is something that a client does again and again while the engine is lost.
type probe struct {
	name string
	do   func(ctx context.Context, l *loss) bool // reports whether it succeeded
}

var probes = []probe{
	{"stateless call", func(ctx context.Context, l *loss) bool { return l.ok(1, ctx, stateless, statelessHeader) }},
	{"call of a session", func(ctx context.Context, l *loss) bool { return l.ok(0, ctx, echo, l.header) }},
	{"call of a session that another replica has opened", func(ctx context.Context, l *loss) bool { return l.ok(1, ctx, echo, l.header) }},
	{"open a session", func(ctx context.Context, l *loss) bool { return l.ok(0, ctx, initialize, nil) }},
	{"notify a client of a change at its replica", func(ctx context.Context, l *loss) bool { return l.notifies(ctx, 0, patience/2) }},
	{"subscribe", func(ctx context.Context, l *loss) bool { return l.ok(0, ctx, subscribe, l.other) }},
	{"open a GET stream at another replica", func(ctx context.Context, l *loss) bool {
		return l.status(1, ctx, http.MethodGet, l.other) == http.StatusOK
	}},
	{"DELETE", func(ctx context.Context, l *loss) bool {
		return l.status(0, ctx, http.MethodDelete, l.third) == http.StatusNoContent
	}},
}

// loss is two replicas that lose their engine.
type loss struct {
	*opened                   // the session that has a subscription and a GET stream at replica 0
	other, third []string     // sessions that have none
	deleted      []string     // a session that was deleted before
	updates      atomic.Int64 // that the GET stream had
}

func newLoss(t *testing.T, engine string) *loss {
	l := &loss{opened: &opened{cluster: startCluster(t, engine, 2)}}
	for _, header := range []*[]string{&l.header, &l.other, &l.third, &l.deleted} {
		var err error
		if *header, err = l.replicas[0].open(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.send(0, subscribe)
	l.get(0)
	watched, read := l.call, make(chan struct{})
	go func() {
		defer close(read)
		for {
			if _, ok := watched.next("resources/updated"); !ok {
				return
			}
			l.updates.Add(1)
		}
	}()
	t.Cleanup(func() { watched.close(); <-read })
	if got := l.status(0, t.Context(), http.MethodDelete, l.deleted); got != http.StatusNoContent {
		t.Fatalf("DELETE: got status %d", got)
	}
	return l
}

// ok sends a message and reports whether the response is no error.
func (l *loss) ok(at int, ctx context.Context, message string, header []string) bool {
	_, err := l.replicas[at].succeed(ctx, message, header...)
	return err == nil
}

// status returns the status of a response, or 0.
func (l *loss) status(at int, ctx context.Context, method string, header []string) int {
	res, err := l.replicas[at].do(ctx, method, "/mcp", "", header...)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

// notifies announces a change at a replica and reports whether the client was notified
// within a time.
func (l *loss) notifies(ctx context.Context, at int, within time.Duration) bool {
	before := l.updates.Load()
	res, err := l.replicas[at].do(ctx, http.MethodPost, "/updated", "")
	if err != nil {
		return false
	}
	res.Body.Close()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if l.updates.Load() > before {
			return true
		}
	}
	return false
}

// outcome is that of a probe.
type outcome struct {
	attempts, succeeded int
	longest             time.Duration
}

func (o outcome) String() string {
	return fmt.Sprintf("%d of %d, %s", o.succeeded, o.attempts, seconds(o.longest))
}

// probe makes all probes at once, again and again.
func (l *loss) probe(d time.Duration) []outcome {
	outcomes := make([]outcome, len(probes))
	end := time.Now().Add(d)
	var all sync.WaitGroup
	for i, p := range probes {
		all.Go(func() {
			for o := &outcomes[i]; o.attempts == 0 || time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				start := time.Now()
				ctx, cancel := context.WithTimeout(l.Context(), patience)
				if o.attempts++; p.do(ctx, l) {
					o.succeeded++
				}
				cancel()
				o.longest = max(o.longest, time.Since(start))
			}
		})
	}
	all.Wait()
	return outcomes
}

// until calls f until it reports true, and returns the time that this took.
func (l *loss) until(what string, f func(ctx context.Context) bool) time.Duration {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), hangTime)
	defer cancel()
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if f(ctx) {
			return time.Since(start)
		}
		if ctx.Err() != nil {
			l.Fatalf("%s: not within %v", what, hangTime)
		}
	}
}

// after measures how long it takes until everything works again, and checks the state with a replica
// that has seen nothing of the loss.
func (l *loss) after(t *testing.T, engine string) []string {
	changes := l.until("subscribe", func(ctx context.Context) bool { return l.ok(0, ctx, subscribe, l.other) })
	messages := changes + l.until("messages between replicas", func(ctx context.Context) bool { return l.notifies(ctx, 1, 200*time.Millisecond) })
	later := startReplica(t, engine, l.engine.URL)
	l.replicas = append(l.replicas, later)
	if got := l.status(2, t.Context(), http.MethodDelete, l.deleted); got != http.StatusNotFound {
		t.Errorf("a session that was deleted before: got status %d, want 404", got)
	}
	l.get(2)
	l.request(0, http.MethodPost, "/updated", http.StatusOK)
	l.call.await(t, "resources/updated")
	return []string{seconds(changes), seconds(messages)}
}

// measureLoss measures what goes on while an engine is lost: its process is killed, or it is silent.
func measureLoss(t *testing.T, of size, p *page) {
	type column struct {
		head     string
		outcomes []outcome
		after    []string
	}
	columns := make([]column, 2*len(of.engines))
	t.Run("engines", func(t *testing.T) {
		for i, name := range of.engines {
			for j, how := range []string{"is killed", "is silent"} {
				t.Run(name+" "+how, func(t *testing.T) {
					t.Parallel()
					l := newLoss(t, name)
					lose, restore := l.engine.Kill, l.engine.Start
					if j == 1 {
						lose, restore = l.engine.Proxy.Block, l.engine.Proxy.Unblock
					}
					lose()
					outcomes := l.probe(of.loss)
					restore()
					columns[2*i+j] = column{name + " " + how, outcomes, l.after(t, name)}
				})
			}
		}
	})
	head := []string{fmt.Sprintf("during %v: successes, longest attempt", of.loss)}
	changed, messages := []string{"afterwards, until a session can change"}, []string{"afterwards, until replicas get messages"}
	for _, c := range columns {
		head = append(head, c.head)
		if c.after != nil {
			changed, messages = append(changed, c.after[0]), append(messages, c.after[1])
		}
	}
	rows := [][]string{head}
	for i, probe := range probes {
		row := []string{probe.name}
		for _, c := range columns {
			if c.outcomes != nil {
				row = append(row, c.outcomes[i].String())
			}
		}
		rows = append(rows, row)
	}
	p.add("Loss of the engine", append(rows, changed, messages)...)
}
