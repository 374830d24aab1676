package model_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// The shares of one owner at one replica.
const (
	shareCalls   = 4
	shareStreams = 8
	maxCalls     = 4 * shareCalls // enough for all owners of a schedule
)

// replica is one of the servers with the same Keys, Store, Bus and Events.
type replica struct {
	number int
	world  *world
	link   *link
	web    connections
	server *mcpserver.Server
	killed atomic.Bool
	ended  chan struct{} // closed when a replica that was killed has stopped

	mu      sync.Mutex
	running map[string]int // guarded by mu: calls of the tool "wait", by owner
}

var sharedKeys = []mcpserver.Key{{ID: "1", Secret: []byte("0123456789abcdef0123456789abcdef")}}

func newReplica(w *world, number int) *replica {
	r := &replica{
		number: number, world: w, ended: make(chan struct{}), running: make(map[string]int),
		link: &link{engine: w.engine, fate: fate{w.seed, 1000 + uint64(number)}},
	}
	r.web.open = make(map[*response]bool)
	quiet := slog.New(slog.DiscardHandler)
	r.server = mcpserver.New("model", "1", &mcpserver.Options{
		Keys: sharedKeys, Store: r.link, Bus: r.link, Logger: quiet,
		Load: &mcpserver.LoadOptions{ShareCalls: shareCalls, MaxCalls: maxCalls},
		HTTP: &mcpserver.HTTPOptions{Events: r.link, PrincipalStreams: shareStreams},
	})
	t := tasks.Enable(r.server, &tasks.Options{Logger: quiet, Durable: &tasks.DurableOptions{Attempts: 1000, MaxBackoff: 2 * time.Second}})
	r.addTools(t)
	r.server.HTTPHandler()
	return r
}

func (r *replica) String() string { return fmt.Sprint("replica ", r.number) }

// send sends a request of an owner.
func (r *replica) send(ctx context.Context, owner, method, body string, header http.Header) (*response, error) {
	res, err := r.web.send(ctx, r.server.HTTPHandler(), principal(owner), method, body, header)
	if res != nil {
		res.at = r
	}
	return res, err
}

func principal(owner string) mcp.Principal {
	return mcp.Principal{Issuer: "https://id.example.com", Subject: owner}
}

// kill cuts the replica from the engine and from its clients: nothing that it does from now on has
// an effect. Then it can end what it runs.
func (r *replica) kill() {
	if r.killed.Swap(true) {
		return
	}
	r.link.set(dead)
	r.web.kill()
	go func() {
		defer close(r.ended)
		_ = r.stop(0)
	}()
}

// stop ends the replica.
func (r *replica) stop(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := r.server.Shutdown(ctx)
	r.web.work.Wait()
	return err
}

// enter counts a running call of an owner and returns a function that ends it.
func (r *replica) enter(owner string) (leave func()) {
	add := func(n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running[owner] += n
		r.world.facts.ran(r, owner, r.running[owner])
	}
	add(1)
	return func() { add(-1) }
}
