package replica_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/replica"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

func TestMain(m *testing.M) { leak.Main(m) }

// engine is a Store and a Bus for the processes of a test.
type engine struct {
	mcp.Store // of which Get, Put and Delete are used

	keys     *seal.Ring
	last     []byte   // the last message
	recorded []string // the bodies of messages of the kind "record"

	mu      sync.Mutex
	values  map[string]time.Time // when they expire
	deliver map[string]map[*func([]byte)]bool
	broken  bool
}

func (e *engine) fails() error {
	if e.broken {
		return errors.New("connection refused")
	}
	return nil
}

func (e *engine) Get(_ context.Context, key string) ([]byte, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return nil, time.Now().Before(e.values[key]), e.fails()
}

func (e *engine) Put(_ context.Context, key string, _ []byte, ttl time.Duration) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.values == nil {
		e.values = make(map[string]time.Time)
	}
	if !e.broken {
		e.values[key] = time.Now().Add(ttl)
	}
	return e.fails()
}

func (e *engine) Delete(_ context.Context, key string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.values, key)
	return nil
}

func (e *engine) Publish(_ context.Context, topic string, msg []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = msg
	for f := range e.deliver[topic] {
		go (*f)(msg)
	}
	return e.fails()
}

func (e *engine) Subscribe(_ context.Context, topic string, deliver func([]byte)) (func(), error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.fails(); err != nil {
		return nil, err
	}
	if e.deliver == nil {
		e.deliver = make(map[string]map[*func([]byte)]bool)
	}
	if e.deliver[topic] == nil {
		e.deliver[topic] = make(map[*func([]byte)]bool)
	}
	e.deliver[topic][&deliver] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.deliver[topic], &deliver)
	}, nil
}

func (e *engine) setBroken(broken bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = broken
}

func (e *engine) join(t *testing.T) *replica.Group {
	g := replica.New(replica.Options{Name: "test", Store: e, Bus: e, Keys: e.keys, Logger: slog.New(slog.DiscardHandler)})
	g.Handle("double", func(from string, body jsontext.Value) any { return string(body) + string(body) })
	g.Handle("record", func(from string, body jsontext.Value) any {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.recorded = append(e.recorded, string(body))
		return nil
	})
	g.Handle("panic", func(string, jsontext.Value) any { panic("oops") })
	t.Cleanup(g.Leave)
	return g
}

func TestAProcessAnswersAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &engine{keys: seal.Random()}
		one, two := e.join(t), e.join(t)
		if err := two.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		var answer string
		if err := one.Ask(t.Context(), two.ID(), "double", 7, &answer); err != nil || answer != "77" {
			t.Errorf("got %q, %v, want 77", answer, err)
		}
		began := time.Now()
		if err := one.Ask(t.Context(), "gone", "double", 7, &answer); err == nil || time.Since(began) > 2*time.Second {
			t.Errorf("a process that is gone: got %v after %v, want an error within 2 s", err, time.Since(began))
		}
		if err := one.Ask(t.Context(), two.ID(), "panic", nil, &answer); err == nil {
			t.Error("a handler that panics: got an answer")
		}
		if err := one.Send(t.Context(), two.ID(), "double", strings.Repeat("x", 64<<10)); !errors.Is(err, replica.ErrTooLarge) {
			t.Errorf("a large message: got %v, want %v", err, replica.ErrTooLarge)
		}
	})
}

// A failure here means that whoever can write to the Bus can send messages to the processes.
func TestMessagesAreThoseOfProcessesWithTheKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &engine{keys: seal.Random()}
		one, two := e.join(t), e.join(t)
		for _, g := range []*replica.Group{one, two} {
			if err := g.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := one.Send(t.Context(), two.ID(), "record", "sent"); err != nil {
			t.Fatal(err)
		}
		other := &engine{keys: seal.Random()}
		if err := other.join(t).Publish(t.Context(), "record", "of other keys"); err != nil {
			t.Fatal(err)
		}
		for _, forged := range [][]byte{[]byte(`{"from":"x","kind":"record","body":"plain"}`), e.last, other.last} {
			for topic := range e.deliver {
				if !strings.HasSuffix(topic, two.ID()) {
					_ = e.Publish(t.Context(), topic, forged)
				}
			}
		}
		synctest.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		if !slices.Equal(e.recorded, []string{`"sent"`}) {
			t.Errorf("got %q, want what was sent and nothing else", e.recorded)
		}
	})
}

func TestProcessesAreAliveUntilTheyStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &engine{keys: seal.Random()}
		one, two := e.join(t), e.join(t)
		if err := two.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		alive := func(want bool, when string) {
			t.Helper()
			if got, err := one.IsAlive(t.Context(), two.ID()); err != nil || got != want {
				t.Errorf("%s: got alive %v, %v, want %v", when, got, err, want)
			}
		}
		time.Sleep(time.Hour)
		alive(true, "after an hour")
		e.setBroken(true)
		time.Sleep(2 * time.Second)
		e.setBroken(false)
		alive(true, "after two seconds without the Store")
		two.Leave()
		synctest.Wait()
		alive(false, "after it has left")
	})
}

func TestProcessJoinsWhenTheBusWorksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &engine{keys: seal.Random(), broken: true}
		g := e.join(t)
		if err := g.Await(t.Context()); err == nil {
			t.Error("joined without a Bus")
		}
		e.setBroken(false)
		time.Sleep(10 * time.Second)
		if err := g.Await(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A failure here means that all processes take each other for dead when their Store comes back.
func TestNobodyIsTakenForDeadWhenTheStoreComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &engine{keys: seal.Random()}
		one, two := e.join(t), e.join(t)
		for _, g := range []*replica.Group{one, two} {
			if err := g.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		e.setBroken(true)
		time.Sleep(10 * time.Second)
		e.setBroken(false)
		for range 200 {
			if alive, err := one.IsAlive(t.Context(), two.ID()); err != nil || !alive {
				t.Fatalf("got alive %v, %v, want true", alive, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		two.Leave()
		synctest.Wait()
		if alive, err := one.IsAlive(t.Context(), two.ID()); err != nil || alive {
			t.Errorf("after it has left: got alive %v, %v, want false", alive, err)
		}
	})
}
