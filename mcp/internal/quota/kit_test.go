package quota_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/quota"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMain(m *testing.M) {
	testdir.Prepare() // PostgreSQL has a user of its own, who must reach its files
	leak.Main(m)
}

var errDown = errors.New("the store is down")

// engine is the Store that replicas share. Its operations take up to latency. It can be down, and
// it can be silent: then operations end with their context.
type engine struct {
	mcpserver.MemoryStore
	latency time.Duration

	mu           sync.Mutex
	down, silent bool
}

func (e *engine) set(down, silent bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down, e.silent = down, silent
}

func (e *engine) wait(ctx context.Context) error {
	e.mu.Lock()
	down, silent := e.down, e.silent
	e.mu.Unlock()
	if silent {
		<-ctx.Done()
		return ctx.Err()
	}
	if e.latency > 0 {
		time.Sleep(rand.N(e.latency))
	}
	if down {
		return errDown
	}
	return nil
}

// connection is the Store of one replica. It records the operations of each owner.
type connection struct {
	*engine
	mu         sync.Mutex
	operations map[string][]time.Time // by the part of the key that identifies the owner
	names      []string
}

func (c *connection) record(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	owner := strings.Split(key, ".")[1]
	c.operations[owner] = append(c.operations[owner], time.Now())
	c.names = append(c.names, key)
}

// owners returns the operations of all owners but one: those that count the replicas.
func (c *connection) owners(members string) map[string][]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string][]time.Time)
	for owner, times := range c.operations {
		if owner != members {
			all[owner] = append(all[owner], times...)
		}
	}
	return all
}

// keys returns the keys and prefixes of all operations.
func (c *connection) keys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

func (c *connection) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	c.record(key)
	if err := c.wait(ctx); err != nil {
		return err
	}
	return c.engine.Put(ctx, key, value, ttl)
}

func (c *connection) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	c.record(prefix)
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	return c.engine.List(ctx, prefix, after, limit)
}

type replica struct {
	*quota.Group
	store   *connection
	members string
}

// newReplicas returns replicas that know of each other.
func newReplicas(t *testing.T, e *engine, n int) (all []replica) {
	for range n {
		all = append(all, newReplica(t, e))
		time.Sleep(rand.N(time.Second))
	}
	time.Sleep(10 * time.Second)
	return all
}

func newReplica(t *testing.T, e *engine) replica {
	c := &connection{engine: e, operations: make(map[string][]time.Time)}
	g := quota.New(quota.Options{Store: c, Server: "shop", Secret: []byte("secret"), Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	return replica{g, c, strings.Split(g.MembersPrefix(), ".")[1]}
}

func principal(name string) mcp.Principal {
	return mcp.Principal{Issuer: "https://issuer.example", Subject: name}
}

func key(rate mcp.Rate) quota.Key {
	return quota.Key{Name: "rate.tools", Principal: principal("ann"), Rate: rate}
}

// call sends calls to the replicas for a time, at a rate of each, and returns how many were
// admitted. The calls are spread over the time at random.
func call(t *testing.T, d time.Duration, k quota.Key, perSecond []float64, replicas []replica) (admitted int) {
	t.Helper()
	const step = time.Millisecond
	for range int(d / step) {
		begin := time.Now()
		for i, r := range replicas {
			for due := perSecond[i] * step.Seconds(); due > 0; due-- {
				if rand.Float64() < due {
					if _, ok := r.Take(k); ok {
						admitted++
					}
				}
			}
		}
		if time.Since(begin) != 0 {
			t.Fatal("a call has waited")
		}
		time.Sleep(step)
	}
	return admitted
}

// demands returns the calls a second of each replica.
func demands(total float64, parts ...float64) (perSecond []float64) {
	for _, p := range parts {
		perSecond = append(perSecond, total*p)
	}
	return perSecond
}

// near reports whether got is within 10 percent of want.
func near(got int, want float64) bool { return math.Abs(float64(got)-want) <= want/10 }
