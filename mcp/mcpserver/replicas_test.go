package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// replica is one of several servers of notes on a Bus.
func replica(t *testing.T, bus mcp.Bus) *mcpserver.Server {
	srv := newServer(&mcpserver.Options{Bus: bus, Keys: []mcpserver.Key{{ID: "1", Secret: []byte(strings.Repeat("k", 32))}}})
	srv.BatchChanges(func() {
		srv.Tool("echo", "", nothing)
		srv.Resource("notes://a", "a", "", fixed(""))
		srv.Resource("notes://dir/", "dir", "", fixed(""))
		srv.Resource("notes://dir/x", "part", "", fixed(""))
		srv.Resource("notes://b", "b", "", fixed(""))
	})
	t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
	return srv
}

// settle lets what was announced so far reach w, and drops it.
func settle(w *wire) {
	time.Sleep(time.Second)
	synctest.Wait()
	drainNotes(w)
}

func TestChangesAnnouncedOnOneReplicaReachSubscribersOfAll(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		bus := new(mcpserver.MemoryBus)
		one, two := replica(t, bus), replica(t, bus)
		w := dial(t, two, r)
		watch(w, "notes://a")
		watch(w, "notes://dir/")
		watchLists(w)
		settle(w)
		one.Updated("notes://a")
		if got := w.updates(1); got != "notes://a" {
			t.Errorf("got %s, want notes://a", got)
		}
		one.Updated("notes://dir/x")
		if got := w.updates(1); got != "notes://dir/x" {
			t.Errorf("got %s, want the part", got)
		}
		one.Updated("notes://b")
		w.Quiet()
		one.RemoveTool("echo")
		w.Notification("notifications/tools/list_changed")
		w.Quiet()
		two.Updated("notes://a")
		w.updates(1)
		w.Quiet() // and not once more, from its own announcement
	})
}

func TestReplicasOfAnotherServerNameGetNoChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := new(mcpserver.MemoryBus)
		w := dial(t, replica(t, bus), mcp.V20260728)
		watchLists(w)
		other := mcpserver.New("other", "1", &mcpserver.Options{Bus: bus})
		settle(w)
		other.Tool("new", "", nothing)
		w.Quiet()
		if err := other.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestChangesOfReplicasReachOnlyClientsThatSeeTheFeature(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		bus := new(mcpserver.MemoryBus)
		one, two := replica(t, bus), replica(t, bus)
		for _, srv := range []*mcpserver.Server{one, two} {
			srv.BatchChanges(func() {
				srv.Tool("hidden", "", nothing, hidden())
				srv.Tool("shown", "", nothing, mcpserver.Visible(func(who *mcp.Identity) bool { return who.Principal == mcp.PrincipalLocal }))
				srv.Resource("notes://dir/hidden", "hidden", "", fixed(""), hidden())
			})
		}
		w := dial(t, two, r)
		watch(w, "notes://dir/")
		watchLists(w)
		settle(w)
		one.EnableTool("hidden", false)
		one.Tool("unknown_there", "", nothing, hidden())
		one.Updated("notes://dir/hidden")
		w.Quiet()
		one.EnableTool("shown", false)
		w.Notification("notifications/tools/list_changed")
		w.Quiet()
	})
}

func TestThousandChangesReachTheOtherReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := new(mcpserver.MemoryBus)
		one, two := replica(t, bus), replica(t, bus)
		w := dial(t, two, mcp.V20260728)
		watch(w, "notes://a")
		watchLists(w)
		settle(w)
		for i := range 1000 {
			one.Tool(fmt.Sprint("t", i), "", nothing)
			one.Updated("notes://a")
			if i == 0 {
				synctest.Wait()
			}
		}
		for range 4 { // the first and the last of each
			w.Read()
		}
		w.Quiet()
	})
}

func TestChangeAnnouncedAtShutdownStillReachesReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := new(mcpserver.MemoryBus)
		one, two := replica(t, bus), replica(t, bus)
		w := dial(t, two, mcp.V20260728)
		watch(w, "notes://a")
		settle(w)
		begin := time.Now()
		one.Updated("notes://a")
		if err := one.Shutdown(t.Context()); err != nil || time.Since(begin) > 0 {
			t.Errorf("got %v after %v, want the shutdown at once", err, time.Since(begin))
		}
		if got := w.updates(1); got != "notes://a" {
			t.Errorf("got %s, want notes://a", got)
		}
		one.Updated("notes://a")
		w.Quiet()
	})
}

// sickBus fails, hangs and brings nonsense.
type sickBus struct {
	mcpserver.MemoryBus
	mu      sync.Mutex
	refuse  int  // subscriptions still to be refused
	hang    bool // publications
	deliver []func([]byte)
}

func (b *sickBus) Subscribe(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse--; b.refuse >= 0 {
		return nil, errors.New("no route to the bus")
	}
	b.deliver = append(b.deliver, deliver)
	return b.MemoryBus.Subscribe(ctx, topic, deliver)
}

func (b *sickBus) Publish(ctx context.Context, topic string, msg []byte) error {
	if b.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return b.MemoryBus.Publish(ctx, topic, msg)
}

func TestFailingBusDelaysNoCallAndIsRetried(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		bus := &sickBus{refuse: 6, hang: true}
		srv := replica(t, bus)
		w := dial(t, srv, r)
		latest := time.Now().Add(5 * time.Second)
		watch(w, "notes://a")
		if now := time.Now(); now.After(latest) {
			t.Errorf("got subscribed %v after the 5s that the bus has", now.Sub(latest))
		}
		begin := time.Now()
		for range 100 {
			srv.Updated("notes://a")
		}
		w.updates(1)
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("heard of the change after %v, want at once", waited)
		}
		time.Sleep(time.Minute) // the bus is well, and what it may have lost is made good
		w.Must("tools/list", "")
		if got := fmt.Sprint(w.Held); !strings.Contains(got, "notes://a") {
			t.Errorf("got %s, want notes://a among all that the subscriber hears of", got)
		}
		w.Held = nil
		for _, msg := range []string{``, `{}`, `[]`, `{"from":"x","method":"notifications/nonsense"}`, `{"from":"x","method":1}`} {
			bus.deliver[0]([]byte(msg))
		}
		w.Quiet()
		bus.deliver[0]([]byte(`{"from":"x","method":"notifications/resources/updated"}`))
		w.updates(1)
	})
}

func TestSharedBusWithoutKeysIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	text := panicText(t, func() { mcpserver.New("test", "1", &mcpserver.Options{Bus: new(sickBus)}) })
	if want := "Options.Bus without Options.Keys"; !strings.Contains(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
	mcpserver.New("test", "1", &mcpserver.Options{Bus: new(mcpserver.MemoryBus)})
}

func TestMemoryBusKeepsTheContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, bus := t.Context(), new(mcpserver.MemoryBus)
		var got []string
		hear := func(msg []byte) { got = append(got, string(msg)) }
		cancel, err := bus.Subscribe(ctx, "a", hear)
		if err != nil {
			t.Fatal(err)
		}
		publish := func(topic, msg string) {
			t.Helper()
			text := []byte(msg)
			if err := bus.Publish(ctx, topic, text); err != nil {
				t.Error(err)
			}
			text[0] = '!' // the bus has not kept it
		}
		for _, msg := range []string{"1", "2", "3"} {
			publish("a", msg)
			publish("b", "of another topic")
		}
		synctest.Wait()
		cancel()
		cancel()
		publish("a", "late")
		synctest.Wait()
		if want := []string{"1", "2", "3"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, topic := range []string{"", "a b", "é", strings.Repeat("a", 257)} {
			if _, err := bus.Subscribe(ctx, topic, hear); err == nil {
				t.Errorf("topic %q was taken", topic)
			}
			if err := bus.Publish(ctx, topic, nil); err == nil {
				t.Errorf("topic %q was taken", topic)
			}
		}
		if err := bus.Publish(ctx, "a", make([]byte, 64<<10+1)); err == nil {
			t.Error("a message of more than 64 KiB was taken")
		}
	})
}

func TestSlowSubscriberOfAMemoryBusDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, release := new(mcpserver.MemoryBus), make(chan struct{})
		slow := 0
		cancel, _ := bus.Subscribe(t.Context(), "a", func([]byte) { <-release; slow++ })
		quick := 0
		cancelQuick, _ := bus.Subscribe(t.Context(), "a", func([]byte) { quick++ })
		for range 5000 {
			_ = bus.Publish(t.Context(), "a", []byte("x"))
			synctest.Wait()
		}
		close(release)
		synctest.Wait()
		cancel()
		cancelQuick()
		if quick != 5000 || slow > 1025 || slow < 1024 {
			t.Errorf("the quick one got %d and the slow one %d, want 5000 and about 1024", quick, slow)
		}
	})
}
