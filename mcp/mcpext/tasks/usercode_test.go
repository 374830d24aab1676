package tasks_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/hooktest"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// userCodes are the places where tasks run code of the server's author, other than
// handlers.
var userCodes = []string{
	"Store.Create", "Store.Get", "Store.Swap", "Store.Delete", "Bus.Publish", "Bus.Subscribe",
	"Logger: task begins", "Logger: task ended",
}

// hooks runs a function in one of these places while it is armed. What the function
// calls itself does not run it again.
type hooks struct {
	place   string
	armed   atomic.Bool
	running atomic.Bool
	ran     atomic.Bool
	hook    func(context.Context)
}

func (h *hooks) run(ctx context.Context, place string) {
	if place == h.place && h.armed.Load() && h.running.CompareAndSwap(false, true) {
		defer h.running.Store(false)
		h.ran.Store(true)
		h.hook(ctx)
	}
}

type hookedStore struct {
	mcp.Store
	*hooks
}

func (s hookedStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	s.run(ctx, "Store.Get")
	return s.Store.Get(ctx, key)
}

func (s hookedStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	s.run(ctx, "Store.Create")
	return s.Store.Create(ctx, key, value, ttl)
}

func (s hookedStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	s.run(ctx, "Store.Swap")
	return s.Store.Swap(ctx, key, old, value, ttl)
}

func (s hookedStore) Delete(ctx context.Context, key string) error {
	s.run(ctx, "Store.Delete")
	return s.Store.Delete(ctx, key)
}

type hookedBus struct {
	mcp.Bus
	*hooks
}

func (b hookedBus) Publish(ctx context.Context, topic string, msg []byte) error {
	b.run(ctx, "Bus.Publish")
	return b.Bus.Publish(ctx, topic, msg)
}

func (b hookedBus) Subscribe(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
	b.run(ctx, "Bus.Subscribe")
	return b.Bus.Subscribe(ctx, topic, deliver)
}

// runUserCode runs tasks of every kind with a hook in one place. Every call has to come
// to its end, and the server to answer afterwards.
func runUserCode(t *testing.T, v mcp.Revision, place string, hook func(context.Context, *mcpserver.Server)) {
	t.Helper()
	var srv *mcpserver.Server
	h := &hooks{place: place, hook: func(ctx context.Context) { hook(ctx, srv) }}
	srv = mcpserver.New("works", "1", &mcpserver.Options{
		Logger: quiet, Store: hookedStore{new(mcpserver.MemoryStore), h}, Bus: hookedBus{new(mcpserver.MemoryBus), h},
		Keys: []mcpserver.Key{{ID: "a", Secret: []byte(strings.Repeat("k", 32))}},
	})
	endLater(t, srv)
	all := tasks.Enable(srv, &tasks.Options{Logger: slog.New(hooktest.Log{Hook: func(ctx context.Context, r slog.Record) { h.run(ctx, "Logger: "+r.Message) }}), TTL: 10 * time.Second})
	srv.Tool("slow", "", slow, all.AsTask())
	srv.Tool("late", "", func(ctx context.Context, in work) (string, error) {
		ctx, err := tasks.Begin(ctx)
		if err != nil {
			return "", err
		}
		tasks.Status(ctx, "working")
		return slow(ctx, in)
	}, all.AsTask(tasks.Late))
	c := dial(t, srv, user("ada"), &mcpclient.Options{
		Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(nil)}, Logger: quiet,
	})
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"slow", "late"} {
		h.armed.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for range 2 { // the second removes the first, which has expired
			err := callAndWait(ctx, c, tool)
			if ctx.Err() != nil || err != nil && strings.Contains(err.Error(), ".go:") {
				t.Errorf("%s: got %v, want a result or an error without a stack", tool, err)
			}
			time.Sleep(20 * time.Second)
		}
		cancel()
		h.armed.Store(false)
		if err := callAndWait(t.Context(), c, tool); err != nil {
			t.Errorf("%s: got %v, want a result as before", tool, err)
		}
	}
	if !h.ran.Load() {
		t.Errorf("%s was not called", place)
	}
}

// callAndWait calls a tool as a task and returns the error of the call or of the task.
func callAndWait(ctx context.Context, c *mcpclient.Client, tool string) error {
	h, err := tasks.Call(ctx, c, tool, work{Seconds: 1})
	if err == nil {
		_, err = h.Wait(ctx)
	}
	return err
}

func TestUserCodeMayUseTasks(t *testing.T) {
	for _, place := range userCodes {
		t.Run(place, func(t *testing.T) {
			eachEra(t, func(t *testing.T, v mcp.Revision) {
				synctest.Test(t, func(t *testing.T) {
					runUserCode(t, v, place, func(ctx context.Context, srv *mcpserver.Server) {
						_, _ = tasks.Begin(ctx)
						_, _, _ = srv.Store().Get(ctx, "task.other")
						srv.RemoveTool("other")
					})
				})
			})
		})
	}
}

func TestPanicOfUserCodeFailsOneTaskAtMost(t *testing.T) {
	for _, place := range userCodes {
		t.Run(place, func(t *testing.T) {
			eachEra(t, func(t *testing.T, v mcp.Revision) {
				synctest.Test(t, func(t *testing.T) {
					runUserCode(t, v, place, func(context.Context, *mcpserver.Server) { panic("lost marbles") })
				})
			})
		})
	}
}
