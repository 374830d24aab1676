package tasks_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// isEntry reports whether a key of the Store is that of the entry of a task.
func isEntry(key string) bool { return strings.HasPrefix(key, "task.") }

// A key is written before the entry that it describes, and found by others in between.
func TestTaskKeepsItsKeyWhateverOthersFindWhileItIsRescheduled(t *testing.T) {
	claim.Shows(t, "B-14")
	for _, c := range []struct {
		name       string
		deleteLate bool // the other replica deletes the key after the task was rescheduled
	}{{"deleted before the entry is written", false}, {"deleted afterwards", true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var store mcpserver.MemoryStore
				o := tasks.Options{Durable: &tasks.DurableOptions{Backoff: time.Millisecond}}
				one, two := newReplica(t, &store, o), newReplica(t, &store, o)
				var added, deleted atomic.Int64
				rescheduled := make(chan struct{})
				one.link.around = func(method, key string, call func() (bool, error)) (bool, error) {
					isDue := method == "Put" && strings.Contains(key, ".due.")
					if method == "Swap" && isEntry(key) && added.Load() == 1 {
						time.Sleep(4 * time.Second) // in which the other replica finds the key
					}
					ok, err := call()
					if isDue && added.Add(1) == 2 {
						close(rescheduled)
					}
					return ok, err
				}
				two.link.around = func(method, key string, call func() (bool, error)) (bool, error) {
					if method == "Delete" && strings.Contains(key, ".due.") && deleted.Add(1) == 1 && c.deleteLate {
						select {
						case <-rescheduled:
						case <-time.After(4500 * time.Millisecond):
						}
					}
					return call()
				}
				var runs atomic.Int64
				for _, r := range []*durableReplica{one, two} {
					r.durableTool("order", func(context.Context, work) (string, error) {
						if runs.Add(1) == 1 {
							panic("no paper")
						}
						return "done", nil
					})
				}
				h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
				h = tasks.Resume(connect(t, two.Server, mcp.V20260728, nil), h.ID())
				waitFor(t, h, 20*time.Second, isCompleted)
				if deleted.Load() == 0 {
					t.Error("the other replica has not found the key too early, so that this test shows nothing")
				}
			})
		})
	}
}

// loseAnswer makes the next write of an entry, after a key with that part was written, succeed
// with an error.
func (r *durableReplica) loseAnswer(after string) {
	var lose atomic.Bool
	var once sync.Once
	r.link.around = func(method, key string, call func() (bool, error)) (bool, error) {
		if method == "Put" && strings.Contains(key, after) {
			once.Do(func() { lose.Store(true) })
		}
		ok, err := call()
		if method == "Swap" && isEntry(key) && lose.CompareAndSwap(true, false) {
			return false, errCut
		}
		return ok, err
	}
}

func TestTaskIsRetriedAlthoughTheAnswerOfTheStoreWasLost(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		r := newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{Backoff: 8 * time.Second}})
		r.loseAnswer(".due.")
		var runs atomic.Int64
		r.durableTool("order", func(context.Context, work) (string, error) {
			if runs.Add(1) == 1 {
				panic("no paper")
			}
			return "done", nil
		})
		h := begin(t, connect(t, r.Server, mcp.V20260728, nil), "order", work{})
		time.Sleep(3 * time.Second)
		hasOneKeyOf(t, &store, h.ID(), ".due.")
		waitFor(t, h, 20*time.Second, isCompleted)
		storeHasNothingOf(t, &store, h.ID())
	})
}

func TestDeadLetterIsListedAlthoughTheAnswerOfTheStoreWasLost(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		r := newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{Attempts: 1}})
		r.loseAnswer(".dead.")
		r.durableTool("order", func(context.Context, work) (string, error) { panic("no paper") })
		h := begin(t, connect(t, r.Server, mcp.V20260728, nil), "order", work{})
		time.Sleep(10 * time.Second)
		if letters := dead(t, r); len(letters) != 1 || letters[0].ID != h.ID() {
			t.Errorf("the dead letters are %+v", letters)
		}
		hasOneKeyOf(t, &store, h.ID(), ".dead.")
	})
}

// hasOneKeyOf checks that a task has one key in its queue, with that part.
func hasOneKeyOf(t *testing.T, store *mcpserver.MemoryStore, id, part string) {
	t.Helper()
	keys, err := store.List(t.Context(), "durable.", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return !strings.Contains(key, id) })
	if len(keys) != 1 || !strings.Contains(keys[0], part) {
		t.Errorf("the task has the keys %q, want one with %s", keys, part)
	}
}

func TestTaskIsTakenOverAlthoughTheAnswerOfTheStoreWasLost(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		killed := hang(t)
		one.durableTool("order", func(context.Context, work) (string, error) { killed(); return "", nil })
		var runs atomic.Int64
		two.durableTool("order", func(context.Context, work) (string, error) {
			if runs.Add(1) < 5 {
				panic("all attempts but the last")
			}
			return "done", nil
		})
		h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		synctest.Wait()
		one.link.cut.Store(true)
		two.loseAnswer(".run.")
		h = tasks.Resume(connect(t, two.Server, mcp.V20260728, nil), h.ID())
		time.Sleep(time.Minute)
		if n := runs.Load(); n != 4 {
			t.Errorf("the other replica has run the task %d times, want 4 of 5 attempts", n)
		}
		if letters := dead(t, two); len(letters) != 1 || letters[0].Attempts != 5 {
			t.Errorf("the dead letters are %+v, want one with 5 attempts", letters)
		}
		if err := two.tasks.RetryDeadLetter(t.Context(), h.ID()); err != nil {
			t.Fatal(err)
		}
		waitFor(t, h, 20*time.Second, isCompleted)
	})
}

func TestProcessThatTakesATaskTwiceRunsItOnceAndKeepsItsKey(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two, three := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		killed := hang(t)
		var runs atomic.Int64
		one.durableTool("order", func(context.Context, work) (string, error) { killed(); return "", nil })
		two.durableTool("order", func(context.Context, work) (string, error) { runs.Add(1); killed(); return "", nil })
		three.durableTool("order", func(context.Context, work) (string, error) { return "done", nil })
		h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		synctest.Wait()
		one.link.cut.Store(true)
		time.Sleep(10 * time.Second)
		two.link.around = func(method, key string, call func() (bool, error)) (bool, error) {
			if method == "Swap" && isEntry(key) {
				time.Sleep(time.Second) // so that both calls have read the entry
			}
			return call()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { _ = two.tasks.Run(ctx, h.ID()) })
		}
		both.Wait()
		if n := runs.Load(); n != 1 {
			t.Errorf("the task was run %d times, want once", n)
		}
		two.link.cut.Store(true)
		h = tasks.Resume(connect(t, three.Server, mcp.V20260728, nil), h.ID())
		waitFor(t, h, 10*time.Second, isCompleted)
	})
}

func TestTaskIsNotCreatedByAProcessThatHasLostItsLease(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		for _, r := range []*durableReplica{one, two} {
			r.durableTool("order", func(context.Context, work) (string, error) { return "done", nil })
		}
		one.link.around = func(method, key string, call func() (bool, error)) (bool, error) {
			switch {
			case method == "Swap" && strings.Contains(key, ".lease."):
				return false, errCut
			case method == "Create" && isEntry(key):
				time.Sleep(15 * time.Second)
			}
			return call()
		}
		connect(t, two.Server, mcp.V20260728, nil)
		if h, err := tasks.Call(t.Context(), connect(t, one.Server, mcp.V20260728, nil), "order", work{}); err == nil {
			t.Errorf("got the task %s, which nobody runs", h.ID())
		}
		keys, err := store.List(t.Context(), "task.", "", 10)
		if err != nil || len(keys) != 0 {
			t.Errorf("the Store has the tasks %q, %v, want none", keys, err)
		}
	})
}

// A replica can have other keys for a while, as when keys are rotated in the wrong order.
func TestTasksOfOtherKeysAreLeftAlone(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		o := tasks.Options{Durable: &tasks.DurableOptions{Attempts: 1}}
		one, two := newReplica(t, &store, o), newReplica(t, &store, o)
		other := newReplicaWithKeys(t, &store, o, []mcpserver.Key{{ID: "other", Secret: bytes.Repeat([]byte("o"), 32)}})
		for _, r := range []*durableReplica{one, two, other} {
			r.durableTool("order", func(ctx context.Context, in work) (string, error) {
				if in.Label == "dead" && r == one {
					panic("no paper")
				}
				if r == one {
					<-ctx.Done()
				}
				return "done", context.Cause(ctx)
			})
		}
		c := connect(t, one.Server, mcp.V20260728, nil)
		letter := begin(t, c, "order", work{Label: "dead"})
		synctest.Wait()
		running := begin(t, c, "order", work{})
		synctest.Wait()
		connect(t, other.Server, mcp.V20260728, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = one.Shutdown(ctx)
		time.Sleep(time.Minute)
		if letters := dead(t, other); len(letters) != 0 {
			t.Errorf("a replica with another key lists the dead letters %+v", letters)
		}
		c = connect(t, two.Server, mcp.V20260728, nil)
		waitFor(t, tasks.Resume(c, running.ID()), 10*time.Second, isCompleted)
		if letters := dead(t, two); len(letters) != 1 {
			t.Fatalf("the dead letters are %+v, want one", letters)
		}
		if err := two.tasks.RetryDeadLetter(t.Context(), letter.ID()); err != nil {
			t.Fatal(err)
		}
		waitFor(t, tasks.Resume(c, letter.ID()), 10*time.Second, isCompleted)
	})
}

func TestShortLossOfTheStoreEndsNoQuestion(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		for _, r := range []*durableReplica{one, two} {
			r.durableTool("book", func(ctx context.Context, _ work) (string, error) {
				if r == one {
					cutFor(r, 3*time.Second)
				}
				seat, err := mcpserver.Ask[named](ctx, "seat", "Which seat?")
				if err != nil {
					return "failed", err
				}
				return seat.Name, nil
			})
		}
		h := begin(t, mcpclientWith(t, one.Server, mcp.V20260728, sayYes), "book", work{})
		c := mcpclientWith(t, two.Server, mcp.V20260728, func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"12"}`)}, nil
		})
		h = tasks.Resume(c, h.ID())
		waitFor(t, h, 5*time.Second, isAsking)
		for range 150 { // the task reads its answers from time to time, also while the Store is away
			if !one.link.cut.Load() {
				time.Sleep(time.Second)
				cutFor(one, 3*time.Second)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if task := state(t, h); !isAsking(task) {
			t.Fatalf("the task is %+v, want it to wait for its answer", task)
		}
		if got := resultOf(t, h); got != "12" {
			t.Errorf("got %q", got)
		}
	})
}

// cutFor cuts the connection of a replica to the Store for a while.
func cutFor(r *durableReplica, d time.Duration) {
	r.link.cut.Store(true)
	time.AfterFunc(d, func() { r.link.cut.Store(false) })
}

func isAsking(task tasks.Task) bool { return task.Status == mcp.TaskInputRequired }

func TestQuestionStaysOpenWhenTheLeaseIsLost(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		var lost atomic.Bool
		one.link.around = func(method, key string, call func() (bool, error)) (bool, error) {
			if lost.Load() && method == "Swap" && strings.Contains(key, ".lease.") {
				return false, errCut
			}
			return call()
		}
		for _, r := range []*durableReplica{one, two} {
			r.durableTool("book", func(ctx context.Context, _ work) (string, error) {
				seat, err := mcpserver.Ask[named](ctx, "seat", "Which seat?")
				return seat.Name, err
			})
		}
		h := begin(t, mcpclientWith(t, one.Server, mcp.V20260728, sayYes), "book", work{})
		h = tasks.Resume(mcpclientWith(t, two.Server, mcp.V20260728, sayYes), h.ID())
		waitFor(t, h, time.Second, isAsking)
		lost.Store(true)
		for range 150 {
			if task := state(t, h); !isAsking(task) {
				t.Fatalf("the task is %+v, want it to wait for its answer", task)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

func TestStepThatMakesATaskTooLargeForTheStoreFails(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		r := newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{MaxMemory: 512 << 10}})
		r.durableTool("book", func(ctx context.Context, _ work) (string, error) {
			seat, err := mcpserver.Ask[named](ctx, "seat", "Which seat?")
			return seat.Name, err
		})
		c := mcpclientWith(t, r.Server, mcp.V20260728, func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"` + strings.Repeat("x", 400<<10) + `"}`)}, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		result, err := begin(t, c, "book", work{}).Wait(ctx)
		if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "want at most 1044480") {
			t.Errorf("got %+v, %v, want an error that names the limit", result, err)
		}
	})
}

func TestAnswerThatIsTooLargeForTheStoreIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		r := newReplica(t, &store, tasks.Options{})
		r.durableTool("book", func(ctx context.Context, _ work) (string, error) {
			seat, err := mcpserver.Ask[named](ctx, "seat", "Which seat?")
			return seat.Name, err
		})
		c := mcpclientWith(t, r.Server, mcp.V20260728, sayYes)
		h := begin(t, c, "book", work{})
		waitFor(t, h, time.Second, isAsking)
		answer := func(name string) error {
			value := jsontext.Value(`{"action":"accept","content":{"name":"` + name + `"}}`)
			return c.Request(t.Context(), tasks.MethodUpdate, &taskUpdate{TaskID: h.ID(), InputResponses: map[string]jsontext.Value{"seat": value}}, new(mcp.EmptyResult))
		}
		err := answer(strings.Repeat("x", 900<<10))
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Number != -32602 || !strings.Contains(e.Message, "want at most 1044480") {
			t.Errorf("got %v, want -32602 and the limit", err)
		}
		if err := answer("12"); err != nil {
			t.Fatal(err)
		}
		if got := resultOf(t, h); got != "12" {
			t.Errorf("got %q", got)
		}
	})
}

func TestDurableOptionsOutOfTheirRangesPanic(t *testing.T) {
	for _, o := range []tasks.DurableOptions{{Attempts: -1}, {Backoff: -1}, {MaxBackoff: -1}, {MaxTaken: -1}, {MaxMemory: -1}, {MaxMemory: 512<<10 + 1}} {
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "tasks: DurableOptions.") {
					t.Errorf("%+v: got the panic %q, want one that names the option", o, text)
				}
			}()
			tasks.Enable(mcpserver.New("works", "1", nil), &tasks.Options{Durable: &o})
		}()
	}
}

func TestCallThatCannotBeReadIsNoAttempt(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		o := tasks.Options{Durable: &tasks.DurableOptions{Attempts: 2}}
		one, two := newReplica(t, &store, o), newReplica(t, &store, o)
		killed := hang(t)
		one.durableTool("order", func(context.Context, work) (string, error) { killed(); return "", nil })
		two.durableTool("order", func(context.Context, work) (string, error) { return "done", nil })
		var failed atomic.Int64
		two.link.around = func(method, key string, call func() (bool, error)) (bool, error) {
			if method == "Get" && strings.HasPrefix(key, "taskcall.") && failed.Add(1) <= 4 {
				return false, errCut
			}
			return call()
		}
		h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		synctest.Wait()
		one.link.cut.Store(true)
		waitFor(t, tasks.Resume(connect(t, two.Server, mcp.V20260728, nil), h.ID()), time.Minute, isCompleted)
	})
}

func TestTimeBetweenRefusedAttemptsGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		o := tasks.Options{Durable: &tasks.DurableOptions{Backoff: 10 * time.Second}}
		one, two := newReplica(t, &store, o), newReplica(t, &store, o)
		killed := hang(t)
		one.durableTool("order", func(context.Context, work) (string, error) { killed(); return "", nil })
		two.durableTool("order", func(context.Context, work) (string, error) { return "done", nil })
		var refused []time.Time
		two.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == mcp.MethodToolsCall && len(refused) < 4 {
					refused = append(refused, time.Now())
					return nil, mcp.PeerRetryLaterf(mcp.CodeOverloaded, time.Millisecond, "later")
				}
				return next(ctx, r)
			}
		})
		h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		synctest.Wait()
		one.link.cut.Store(true)
		waitFor(t, tasks.Resume(connect(t, two.Server, mcp.V20260728, nil), h.ID()), 5*time.Minute, isCompleted)
		if waited := refused[3].Sub(refused[2]); waited < 20*time.Second {
			t.Errorf("the fourth attempt began %v after the third, want 20s to 40s, four times the first wait", waited)
		}
	})
}

func TestProcessesThatEndWhileATaskWaitsAreNoAttempts(t *testing.T) {
	claim.Shows(t, "B-14")
	for _, c := range []struct {
		name  string
		crash bool // the handler ends its process before it asks again
	}{{"and asks again", false}, {"but end before it asks again", true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var store mcpserver.MemoryStore
				o := tasks.Options{Durable: &tasks.DurableOptions{Attempts: 1}}
				killed := hang(t)
				var last *durableReplica
				var h *tasks.Handle
				for i := range 3 {
					r := newReplica(t, &store, o)
					r.durableTool("book", func(ctx context.Context, _ work) (string, error) {
						if i == 1 && c.crash {
							r.link.cut.Store(true)
							killed()
						}
						seat, err := mcpserver.Ask[named](ctx, "seat", "Which seat?")
						return seat.Name, err
					})
					client := mcpclientWith(t, r.Server, mcp.V20260728, func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"12"}`)}, nil
					})
					if i == 0 {
						h = begin(t, client, "book", work{})
					}
					h = tasks.Resume(client, h.ID())
					if last != nil {
						last.link.cut.Store(true)
					}
					last = r
					time.Sleep(12 * time.Second)
				}
				if c.crash {
					if letters := dead(t, last); len(letters) != 1 {
						t.Errorf("the dead letters are %+v, want one", letters)
					}
					return
				}
				if got := resultOf(t, h); got != "12" {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}
