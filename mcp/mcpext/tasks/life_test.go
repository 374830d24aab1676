package tasks_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestTaskOutlivesItsConnectionAndIsResumedById(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-385b")
		synctest.Test(t, func(t *testing.T) {
			srv := newServer(t, nil)
			first := as(t, srv, v, user("ada"))
			id := begin(t, first, "slow", work{5, "a"}).ID()
			must(t, first.Close())
			h := tasks.Resume(as(t, srv, v, user("ada")), id)
			if got, err := h.Wait(t.Context()); err != nil || got.Content.Text() != "done a" {
				t.Errorf("got %+v, %v, want the result", got, err)
			}
		})
	})
}

func TestCallThatIsGivenUpCancelsItsTask(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-284", "R-367b")
		synctest.Test(t, func(t *testing.T) {
			var id string
			ctx, cancel := context.WithCancelCause(t.Context())
			enough := errors.New("enough")
			c := connect(t, newServer(t, &tasks.Options{Poll: 100 * time.Millisecond}), v, &tasks.ClientOptions{
				OnStatus: func(_ context.Context, _ *mcpclient.Client, task tasks.Task) {
					id = task.TaskID
					cancel(enough)
				},
			})
			if _, err := c.CallTool(ctx, "failing", nil); !errors.Is(err, enough) {
				t.Errorf("got %v, want %v", err, enough)
			}
			if got := state(t, tasks.Resume(c, id)).Status; got != mcp.TaskCancelled {
				t.Errorf("got %s, want cancelled", got)
			}
		})
	})
}

func TestListenersGetEachState(t *testing.T) {
	claim.Shows(t, "R-384")
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, nil)
		c := as(t, srv, mcp.V20260728, user("ada"))
		foreign := begin(t, as(t, srv, mcp.V20260728, user("eve")), "slow", work{Seconds: 1})
		h := begin(t, c, "both", nil)
		synctest.Wait()
		var heard []string
		listener := mcptestOver(t, srv, user("ada"), func(method string, params jsontext.Value) {
			if method == mcp.NotificationAcknowledged {
				return
			}
			var task tasks.Task
			_ = json.Unmarshal(params, &task)
			heard = append(heard, method+" "+task.TaskID+" "+string(task.Status))
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- listener.Request(ctx, mcp.MethodListen, listenTo(h.ID(), foreign.ID(), "nosuch"), nil, mcpclient.WithTimeout(-1))
		}()
		synctest.Wait()
		must(t, h.Update(t.Context(), answers{"first": accept(`{"name":"Ada"}`), "last": accept(`{"name":"L"}`)}))
		synctest.Wait()
		cancel()
		<-ended
		last := heard[len(heard)-1]
		if len(heard) < 2 || heard[0] != "notifications/tasks "+h.ID()+" input_required" || last != "notifications/tasks "+h.ID()+" completed" {
			t.Errorf("heard %q, want each state of the own task", heard)
		}
		for _, note := range heard {
			if strings.Contains(note, foreign.ID()) || !strings.HasPrefix(note, tasks.Notification) {
				t.Errorf("heard %q", note)
			}
		}
	})
}

// mcptestOver returns a client that declares tasks and does nothing with them.
func mcptestOver(t *testing.T, srv *mcpserver.Server, who mcp.Principal, on func(string, jsontext.Value)) *mcpclient.Client {
	t.Helper()
	return dial(t, srv, who, &mcpclient.Options{
		Revisions:      []mcp.Revision{mcp.V20260728},
		Extensions:     []mcpclient.Extension{{ID: tasks.ID}},
		OnNotification: func(_ context.Context, method string, params jsontext.Value) { on(method, params) },
	})
}

func TestTaskThatIsPolledSeldomIsListenedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, newServer(t, &tasks.Options{Poll: time.Minute}), mcp.V20260728, nil)
		began := time.Now()
		if got, err := c.Call[string](t.Context(), "slow", work{3, "a"}); err != nil || got != "done a" || time.Since(began) > 10*time.Second {
			t.Errorf("got %q, %v after %v, want it when it was done", got, err, time.Since(began))
		}
	})
}

func TestShutdownWaitsForTasksAndThenEndsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, nil)
		c := as(t, srv, mcp.V20260728, user("ada"))
		begin(t, c, "slow", work{Seconds: 2})
		began := time.Now()
		must(t, srv.Shutdown(t.Context()))
		if got := time.Since(began); got != 2*time.Second {
			t.Errorf("waited %v, want 2s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		store := new(mcpserver.MemoryStore)
		srv, other := replica(t, store, nil), replica(t, store, nil)
		h := begin(t, as(t, srv, mcp.V20260728, user("ada")), "slow", work{Seconds: 600})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		got := state(t, tasks.Resume(as(t, other, mcp.V20260728, user("ada")), h.ID()))
		if got.Status != mcp.TaskFailed {
			t.Errorf("got %+v, want it failed", got)
		}
	})
}

// A question that nobody can answer any more does not hold up a shutdown.
func TestShutdownEndsTasksThatWaitForAnAnswer(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		synctest.Test(t, func(t *testing.T) {
			store := new(mcpserver.MemoryStore)
			srv, other := replica(t, store, nil), replica(t, store, nil)
			c := dial(t, srv, user("ada"), &mcpclient.Options{
				Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
				ElicitForm: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					<-ctx.Done() // a user who thinks for long
					return nil, context.Cause(ctx)
				},
			})
			for _, err := range c.Tools(t.Context()) {
				must(t, err)
			}
			h := begin(t, c, "confirm", work{Label: "a"})
			waiting, giveUp := context.WithCancel(t.Context())
			waited := make(chan error, 1)
			go func() {
				_, err := h.Wait(waiting)
				waited <- err
			}()
			time.Sleep(5 * time.Second) // the question has reached the user
			began := time.Now()
			must(t, srv.Shutdown(t.Context()))
			if got := time.Since(began); got != 0 {
				t.Errorf("waited %v, want no time", got)
			}
			got := state(t, tasks.Resume(as(t, other, v, user("ada")), h.ID()))
			if want := "the server was shut down while the task waited for an answer"; got.Status != mcp.TaskFailed || got.StatusMessage != want {
				t.Errorf("got %s, %q, want it failed, %q", got.Status, got.StatusMessage, want)
			}
			if v == mcp.V20260728 && (got.Error == nil || got.Error.Code != -32603) {
				t.Errorf("got %+v, want -32603", got.Error)
			}
			giveUp()
			if err := <-waited; err == nil {
				t.Error("got a result, want an error")
			}
		})
	})
}

// A user is not asked any longer than somebody waits for the answer.
func TestQuestionOfATaskThatIsCancelledIsWithdrawn(t *testing.T) {
	claim.Shows(t, "R-370a", "R-373b")
	synctest.Test(t, func(t *testing.T) {
		srv, withdrawn := newServer(t, nil), make(chan struct{})
		c := dial(t, srv, user("ada"), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
			ElicitForm: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				<-ctx.Done()
				close(withdrawn)
				return nil, context.Cause(ctx)
			},
		})
		for _, err := range c.Tools(t.Context()) {
			must(t, err)
		}
		h := begin(t, c, "confirm", work{Label: "a"})
		waited := make(chan error, 1)
		go func() {
			_, err := h.Wait(t.Context())
			waited <- err
		}()
		time.Sleep(5 * time.Second)
		must(t, h.Cancel(t.Context()))
		<-withdrawn
		if err := <-waited; err == nil || !strings.Contains(err.Error(), "the task was cancelled") {
			t.Errorf("got %v, want that it was cancelled", err)
		}
	})
}

// replica returns one of several servers that share a store.
func replica(t *testing.T, store mcp.Store, bus mcp.Bus) *mcpserver.Server {
	t.Helper()
	key := mcpserver.Key{ID: "k", Secret: []byte(strings.Repeat("s", 32))}
	return addTools(t, mcpserver.New("works", "1", &mcpserver.Options{
		Logger: quiet, Store: store, Bus: bus, Keys: []mcpserver.Key{key},
	}), nil)
}

func TestAnyReplicaTakesAnswersAndCancellations(t *testing.T) {
	claim.Shows(t, "R-377b")
	synctest.Test(t, func(t *testing.T) {
		store := new(mcpserver.MemoryStore)
		one, two := replica(t, store, nil), replica(t, store, nil)
		here, there := as(t, one, mcp.V20260728, user("ada")), as(t, two, mcp.V20260728, user("ada"))
		asking, slow := begin(t, here, "confirm", work{Label: "a"}), begin(t, here, "slow", work{Seconds: 600})
		synctest.Wait()
		must(t, tasks.Resume(there, asking.ID()).Update(t.Context(), answers{"sure": accept(`{"sure":true}`)}))
		must(t, tasks.Resume(there, slow.ID()).Cancel(t.Context()))
		time.Sleep(11 * time.Second)
		if got := state(t, tasks.Resume(there, asking.ID())); got.Status != mcp.TaskCompleted {
			t.Errorf("got %+v, want completed", got)
		}
		began := time.Now()
		must(t, one.Shutdown(t.Context()))
		if got := time.Since(began); got > time.Minute {
			t.Errorf("the cancelled work went on for %v", got)
		}
	})
}

// brittleStore is a Store whose process loses it.
type brittleStore struct {
	*mcpserver.MemoryStore
	lost atomic.Bool
}

func (s *brittleStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if s.lost.Load() {
		return false, errors.New("lost")
	}
	return s.MemoryStore.Swap(ctx, key, old, value, ttl)
}

func TestTaskWhoseProcessExitedHasFailed(t *testing.T) {
	eachEra(t, taskWhoseProcessIsGone)
}

func taskWhoseProcessIsGone(t *testing.T, v mcp.Revision) {
	synctest.Test(t, func(t *testing.T) {
		store := &brittleStore{MemoryStore: new(mcpserver.MemoryStore)}
		one, two := replica(t, store, nil), replica(t, store.MemoryStore, nil)
		h := begin(t, as(t, one, v, user("ada")), "slow", work{Seconds: 600})
		there := tasks.Resume(as(t, two, v, user("ada")), h.ID())
		time.Sleep(2 * time.Minute)
		if got := state(t, there); got.Status != mcp.TaskWorking {
			t.Errorf("got %+v, want it at work as long as its process lives", got)
		}
		store.lost.Store(true)
		time.Sleep(time.Minute)
		if got := state(t, there); got.Status != mcp.TaskFailed || !strings.Contains(got.StatusMessage, "has ended") {
			t.Errorf("got %+v, want it failed", got)
		}
	})
}

func TestServerCanAskByATaskOfTheClient(t *testing.T) {
	claim.Shows(t, "R-369a", "R-370a")
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, nil)
		srv.Tool("ask", "Asks by a task", func(ctx context.Context, _ struct{}) (string, error) {
			var answer mcp.ElicitResult
			form := jsontext.Value(`{"type":"object","properties":{"name":{"type":"string"}}}`)
			err := tasks.Request(ctx, mcp.MethodElicit, &mcp.ElicitParams{Message: "Who?", RequestedSchema: form}, &answer)
			return string(answer.Content), err
		})
		for fails, want := range map[bool]string{false: `{"name":"Ada"}`, true: "internal error"} {
			c := mcptest.Connect(t, srv, &mcpclient.Options{
				Revisions: []mcp.Revision{mcp.V20251125}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
				ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					time.Sleep(5 * time.Second)
					if fails {
						return nil, errors.New("no user")
					}
					return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
				},
				Logger: quiet,
			})
			got, err := c.CallTool(t.Context(), "ask", nil)
			if err != nil || !strings.Contains(got.Content.Text(), want) || got.IsError != fails {
				t.Errorf("got %+v, %v, want %q", got, err, want)
			}
		}
	})
}

func TestToolsSayWhetherTheyMayBeTasks(t *testing.T) {
	claim.Shows(t, "R-366a", "R-367c", "R-370b", "R-374b", "B-08")
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, nil)
		c := connectPlain(t, srv, mcp.V20251125)
		if !c.Capabilities().Tasks.Takes(mcp.MethodToolsCall) || c.Capabilities().Extensions != nil {
			t.Errorf("got %+v, want tasks of the core", c.Capabilities())
		}
		want := map[string]mcp.TaskSupport{"greet": mcp.TaskForbidden, "slow": mcp.TaskOptional, "failing": mcp.TaskRequired}
		for tool, err := range c.Tools(t.Context()) {
			must(t, err)
			if w, ok := want[tool.Name]; ok && tool.TaskSupport() != w {
				t.Errorf("%s: got %s, want %s", tool.Name, tool.TaskSupport(), w)
			}
		}
		arguments := map[string]jsontext.Value{"greet": jsontext.Value(`{"name":"Ada"}`)}
		call := func(tool string, task *mcp.TaskMetadata, out any) error {
			return c.Request(t.Context(), mcp.MethodToolsCall, &mcp.CallToolParams{Name: tool, Arguments: arguments[tool], Task: task}, out)
		}
		for tool, task := range map[string]*mcp.TaskMetadata{"greet": {}, "failing": nil} {
			if err := call(tool, task, nil); mcp.CodeOf(err) != mcp.CodeMethodNotFound {
				t.Errorf("%s: got %v, want -32601", tool, err)
			}
		}
		for _, err := range connectPlain(t, srv, mcp.V20260728).Tools(t.Context()) {
			must(t, err)
		}
		var created mcp.CreateTaskResult
		must(t, c.Request(t.Context(), mcp.MethodToolsCall, &mcp.CallToolParams{Name: "slow", Task: &mcp.TaskMetadata{TTL: new(int64(5000))}}, &created))
		if got := created.Task; got.Status != mcp.TaskWorking || got.TTL == nil || *got.TTL != 5000 || len(got.TaskID) < 22 {
			t.Errorf("got %+v, want a task with the wished time", got)
		}
		var raw jsontext.Value
		must(t, c.Request(t.Context(), mcp.MethodTasksResult, mcp.TaskParams{TaskID: created.Task.TaskID}, &raw))
		if !strings.Contains(string(raw), `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"`+created.Task.TaskID+`"}}`) {
			t.Errorf("got %s, want the related task", raw)
		}
	})
}

func TestProgressOfATaskUsesTheTokenOfItsRequest(t *testing.T) {
	claim.Shows(t, "R-276")
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan string, 10) // while the call waits, and after it
		c := dial(t, newServer(t, nil), user("ada"), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125},
			OnNotification: func(_ context.Context, method string, params jsontext.Value) {
				if method == mcp.NotificationProgress {
					heard <- string(params)
				}
			},
		})
		var created mcp.CreateTaskResult
		p := &mcp.CallToolParams{Name: "broken", Task: new(mcp.TaskMetadata)}
		must(t, c.Request(t.Context(), mcp.MethodToolsCall, p, &created, mcpclient.WithProgress(func(p mcp.ProgressParams) {
			heard <- p.Message
		})))
		time.Sleep(time.Minute)
		if first := <-heard; len(heard) != 0 || !strings.Contains(first, "half of") {
			t.Errorf("heard %q and %d more, want the progress of the task, and nothing after its end", first, len(heard))
		}
	})
}

func TestBusCarriesAnswersToTheProcessThatWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, bus := new(mcpserver.MemoryStore), new(mcpserver.MemoryBus)
		one, two := replica(t, store, bus), replica(t, store, bus)
		h := begin(t, as(t, one, mcp.V20260728, user("ada")), "confirm", work{Label: "a"})
		synctest.Wait()
		there := tasks.Resume(as(t, two, mcp.V20260728, user("ada")), h.ID())
		must(t, there.Update(t.Context(), answers{"sure": accept(`{"sure":true}`)}))
		synctest.Wait()
		if got := state(t, there); got.Status != mcp.TaskCompleted {
			t.Errorf("got %+v, want it completed at once", got)
		}
	})
}
