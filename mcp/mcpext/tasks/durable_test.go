package tasks_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// link is the connection of one replica to the Store. It can be cut.
type link struct {
	mcp.Store
	cut   atomic.Bool
	calls atomic.Int64
	// around makes a call with a key, if it is not nil: method and key say which.
	around func(method, key string, call func() (bool, error)) (bool, error)
	// swapped returns the error of a Swap that has happened, if it is not nil.
	swapped func(key string, value []byte) error
}

// do makes a call with a key.
func (l *link) do(method, key string, call func() (bool, error)) (bool, error) {
	if err := l.use(); err != nil {
		return false, err
	}
	if l.around != nil {
		return l.around(method, key, call)
	}
	return call()
}

var errCut = errors.New("the connection to the Store is cut")

func (l *link) use() error {
	l.calls.Add(1)
	if l.cut.Load() {
		return errCut
	}
	return nil
}

func (l *link) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	found, err = l.do("Get", key, func() (bool, error) {
		value, found, err = l.Store.Get(ctx, key)
		return found, err
	})
	return value, found, err
}

func (l *link) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := l.do("Put", key, func() (bool, error) { return true, l.Store.Put(ctx, key, value, ttl) })
	return err
}

func (l *link) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	return l.do("Create", key, func() (bool, error) { return l.Store.Create(ctx, key, value, ttl) })
}

func (l *link) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	return l.do("Swap", key, func() (bool, error) {
		swapped, err := l.Store.Swap(ctx, key, old, value, ttl)
		if l.swapped != nil && swapped && err == nil {
			if err := l.swapped(key, value); err != nil {
				return false, err
			}
		}
		return swapped, err
	})
}

func (l *link) Delete(ctx context.Context, key string) error {
	_, err := l.do("Delete", key, func() (bool, error) { return true, l.Store.Delete(ctx, key) })
	return err
}

func (l *link) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	if err := l.use(); err != nil {
		return nil, err
	}
	return l.Store.List(ctx, prefix, after, limit)
}

// durableReplica is a server that shares its Store with others.
type durableReplica struct {
	*mcpserver.Server
	tasks *tasks.Tasks
	link  *link
}

func newReplica(t *testing.T, store mcp.Store, o tasks.Options) *durableReplica {
	t.Helper()
	return newReplicaWithKeys(t, store, o, durableKeys)
}

func newReplicaWithKeys(t *testing.T, store mcp.Store, o tasks.Options, keys []mcpserver.Key) *durableReplica {
	t.Helper()
	r := &durableReplica{link: &link{Store: store}}
	r.Server = mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet, Store: r.link, Keys: keys})
	o.Logger = quiet
	r.tasks = tasks.Enable(r.Server, &o)
	t.Cleanup(func() {
		r.link.cut.Store(false)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.Shutdown(ctx)
	})
	return r
}

var durableKeys = []mcpserver.Key{{ID: "k", Secret: bytes.Repeat([]byte("s"), 32)}}

// durableTool registers a durable tool.
func (r *durableReplica) durableTool(name string, h func(ctx context.Context, in work) (string, error)) {
	r.Tool(name, "Works", h, mcpserver.Durable(), r.tasks.AsTask())
}

// ledger records the side effects of steps, outside of all replicas.
type ledger struct {
	mu    sync.Mutex
	lines []string
}

// write is a side effect.
func (l *ledger) write(step string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, step)
}

func (l *ledger) step(ctx context.Context, key string) error {
	_, err := mcpserver.Once(ctx, key, func() (int, error) { l.write(key); return 0, nil })
	return err
}

func (l *ledger) has(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.lines, want) {
		t.Errorf("the ledger has the side effects %q, want %q", l.lines, want)
	}
}

// hang is a process that was killed: it never goes on until the test ends.
func hang(t *testing.T) func() {
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return func() { <-end }
}

// waitFor returns the state of a task once it is as wanted, at the latest after that time.
func waitFor(t *testing.T, h *tasks.Handle, within time.Duration, ok func(tasks.Task) bool) tasks.Task {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		task := state(t, h)
		if ok(task) {
			return task
		}
		if time.Now().After(end) {
			t.Fatalf("the task is not as wanted after %v: %+v", within, task)
		}
	}
}

func isCompleted(task tasks.Task) bool { return task.Status == mcp.TaskCompleted }

func resultOf(t *testing.T, h *tasks.Handle) string {
	t.Helper()
	result, err := h.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result.Content.Text()
}

func TestDurableTaskOfAKilledProcessContinuesOnAnotherReplica(t *testing.T) {
	claim.Shows(t, "B-14")
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		synctest.Test(t, func(t *testing.T) {
			var store mcpserver.MemoryStore
			var made ledger
			var ids sync.Map
			killed := hang(t)
			one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
			for _, r := range []*durableReplica{one, two} {
				r.durableTool("order", func(ctx context.Context, in work) (string, error) {
					ids.Store(r, mcpserver.NewID(ctx, "key"))
					if err := made.step(ctx, "reserve"); err != nil {
						return "", err
					}
					if r == one {
						r.link.cut.Store(true)
						killed()
					}
					if err := made.step(ctx, "charge"); err != nil {
						return "", err
					}
					return "ordered " + in.Label, nil
				})
			}
			c := connect(t, two.Server, v, nil)
			h := tasks.Resume(c, begin(t, connect(t, one.Server, v, nil), "order", work{Label: "a chair"}).ID())
			began := time.Now()
			waitFor(t, h, 10*time.Second, isCompleted)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the task continued after %v, want at most 10s", took)
			}
			if got := resultOf(t, h); got != "ordered a chair" {
				t.Errorf("got %q", got)
			}
			made.has(t, "reserve", "charge")
			first, _ := ids.Load(one)
			second, _ := ids.Load(two)
			if first != second {
				t.Errorf("NewID is %v in one run and %v in the other, want the same", first, second)
			}
		})
	})
}

// A replica that cannot reach the Store loses its lease. When it can reach the Store again it
// must change nothing of what another replica has taken over.
func TestReplicaThatWasPartitionedStoresNothing(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		var made ledger
		healed, checked := make(chan struct{}), make(chan struct{})
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		var late error
		one.durableTool("order", func(ctx context.Context, _ work) (string, error) {
			_, late = mcpserver.Once(ctx, "reserve", func() (int, error) {
				made.write("reserve on one")
				one.link.cut.Store(true)
				<-healed
				return 1, nil
			})
			_, err := mcpserver.Once(ctx, "charge", func() (int, error) { made.write("charge on one"); return 1, nil })
			late = errors.Join(late, err)
			tasks.Status(ctx, "from one")
			close(checked)
			return "from one", nil
		})
		two.durableTool("order", func(ctx context.Context, _ work) (string, error) {
			if err := made.step(ctx, "reserve"); err != nil {
				return "", err
			}
			one.link.cut.Store(false)
			close(healed)
			<-checked
			if err := made.step(ctx, "charge"); err != nil {
				return "", err
			}
			return "from two", nil
		})
		c := connect(t, two.Server, mcp.V20260728, nil)
		h := tasks.Resume(c, begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{}).ID())
		if got := resultOf(t, h); got != "from two" {
			t.Errorf("got %q, want the result of the replica that has taken the task over", got)
		}
		made.has(t, "reserve on one", "reserve", "charge")
		if late == nil {
			t.Error("steps on the replica that has lost the task have succeeded")
		}
		if task := state(t, h); task.StatusMessage == "from one" {
			t.Error("the replica that has lost the task has set its status message")
		}
	})
}

// A process can learn of the loss of its lease only from its own clock, as when it was paused.
func TestReplicaWithoutLeaseRunsNoFurtherStep(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		var made ledger
		one := newReplica(t, &store, tasks.Options{})
		failed := make(chan error, 1)
		one.durableTool("order", func(ctx context.Context, _ work) (string, error) {
			one.link.cut.Store(true)
			time.Sleep(7 * time.Second)
			failed <- made.step(ctx, "charge")
			return "", nil
		})
		begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		if err := <-failed; err == nil || !strings.Contains(err.Error(), "lease") {
			t.Errorf("got error %v, want one about the lease", err)
		}
		made.has(t)
	})
}

func TestShortLossOfTheStoreRepeatsNoStep(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		var made ledger
		one := newReplica(t, &store, tasks.Options{})
		two := newReplica(t, &store, tasks.Options{})
		for _, r := range []*durableReplica{one, two} {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				for i := range 3 {
					time.Sleep(3 * time.Second) // in which the lease is renewed
					r.link.cut.Store(true)
					time.AfterFunc(3*time.Second, func() { r.link.cut.Store(false) })
					if err := made.step(ctx, fmt.Sprint(i)); err != nil {
						return "", err
					}
				}
				time.Sleep(3 * time.Second)
				r.link.cut.Store(true)
				time.AfterFunc(3*time.Second, func() { r.link.cut.Store(false) })
				return "done", nil
			})
		}
		h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		h = tasks.Resume(connect(t, two.Server, mcp.V20260728, nil), h.ID())
		if got := resultOf(t, h); got != "done" {
			t.Errorf("got %q", got)
		}
		made.has(t, "0", "1", "2")
	})
}

func TestQuestionOfADurableTaskSurvivesItsProcess(t *testing.T) {
	claim.Shows(t, "B-14")
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		synctest.Test(t, func(t *testing.T) {
			var store mcpserver.MemoryStore
			killed := hang(t)
			asked := make(chan struct{})
			one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
			for _, r := range []*durableReplica{one, two} {
				r.durableTool("book", func(ctx context.Context, _ work) (string, error) {
					seat, err := mcpserver.Ask[named](ctx, "seat", "Which seat?")
					if err != nil {
						if r == one {
							killed()
						}
						return "", err
					}
					if r == one {
						r.link.cut.Store(true) // killed when it has the answer
						killed()
					}
					meal, err := mcpserver.Ask[named](ctx, "meal", "Which meal?")
					return seat.Name + " " + meal.Name, err
				})
			}
			answers := 0
			c := mcpclientWith(t, two.Server, v, func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				if answers++; answers == 1 {
					close(asked)
				}
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"` + p.Message + `"}`)}, nil
			})
			h := tasks.Resume(c, begin(t, mcpclientWith(t, one.Server, v, sayYes), "book", work{}).ID())
			if got := resultOf(t, h); got != "Which seat? Which meal?" {
				t.Errorf("got %q", got)
			}
			<-asked
			if answers != 2 {
				t.Errorf("the user was asked %d times, want 2", answers)
			}
		})
	})
}

// mcpclientWith returns a client with tasks that answers forms.
func mcpclientWith(t *testing.T, srv *mcpserver.Server, v mcp.Revision, answer func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcpclient.Client {
	t.Helper()
	c := dial(t, srv, user("ann"), &mcpclient.Options{
		Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(nil)}, ElicitForm: answer,
	})
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestShutdownLeavesDurableTasksToOtherReplicas(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		var made ledger
		o := tasks.Options{Durable: &tasks.DurableOptions{Attempts: 2}}
		one, two := newReplica(t, &store, o), newReplica(t, &store, o)
		runs := 0
		for _, r := range []*durableReplica{one, two} {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				if err := made.step(ctx, "reserve"); err != nil {
					return "", err
				}
				if r == one {
					<-ctx.Done()
					return "", context.Cause(ctx)
				}
				if runs++; runs == 1 {
					panic("which is the first attempt that fails")
				}
				return "done", made.step(ctx, "charge")
			})
		}
		h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		h = tasks.Resume(connect(t, two.Server, mcp.V20260728, nil), h.ID())
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = one.Shutdown(ctx)
		waitFor(t, h, 8*time.Second, isCompleted)
		made.has(t, "reserve", "charge")
	})
}

func TestAttemptsThatFailAreRepeatedWithBackoffUntilTheTaskIsADeadLetter(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		var made ledger
		r := newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{Attempts: 3, Backoff: 10 * time.Second}})
		var runs []time.Time
		broken := true
		r.durableTool("order", func(ctx context.Context, in work) (string, error) {
			runs = append(runs, time.Now())
			if err := made.step(ctx, "reserve"); err != nil {
				return "", err
			}
			if broken {
				panic("no paper")
			}
			return "ordered " + in.Label, nil
		})
		h := begin(t, connect(t, r.Server, mcp.V20260728, nil), "order", work{Label: "a chair"})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(runs) != 3 {
			t.Fatalf("there were %d runs, want 3", len(runs))
		}
		first, second := runs[1].Sub(runs[0]), runs[2].Sub(runs[1])
		if first < 5*time.Second || first > 14*time.Second || second < 10*time.Second || second > 24*time.Second {
			t.Errorf("the runs were %v and %v apart, want about 5s to 10s and 10s to 20s", first, second)
		}
		if task := state(t, h); task.Status != mcp.TaskWorking || strings.Contains(task.StatusMessage, "paper") {
			t.Errorf("the client sees %+v, want a task that works and no private error", task)
		}
		letters := dead(t, r)
		if len(letters) != 1 || letters[0].ID != h.ID() || letters[0].Attempts != 3 || letters[0].Tool != "order" || !strings.Contains(letters[0].Reason, "no paper") {
			t.Fatalf("the dead letters are %+v", letters)
		}
		if err := r.tasks.Run(t.Context(), h.ID()); err == nil {
			t.Error("Run runs a dead letter")
		}
		broken = false
		if err := r.tasks.RetryDeadLetter(t.Context(), h.ID()); err != nil {
			t.Fatal(err)
		}
		if err := r.tasks.RetryDeadLetter(t.Context(), h.ID()); err == nil {
			t.Error("a dead letter can be retried twice")
		}
		if got := resultOf(t, h); got != "ordered a chair" {
			t.Errorf("got %q", got)
		}
		if letters := dead(t, r); len(letters) != 0 {
			t.Errorf("dead letters are left: %+v", letters)
		}
		made.has(t, "reserve")
		storeHasNothingOf(t, &store, h.ID())
	})
}

func dead(t *testing.T, r *durableReplica) (letters []tasks.DeadLetter) {
	t.Helper()
	for d, err := range r.tasks.DeadLetters(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		letters = append(letters, d)
	}
	return letters
}

// storeHasNothingOf checks that a task that has ended has only its entry in the Store.
func storeHasNothingOf(t *testing.T, store *mcpserver.MemoryStore, id string) {
	t.Helper()
	synctest.Wait()
	keys, err := store.List(t.Context(), "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if strings.Contains(key, id) && key != "task."+id {
			t.Errorf("the Store has the key %s of a task that has ended", key)
		}
	}
}

func TestDeadLetterCanBeEndedAsFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		r := newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{Attempts: 1}})
		r.durableTool("order", func(context.Context, work) (string, error) { panic("no paper") })
		h := begin(t, connect(t, r.Server, mcp.V20260728, nil), "order", work{})
		time.Sleep(time.Second)
		if err := r.tasks.FailDeadLetter(t.Context(), h.ID(), "we are closed"); err != nil {
			t.Fatal(err)
		}
		if task := state(t, h); task.Status != mcp.TaskFailed || task.Error == nil || task.Error.Message != "we are closed" {
			t.Errorf("the task is %+v", task)
		}
		if err := r.tasks.FailDeadLetter(t.Context(), h.ID(), "again"); err == nil {
			t.Error("a task that has ended can be ended again")
		}
		storeHasNothingOf(t, &store, h.ID())
	})
}

func TestErrorsThatAskToRetryAreAttemptsAndOthersAreFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		r := newReplica(t, &store, tasks.Options{})
		var mu sync.Mutex
		runs := map[string][]time.Time{} // guarded by mu
		outcomes := map[string]error{
			"busy":    mcp.PeerRetryLaterf(mcp.CodeOverloaded, time.Minute, "the printer is busy"),
			"refused": mcp.Errorf(mcp.CodeInvalidParams, "no such chair"),
			"text":    errors.New("it did not work"),
		}
		for name, err := range outcomes {
			r.durableTool(name, func(context.Context, work) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				runs[name] = append(runs[name], time.Now())
				if len(runs[name]) == 2 {
					return "done", nil
				}
				return "", err
			})
		}
		c := connect(t, r.Server, mcp.V20260728, nil)
		got := make(map[string]tasks.Task)
		handles := make(map[string]*tasks.Handle)
		for name := range outcomes {
			handles[name] = begin(t, c, name, work{})
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for name, h := range handles {
			got[name] = state(t, h)
		}
		mu.Lock()
		defer mu.Unlock()
		if n := len(runs["busy"]); n != 2 || got["busy"].Status != mcp.TaskCompleted {
			t.Errorf("busy: %d runs, status %s, want 2 and completed", n, got["busy"].Status)
		} else if waited := runs["busy"][1].Sub(runs["busy"][0]); waited < time.Minute {
			t.Errorf("busy: the second run began after %v, want at least the minute that the error asks for", waited)
		}
		if n := len(runs["refused"]); n != 1 || got["refused"].Status != mcp.TaskFailed {
			t.Errorf("refused: %d runs, status %s, want 1 and failed", n, got["refused"].Status)
		}
		if n := len(runs["text"]); n != 1 || got["text"].Status != mcp.TaskCompleted {
			t.Errorf("text: %d runs, status %s, want 1 and completed, with a result that is an error", n, got["text"].Status)
		}
	})
}

func TestLostProcessesAreAttempts(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		killed := hang(t)
		var all []*durableReplica
		for range 3 {
			r := newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{Attempts: 2}})
			r.durableTool("order", func(context.Context, work) (string, error) {
				r.link.cut.Store(true)
				killed()
				return "", nil
			})
			all = append(all, r)
		}
		h := begin(t, connect(t, all[0].Server, mcp.V20260728, nil), "order", work{})
		for _, r := range all[1:] {
			connect(t, r.Server, mcp.V20260728, nil)
		}
		time.Sleep(40 * time.Second)
		alive := 0
		for _, r := range all {
			if r.link.cut.Load() {
				continue
			}
			alive++
			if letters := dead(t, r); len(letters) != 1 || letters[0].ID != h.ID() || letters[0].Attempts != 2 {
				t.Errorf("the dead letters are %+v", letters)
			}
		}
		if alive != 1 {
			t.Errorf("%d replicas have not run the task, want 1", alive)
		}
	})
}

func TestWorkerThatServesNobodyFinishesTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		var made ledger
		killed := hang(t)
		one, worker := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		for _, r := range []*durableReplica{one, worker} {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				if err := made.step(ctx, "reserve"); err != nil {
					return "", err
				}
				if r == one {
					killed()
				}
				return "done", made.step(ctx, "charge")
			})
		}
		h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		synctest.Wait()
		one.link.cut.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- tasks.Work(ctx, worker.Server) }()
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Work returned %v", err)
		}
		h = tasks.Resume(connect(t, worker.Server, mcp.V20260728, nil), h.ID())
		if !isCompleted(state(t, h)) {
			t.Errorf("the task is %+v", state(t, h))
		}
		made.has(t, "reserve", "charge")
	})
}

func TestTaskWhoseToolIsNotHereIsLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		killed := hang(t)
		one, other, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		one.durableTool("order", func(context.Context, work) (string, error) { killed(); return "", nil })
		other.durableTool("another", func(context.Context, work) (string, error) { return "wrong", nil })
		c := connect(t, other.Server, mcp.V20260728, nil)
		h := tasks.Resume(c, begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{}).ID())
		synctest.Wait()
		one.link.cut.Store(true)
		time.Sleep(time.Minute)
		if task := state(t, h); task.Status != mcp.TaskWorking {
			t.Fatalf("the task is %+v, want it left alone", task)
		}
		two.durableTool("order", func(context.Context, work) (string, error) { return "done", nil })
		connect(t, two.Server, mcp.V20260728, nil)
		waitFor(t, h, 5*time.Second, isCompleted)
	})
}

func TestOrphansGoIntoTheQueueOfTheAuthor(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		var made ledger
		killed := hang(t)
		queue := make(chan tasks.Orphan, 8)
		one := newReplica(t, &store, tasks.Options{})
		two := newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{Orphan: func(_ context.Context, o tasks.Orphan) error {
			queue <- o
			return nil
		}}})
		for _, r := range []*durableReplica{one, two} {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				if err := made.step(ctx, "reserve"); err != nil {
					return "", err
				}
				if r == one {
					killed()
				}
				return "done", made.step(ctx, "charge")
			})
		}
		h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		h = tasks.Resume(connect(t, two.Server, mcp.V20260728, nil), h.ID())
		if err := two.tasks.Run(t.Context(), h.ID()); err == nil {
			t.Error("Run runs a task that another process runs")
		}
		synctest.Wait()
		one.link.cut.Store(true)
		o := <-queue
		if o != (tasks.Orphan{ID: h.ID(), Tool: "order", Attempt: 2}) {
			t.Errorf("Orphan got %+v", o)
		}
		if again := <-queue; again != o {
			t.Errorf("Orphan got %+v when nobody has called Run, want %+v again", again, o)
		}
		if isCompleted(state(t, h)) {
			t.Error("the task was run although there is an Orphan")
		}
		if err := two.tasks.Run(t.Context(), o.ID); err != nil {
			t.Fatal(err)
		}
		if !isCompleted(state(t, h)) {
			t.Errorf("the task is %+v when Run has returned", state(t, h))
		}
		if err := two.tasks.Run(t.Context(), o.ID); err != nil {
			t.Errorf("Run of a task that has ended: %v", err)
		}
		time.Sleep(5 * time.Minute)
		if len(queue) != 0 {
			t.Errorf("Orphan got %d tasks that have ended", len(queue))
		}
		made.has(t, "reserve", "charge")
	})
}

func TestDurableTaskIsCancelledOnAnyReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		cause := make(chan error, 1)
		for _, r := range []*durableReplica{one, two} {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return "", context.Cause(ctx)
			})
		}
		h := begin(t, connect(t, one.Server, mcp.V20260728, nil), "order", work{})
		h = tasks.Resume(connect(t, two.Server, mcp.V20260728, nil), h.ID())
		if err := h.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-cause; !strings.Contains(err.Error(), "cancelled") {
			t.Errorf("the context ended with %v", err)
		}
		if task := state(t, h); task.Status != mcp.TaskCancelled {
			t.Errorf("the task is %+v", task)
		}
		storeHasNothingOf(t, &store, h.ID())
	})
}

// Who can read and write the Store can neither read what a durable task holds, nor make a server
// run something else, or tell its client something else.
func TestStoredDurableTasksCanBeNeitherReadNorForged(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		r := newReplica(t, &store, tasks.Options{})
		r.durableTool("order", func(ctx context.Context, in work) (string, error) {
			_, err := mcpserver.Once(ctx, "step", func() (string, error) { return "secret of a step", nil })
			if in.Seconds > 0 {
				<-ctx.Done()
			}
			return "secret result", err
		})
		c := connect(t, r.Server, mcp.V20260728, nil)
		running, ended := begin(t, c, "order", work{Label: "secret argument", Seconds: 1}), begin(t, c, "order", work{Label: "secret argument"})
		waitFor(t, ended, time.Second, isCompleted)
		values := make(map[string][]byte)
		keys, _ := store.List(t.Context(), "", "", 1000)
		for _, key := range keys {
			values[key], _, _ = store.Get(t.Context(), key)
			if bytes.Contains(values[key], []byte("secret")) || bytes.Contains(values[key], []byte("order")) {
				t.Errorf("the value of %s can be read: %q", key, values[key])
			}
		}
		set := func(key string, value []byte) {
			t.Helper()
			if err := store.Put(t.Context(), key, value, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		one, two := "task."+running.ID(), "task."+ended.ID()
		changed := slices.Clone(values[two])
		changed[len(changed)/2] ^= 1
		owner := sha256.Sum256([]byte(mcp.PrincipalLocal.String()))
		plain := fmt.Appendf(nil, `{"id":%q,"owner":%q,"status":"completed","created":"2000-01-01T00:00:00Z","updated":"2000-01-01T00:00:00Z","expires":"2100-01-01T00:00:00Z","poll":1,"lease":"2100-01-01T00:00:00Z","result":{}}`, ended.ID(), hex.EncodeToString(owner[:16]))
		for what, value := range map[string][]byte{"of another task": values[one], "changed": changed, "not encrypted": plain} {
			set(two, value)
			if _, err := ended.Get(t.Context()); !isUnknown(err) {
				t.Errorf("an entry that is %s is taken: %v", what, err)
			}
		}
		set(two, values[two])
		if !isCompleted(state(t, ended)) {
			t.Error("the entry itself is not taken any more")
		}
	})
}

func TestMemoryOfADurableTaskIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		r := newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{MaxMemory: 10_000}})
		r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
			_, err := mcpserver.Once(ctx, "small", func() (string, error) { return strings.Repeat("x", 5_000), nil })
			if err != nil {
				t.Error(err)
			}
			return mcpserver.Once(ctx, "large", func() (string, error) { return strings.Repeat("x", 6_000), nil })
		})
		h := begin(t, connect(t, r.Server, mcp.V20260728, nil), "order", work{})
		if got := resultOf(t, h); !strings.Contains(got, "large") || !strings.Contains(got, "the limit is 10000") {
			t.Errorf("got %q, want an error that names the step and the limit", got)
		}
	})
}

func TestCallThatIsTooLargeForTheStoreBecomesNoDurableTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		r := newReplica(t, &store, tasks.Options{})
		r.durableTool("order", func(context.Context, work) (string, error) { return "done", nil })
		c := connect(t, r.Server, mcp.V20260728, nil)
		_, err := tasks.Call(t.Context(), c, "order", work{Label: strings.Repeat("x", 800<<10)})
		if err == nil || !strings.Contains(err.Error(), "want at most 1048576 for a durable task") {
			t.Errorf("got %v, want an error with the limit", err)
		}
		if got := resultOf(t, begin(t, c, "order", work{Label: strings.Repeat("x", 400<<10)})); got != "done" {
			t.Errorf("got %q", got)
		}
	})
}

func TestTasksThatOneProcessTakesOverAreLimited(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{MaxTaken: 3}})
		killed := hang(t)
		var mu sync.Mutex
		running, most := make(map[string]int), make(map[string]int) // by owner; "" is for all
		count := func(owner string, n int) {
			mu.Lock()
			defer mu.Unlock()
			for _, of := range []string{"", owner} {
				running[of] += n
				most[of] = max(most[of], running[of])
			}
		}
		one.durableTool("order", func(context.Context, work) (string, error) { killed(); return "", nil })
		two.durableTool("order", func(_ context.Context, in work) (string, error) {
			count(in.Label, 1)
			time.Sleep(5 * time.Second)
			count(in.Label, -1)
			return "done", nil
		})
		var handles []*tasks.Handle
		for owner, n := range map[string]int{"ann": 8, "bob": 4} {
			first, second := as(t, one.Server, mcp.V20260728, user(owner)), as(t, two.Server, mcp.V20260728, user(owner))
			for range n {
				handles = append(handles, tasks.Resume(second, begin(t, first, "order", work{Label: owner}).ID()))
			}
		}
		synctest.Wait()
		one.link.cut.Store(true)
		for _, h := range handles {
			if got := resultOf(t, h); got != "done" {
				t.Errorf("got %q", got)
			}
		}
		if most[""] != 3 || most["ann"] != 2 || most["bob"] > 2 {
			t.Errorf("of all, of ann and of bob these were run at once: %v, want 3, 2 and at most 2", most)
		}
	})
}

func TestTasksThatWaitForAnswersLeaveTheirPlacesToOthers(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{MaxTaken: 1}})
		killed := hang(t)
		one.durableTool("confirm", func(context.Context, work) (string, error) { killed(); return "", nil })
		two.durableTool("confirm", func(ctx context.Context, in work) (string, error) {
			answer, err := mcpserver.Ask[named](ctx, "name", "Who are you?")
			return answer.Name + in.Label, err
		})
		c := mcpclientWith(t, one.Server, mcp.V20260728, sayYes)
		first, second := begin(t, c, "confirm", work{Label: " 1"}), begin(t, c, "confirm", work{Label: " 2"})
		synctest.Wait()
		one.link.cut.Store(true)
		c = mcpclientWith(t, two.Server, mcp.V20260728, func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"Ann"}`)}, nil
		})
		asks := func(task tasks.Task) bool { return task.Status == mcp.TaskInputRequired }
		waitFor(t, tasks.Resume(c, first.ID()), 20*time.Second, asks)
		waitFor(t, tasks.Resume(c, second.ID()), 20*time.Second, asks)
		if a, b := resultOf(t, tasks.Resume(c, first.ID())), resultOf(t, tasks.Resume(c, second.ID())); a != "Ann 1" || b != "Ann 2" {
			t.Errorf("got %q and %q", a, b)
		}
	})
}

// A rate of the tool, or of middleware, is for callers: a call that is made again was counted.
func TestRefusalsOfLimitsAreNoAttempts(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		o := tasks.Options{Durable: &tasks.DurableOptions{Attempts: 2, MaxBackoff: time.Second}}
		one, two := newReplica(t, &store, o), newReplica(t, &store, o)
		killed := hang(t)
		one.durableTool("order", func(context.Context, work) (string, error) { killed(); return "", nil })
		two.Tool("order", "Works", func(context.Context, work) (string, error) { return "done", nil },
			mcpserver.Durable(), two.tasks.AsTask(), mcpserver.Rate(0.001, 1))
		refused := 0
		two.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == mcp.MethodToolsCall && refused < 5 {
					refused++
					return nil, mcp.PeerRetryLaterf(mcp.CodeRateLimited, time.Second, "later")
				}
				return next(ctx, r)
			}
		})
		c := connect(t, one.Server, mcp.V20260728, nil)
		var handles []*tasks.Handle
		for range 3 {
			handles = append(handles, begin(t, c, "order", work{}))
		}
		synctest.Wait()
		one.link.cut.Store(true)
		c = connect(t, two.Server, mcp.V20260728, nil)
		for _, h := range handles {
			waitFor(t, tasks.Resume(c, h.ID()), time.Minute, isCompleted)
		}
	})
}

func TestIdleReplicaAsksTheStoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		for _, r := range []*durableReplica{one, two} {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			})
		}
		c := connect(t, one.Server, mcp.V20260728, nil)
		for range 200 {
			begin(t, c, "order", work{})
		}
		connect(t, two.Server, mcp.V20260728, nil)
		two.link.calls.Store(0)
		time.Sleep(time.Minute)
		if n := two.link.calls.Load(); n > 180 {
			t.Errorf("a replica without tasks has called the Store %d times in a minute, want at most 180, whatever the others run", n)
		}
	})
}

func TestDurableTaskIsOneOfTheListOfItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		seen := make(chan mcp.Principal, 2)
		killed := hang(t)
		for _, r := range []*durableReplica{one, two} {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				seen <- mcpserver.From(ctx).Principal()
				if r == one {
					killed()
				}
				return "done", nil
			})
		}
		ann, bob := as(t, two.Server, mcp.V20251125, user("ann")), as(t, two.Server, mcp.V20251125, user("bob"))
		h := begin(t, as(t, one.Server, mcp.V20251125, user("ann")), "order", work{})
		synctest.Wait()
		one.link.cut.Store(true)
		if a, b := <-seen, <-seen; a != user("ann") || b != a {
			t.Errorf("the runs were those of %v and %v, want both of ann", a, b)
		}
		waitFor(t, tasks.Resume(ann, h.ID()), time.Second, isCompleted)
		if _, err := tasks.Resume(bob, h.ID()).Get(t.Context()); !isUnknown(err) {
			t.Errorf("another principal gets the task: %v", err)
		}
		var list mcp.ListTasksResult
		if err := ann.Request(t.Context(), mcp.MethodTasksList, &mcp.ListParams{}, &list); err != nil || len(list.Tasks) != 1 {
			t.Errorf("the owner has the tasks %+v, %v, want one", list.Tasks, err)
		}
	})
}

// Every kill is a random one of several replicas, at a random moment.
func TestStepsOfManyTasksHappenOnceWhateverIsKilled(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		const steps, count = 6, 20
		var store mcpserver.MemoryStore
		var mu sync.Mutex
		completed := make(map[string]int) // steps that have returned to their handler
		begun := make(map[string]int)
		running := []*durableReplica{}
		start := func() *durableReplica {
			r := newReplica(t, &store, tasks.Options{Durable: &tasks.DurableOptions{Attempts: 1000}})
			killed := hang(t)
			r.durableTool("order", func(ctx context.Context, in work) (string, error) {
				for i := range steps {
					key := fmt.Sprint(i)
					before := time.Now()
					_, err := mcpserver.Once(ctx, key, func() (int, error) {
						mu.Lock()
						begun[in.Label+key]++
						mu.Unlock()
						time.Sleep(time.Second)
						if r.link.cut.Load() {
							killed()
						}
						return i, nil
					})
					if err != nil {
						return "", err
					}
					if time.Since(before) >= time.Second {
						mu.Lock()
						completed[in.Label+key]++
						mu.Unlock()
					}
				}
				return "done", nil
			})
			return r
		}
		for range 3 {
			running = append(running, start())
		}
		c := connect(t, running[0].Server, mcp.V20260728, nil)
		var handles []*tasks.Handle
		for i := range count {
			handles = append(handles, begin(t, c, "order", work{Label: fmt.Sprint("task ", i, " step ")}))
		}
		for _, r := range running[1:] {
			connect(t, r.Server, mcp.V20260728, nil)
		}
		kills := 0
		for range 4 {
			time.Sleep(2500 * time.Millisecond)
			running[0].link.cut.Store(true)
			kills++
			r := start()
			connect(t, r.Server, mcp.V20260728, nil)
			running = append(running[1:], r)
			time.Sleep(9 * time.Second)
		}
		last := connect(t, running[2].Server, mcp.V20260728, nil)
		for _, h := range handles {
			waitFor(t, tasks.Resume(last, h.ID()), time.Minute, isCompleted)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(completed) != steps*count {
			t.Errorf("%d steps were completed, want %d", len(completed), steps*count)
		}
		for _, key := range slices.Sorted(maps.Keys(completed)) {
			if completed[key] != 1 {
				t.Errorf("%s was completed %d times, want once", key, completed[key])
			}
			if begun[key] > 1+kills {
				t.Errorf("%s was begun %d times with %d kills", key, begun[key], kills)
			}
		}
	})
}

// What a call has asked before it became a task is part of its memory.
func TestLateDurableTaskKeepsWhatItsCallHasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store mcpserver.MemoryStore
		var made ledger
		killed := hang(t)
		one, two := newReplica(t, &store, tasks.Options{}), newReplica(t, &store, tasks.Options{})
		for _, r := range []*durableReplica{one, two} {
			r.Tool("order", "Works", func(ctx context.Context, _ work) (string, error) {
				who, err := mcpserver.Ask[named](ctx, "name", "Who are you?")
				if err != nil {
					return "", err
				}
				parked, err := mcpserver.Park(ctx, "link", func(context.Context) (string, error) {
					made.write("open a link")
					return "link", nil
				}, func(string) {})
				if err != nil {
					return "", err
				}
				if ctx, err = tasks.Begin(ctx); err != nil {
					return "", err
				}
				if err := made.step(ctx, "reserve"); err != nil {
					return "", err
				}
				if r == one {
					killed()
				}
				return who.Name + " " + parked, made.step(ctx, "charge")
			}, mcpserver.Durable(), r.tasks.AsTask(tasks.Late))
		}
		asked := 0
		answer := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked++
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"Ann"}`)}, nil
		}
		h := begin(t, mcpclientWith(t, one.Server, mcp.V20260728, answer), "order", work{})
		synctest.Wait()
		one.link.cut.Store(true)
		h = tasks.Resume(mcpclientWith(t, two.Server, mcp.V20260728, answer), h.ID())
		if got := resultOf(t, h); got != "Ann link" {
			t.Errorf("got %q", got)
		}
		if asked != 1 {
			t.Errorf("the user was asked %d times, want once", asked)
		}
		made.has(t, "open a link", "reserve", "open a link", "charge")
	})
}
