package model_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// patience is how long a client waits for the outcome of a call.
const patience = 3 * time.Minute

// client is what the clients of both eras have in common.
type client struct {
	world *world
	name  string
	owner string

	mu     sync.Mutex
	random *random // guarded by mu
	count  int     // guarded by mu: calls
}

func newClient(w *world, name, owner string) *client {
	w.clients++
	return &client{world: w, name: name, owner: owner, random: newRandom(w.seed, 100+uint64(w.clients))}
}

func (c *client) duration(least, most time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.duration(least, most)
}

// pause waits for at most d.
func (c *client) pause(d time.Duration) { time.Sleep(c.duration(time.Millisecond, d)) }

// newCall returns a call with a nonce of its own.
func (c *client) newCall(word bool) *call {
	c.mu.Lock()
	c.count++
	nonce := fmt.Sprintf("%s-%d", c.name, c.count)
	c.mu.Unlock()
	want := nonce + " " + c.owner
	if word {
		want += " " + wordFor(nonce)
	}
	return c.world.facts.call(&call{who: c.name, nonce: nonce, want: want})
}

// wordFor is the client's answer to the question of a call.
func wordFor(nonce string) string { return "word-" + nonce }

// send sends a request to any replica that runs.
func (c *client) send(method, body string, header http.Header) (*response, error) {
	live := c.world.live()
	c.mu.Lock()
	at := live[c.random.IntN(len(live))]
	c.mu.Unlock()
	return at.send(context.Background(), c.owner, method, body, header)
}

// progress checks a message of progress of a call, which has to be the next one.
func (c *client) progress(of *call, m message) {
	f := c.world.facts
	if m.Params.ProgressToken != of.nonce || m.Params.Message != of.nonce {
		f.record(&f.foreign, "%s: call %s: got progress of %s", c.name, of.nonce, m.Params.Message)
	}
	if of.progress++; int(m.Params.Progress) != of.progress {
		f.record(&f.repeated, "%s: call %s: got progress %v, want %d", c.name, of.nonce, m.Params.Progress, of.progress)
		of.progress = int(m.Params.Progress)
	}
}
