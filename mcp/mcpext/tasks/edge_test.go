package tasks_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// withTools returns a server with tasks and nothing else, and what makes its tools.
func withTools(t *testing.T, o *tasks.Options) (*mcpserver.Server, *tasks.Tasks) {
	t.Helper()
	srv := mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet})
	endLater(t, srv)
	o.Logger = quiet
	return srv, tasks.Enable(srv, o)
}

func TestWaitForAResultFailsWhenTheTaskExpires(t *testing.T) {
	claim.Shows(t, "R-373a")
	synctest.Test(t, func(t *testing.T) {
		c := as(t, newServer(t, &tasks.Options{TTL: 5 * time.Second}), mcp.V20251125, user("ada"))
		h, began := begin(t, c, "slow", work{Seconds: 60}), time.Now()
		err := c.Request(t.Context(), mcp.MethodTasksResult, mcp.TaskParams{TaskID: h.ID()}, nil)
		if took := time.Since(began); !isUnknown(err) || took != 5*time.Second {
			t.Errorf("got %v after %v, want an unknown task when it expires", err, took)
		}
	})
}

func TestServerWaitFailsWhenTheTaskOfItsClientExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, nil)
		srv.Tool("ask", "Asks by a task of five seconds", func(ctx context.Context, _ struct{}) (string, error) {
			r := mcpserver.From(ctx)
			var created mcp.CreateTaskResult
			ask := &mcp.ElicitParams{Message: "Who?", RequestedSchema: []byte(`{"type":"object","properties":{}}`), Task: &mcp.TaskMetadata{TTL: new(int64(5000))}}
			if err := r.Call(ctx, mcp.MethodElicit, ask, &created); err != nil {
				return "", err
			}
			err := r.Call(ctx, mcp.MethodTasksResult, &mcp.TaskParams{TaskID: created.Task.TaskID}, nil)
			return "", err
		})
		c := dial(t, srv, user("ada"), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125}, Extensions: []mcpclient.Extension{tasks.Client(nil)}, Logger: quiet,
			ElicitForm: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		began := time.Now()
		got, err := c.CallTool(t.Context(), "ask", nil)
		if took := time.Since(began); err != nil || !got.IsError || took != 5*time.Second {
			t.Errorf("got %+v, %v after %v, want an error when the task expires", got, err, took)
		}
	})
}

func TestListenerWithoutABusIsNotifiedOfTasksOfOtherReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(mcpserver.MemoryStore)
		one, two := replica(t, store, nil), replica(t, store, nil)
		h := begin(t, as(t, one, mcp.V20260728, user("ada")), "slow", work{Seconds: 60})
		var heard atomic.Value
		there := mcptestOver(t, two, user("ada"), func(method string, params jsontext.Value) {
			if method == tasks.Notification {
				heard.Store(string(params))
			}
		})
		go func() {
			_ = there.Request(t.Context(), mcp.MethodListen, listenTo(h.ID()), nil, mcpclient.WithTimeout(-1))
		}()
		time.Sleep(90 * time.Second)
		if got, _ := heard.Load().(string); !strings.Contains(got, `"completed"`) {
			t.Errorf("heard %s, want that it is completed", got)
		}
	})
}

// A refused Begin leaves the call what it was: it may be tried again, and ends with
// its request.
func TestRefusedBeginLeavesTheCallAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, all := withTools(t, &tasks.Options{MaxTasks: 1})
		srv.Tool("slow", "", slow, all.AsTask())
		ended := make(chan error, 1)
		srv.Tool("late", "", func(ctx context.Context, _ struct{}) (string, error) {
			for range 2 {
				if begun, err := tasks.Begin(ctx); begun != nil || err == nil {
					t.Errorf("got %v, %v, want an error and no context", begun, err)
				}
			}
			<-ctx.Done()
			_, err := tasks.Begin(ctx)
			ended <- err
			return "", err
		}, all.AsTask(tasks.Late))
		c := as(t, srv, mcp.V20260728, user("ada"))
		begin(t, c, "slow", work{Seconds: 600})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = c.CallTool(ctx, "late", nil)
		synctest.Wait()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("after the end of the request: got no error")
			}
		default:
			t.Error("the call goes on although its request has ended")
		}
	})
}

func TestTextsOfAnySizeAndBytesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, all := withTools(t, new(tasks.Options))
		srv.Tool("says", "", func(ctx context.Context, _ struct{}) (string, error) {
			tasks.Status(ctx, "a"+strings.Repeat("é", 600))
			<-ctx.Done()
			return "", ctx.Err()
		}, all.AsTask())
		faults := map[string]*mcp.Error{
			"text": mcp.Errorf(mcp.CodeInternal, "bad \xff text"),
			"huge": mcp.Errorf(mcp.CodeInternal, "%s", strings.Repeat("x", 2<<20)),
			"long": mcp.Errorf(mcp.CodeInternal, "%s", strings.Repeat("x", 500_000)),
			"data": {Code: mcp.CodeInternal, Message: "bad data", Data: []byte(`{"a":`)},
		}
		for name, fault := range faults {
			srv.Tool(name, "", func(context.Context, struct{}) (string, error) { return "", fault }, all.AsTask())
		}
		c := as(t, srv, mcp.V20260728, user("ada"))
		h := begin(t, c, "says", nil)
		synctest.Wait()
		if got := state(t, h).StatusMessage; len(got) < 1000 || len(got) > 1024 || !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") {
			t.Errorf("status: got %d bytes %.9q, want whole runes of 1 KiB", len(got), got)
		}
		for name := range faults {
			h := begin(t, c, name, nil)
			synctest.Wait()
			if got := state(t, h); got.Status != mcp.TaskFailed || got.Error == nil || got.Error.Code != -32603 || len(got.StatusMessage) > 1024 {
				t.Errorf("%s: got %s, %.99v, want it failed", name, got.Status, got.Error)
			}
		}
	})
}

// pausingStore takes its time to create something.
type pausingStore struct{ mcpserver.MemoryStore }

func (s *pausingStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	time.Sleep(100 * time.Millisecond)
	return s.MemoryStore.Create(ctx, key, value, ttl)
}

func TestTasksThatBeginAtOnceAreBoundedAsWell(t *testing.T) {
	claim.Shows(t, "R-374c")
	synctest.Test(t, func(t *testing.T) {
		srv := addTools(t, mcpserver.New("works", "1", &mcpserver.Options{
			Logger: quiet, Store: new(pausingStore), Keys: []mcpserver.Key{{ID: "k", Secret: []byte(strings.Repeat("s", 32))}},
		}), &tasks.Options{MaxTasks: 3})
		c := as(t, srv, mcp.V20260728, user("ada"))
		var begun atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := tasks.Call(t.Context(), c, "slow", work{Seconds: 60}); err == nil {
					begun.Add(1)
				}
			})
		}
		if all.Wait(); begun.Load() != 3 {
			t.Errorf("got %d tasks, want 3", begun.Load())
		}
	})
}

// The wish for a task tells nobody that a tool is there, and it is the tool that is
// registered now which counts.
func TestTaskRequestDisclosesNothingOfHiddenTools(t *testing.T) {
	claim.Shows(t, "R-367c")
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, nil)
		c := connectPlain(t, srv, mcp.V20251125)
		call := func(tool string) error {
			return c.Request(t.Context(), mcp.MethodToolsCall, &mcp.CallToolParams{Name: tool, Task: new(mcp.TaskMetadata)}, nil)
		}
		srv.EnableTool("slow", false)
		for _, tool := range []string{"slow", "nosuch"} {
			if err := call(tool); mcp.CodeOf(err) != mcp.CodeInvalidParams {
				t.Errorf("%s: got %v, want an unknown tool", tool, err)
			}
		}
		srv.RemoveTool("slow")
		srv.Tool("slow", "Is no task any more", slow)
		if err := call("slow"); mcp.CodeOf(err) != mcp.CodeMethodNotFound {
			t.Errorf("got %v, want -32601", err)
		}
	})
}

// A server that wishes for an absurd pause is polled seldom and not without pause.
func TestPollIntervalIsAtMostTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet})
		endLater(t, srv)
		var polls atomic.Int32
		state := func(kind mcp.ResultType) *taskResult {
			return &taskResult{ResultBase: mcp.ResultBase{ResultType: kind}, Task: tasks.Task{
				TaskID: "t", Status: mcp.TaskWorking, PollIntervalMs: new(int64(math.MaxInt64)),
			}}
		}
		srv.Extend(mcpserver.Extension{
			ID: tasks.ID, ResultTypes: []mcp.ResultType{tasks.ResultTask},
			Requests: map[string]mcpserver.ExtensionRequest{mcp.MethodTasksGet: {Handler: func(context.Context, *mcpserver.Request) (any, error) {
				polls.Add(1)
				return state(""), nil
			}}},
		})
		srv.AddTool(mcp.Tool{Name: "work"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			return state(tasks.ResultTask), nil
		})
		c := dial(t, srv, user("ada"), &mcpclient.Options{Extensions: []mcpclient.Extension{tasks.Client(nil)}, Logger: quiet})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, _ = c.CallTool(ctx, "work", nil)
		if got := polls.Load(); got < 5 || got > 10 {
			t.Errorf("got %d polls in ten minutes, want one a minute", got)
		}
	})
}

// Panics of user code fail the task that they are in, wherever they come from.
func TestPanicFailsTheTaskAndNothingElse(t *testing.T) {
	t.Run("around a tool", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv, all := withTools(t, new(tasks.Options))
			bad := mcpserver.Wrap(func(mcpserver.ToolHandler) mcpserver.ToolHandler {
				return func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { panic("secret") }
			})
			srv.Tool("now", "", slow, all.AsTask(), bad)
			srv.Tool("late", "", slow, all.AsTask(tasks.Late), bad)
			c := as(t, srv, mcp.V20260728, user("ada"))
			h := begin(t, c, "now", nil)
			synctest.Wait()
			if got := state(t, h); got.Status != mcp.TaskFailed || strings.Contains(got.Error.Message, "secret") {
				t.Errorf("got %+v, want it failed without saying why", got)
			}
			if _, err := tasks.Call(t.Context(), c, "late", nil); mcp.CodeOf(err) != mcp.CodeInternal || strings.Contains(err.Error(), "secret") {
				t.Errorf("before a task began: got %v, want an internal error", err)
			}
		})
	})
	t.Run("of a client that is asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := newServer(t, nil)
			srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
				ask := &mcp.ElicitParams{Message: "Who?", RequestedSchema: []byte(`{"type":"object","properties":{}}`)}
				return "", tasks.Request(ctx, mcp.MethodElicit, ask, nil)
			})
			c := dial(t, srv, user("ada"), &mcpclient.Options{
				Revisions: []mcp.Revision{mcp.V20251125}, Extensions: []mcpclient.Extension{tasks.Client(nil)}, Logger: quiet,
				ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { panic("secret") },
			})
			got, err := c.CallTool(t.Context(), "ask", nil)
			if err != nil || !got.IsError || strings.Contains(got.Content.Text(), "secret") {
				t.Errorf("got %+v, %v, want an error that does not say why", got, err)
			}
		})
	})
}

func TestErrorOfATaskHasTheNumberOfTheCall(t *testing.T) {
	claim.Shows(t, "R-370a")
	synctest.Test(t, func(t *testing.T) {
		srv, all := withTools(t, new(tasks.Options))
		faults := map[string]*mcp.Error{
			"missing": mcp.Errorf(mcp.CodeResourceNotFound, "no such thing"),
			"params":  mcp.Errorf(mcp.CodeInvalidParams, "not so"),
			"own":     {Code: mcp.CodeOther, Number: -31000, Message: "of our own"},
		}
		for name, fault := range faults {
			srv.Tool(name, "", func(context.Context, struct{}) (string, error) { return "", fault }, all.AsTask())
		}
		c := as(t, srv, mcp.V20251125, user("ada"))
		for name := range faults {
			_, direct := c.CallTool(t.Context(), name, nil)
			_, later := begin(t, c, name, nil).Wait(t.Context())
			want, _ := errors.AsType[*mcp.Error](direct)
			if got, ok := errors.AsType[*mcp.Error](later); !ok || want == nil || got.Number != want.Number || got.Message != want.Message {
				t.Errorf("%s: got %v, want %v", name, later, direct)
			}
		}
	})
}

func TestQuestionsOfATaskAreLimited(t *testing.T) {
	t.Parallel()
	var reached []mcp.Limit
	srv := mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet, OnLimit: func(e mcp.LimitReached) { reached = append(reached, e.Limit) }})
	endLater(t, srv)
	work := tasks.Enable(srv, &tasks.Options{Poll: time.Millisecond, Logger: quiet, MaxQuestions: 2})
	srv.Tool("curious", "Asks on and on", func(ctx context.Context, _ struct{}) (string, error) {
		for n := 0; ; n++ {
			if _, err := mcpserver.Ask[sure](ctx, fmt.Sprint("q", n), "Sure?"); err != nil {
				return "", err
			}
		}
	}, work.AsTask())
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), &mcpclient.Options{
		Logger: quiet, Extensions: []mcpclient.Extension{tasks.Client(nil)},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"sure":true}`)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Call[string](t.Context(), "curious", nil); err == nil || !strings.Contains(err.Error(), "2 questions") {
		t.Errorf("got %v, want the third question refused", err)
	}
	if len(reached) != 1 || reached[0] != mcp.LimitTaskQuestions {
		t.Errorf("told %v, want %v once", reached, mcp.LimitTaskQuestions)
	}
}

func TestTasksOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet})
	endLater(t, srv)
	work := tasks.Enable(srv, &tasks.Options{Logger: quiet, MaxPerPrincipal: 1})
	srv.Tool("work", "Works", func(context.Context, struct{}) (string, error) { return "done", nil }, work.AsTask())
	begin := func(c *mcpclient.Client) error {
		return c.Request(t.Context(), mcp.MethodToolsCall, &mcp.CallToolParams{Name: "work", Task: new(mcp.TaskMetadata)}, nil)
	}
	var clients [2]*mcpclient.Client
	for i := range clients {
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients[i] = c
	}
	if err := begin(clients[0]); err != nil {
		t.Fatal(err)
	}
	if err := begin(clients[0]); mcp.CodeOf(err) != mcp.CodeRateLimited {
		t.Errorf("a second task of the session: got %v, want it refused", err)
	}
	if err := begin(clients[1]); err != nil {
		t.Errorf("another session: %v", err)
	}
}
