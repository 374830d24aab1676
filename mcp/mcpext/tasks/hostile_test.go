package tasks_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// taskMethods are all that take the id of a task, per revision.
var taskMethods = map[mcp.Revision][]string{
	mcp.V20251125: {mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel},
	mcp.V20260728: {mcp.MethodTasksGet, tasks.MethodUpdate, mcp.MethodTasksCancel},
}

func TestTaskOfAnotherPrincipalIsUnknown(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-373a", "R-374a", "R-381b", "R-388a")
		synctest.Test(t, func(t *testing.T) {
			srv := newServer(t, nil)
			ada, eve := as(t, srv, v, user("ada")), as(t, srv, v, user("eve"))
			h := begin(t, ada, "slow", work{Seconds: 60})
			for _, method := range taskMethods[v] {
				foreign := eve.Request(t.Context(), method, map[string]any{"taskId": h.ID(), "inputResponses": answers{}}, nil)
				none := eve.Request(t.Context(), method, map[string]any{"taskId": strings.Repeat("A", 26), "inputResponses": answers{}}, nil)
				if !isUnknown(foreign) || foreign.Error() != none.Error() {
					t.Errorf("%s: got %v, want the same as %v", method, foreign, none)
				}
				for _, id := range []string{"", "x", h.ID() + "x", strings.Repeat("é", 13), strings.Repeat(" ", 26), strings.Repeat("x", 9999)} {
					err := ada.Request(t.Context(), method, map[string]any{"taskId": id, "inputResponses": answers{}}, nil)
					if !isUnknown(err) {
						t.Errorf("%s %.20q: got %v, want unknown", method, id, err)
					}
				}
			}
			if got := state(t, h).Status; got != mcp.TaskWorking {
				t.Errorf("got %s, want it untouched", got)
			}
			if v == mcp.V20251125 {
				for who, want := range map[*mcpclient.Client]int{ada: 1, eve: 0} {
					var list mcp.ListTasksResult
					must(t, who.Request(t.Context(), mcp.MethodTasksList, nil, &list))
					if len(list.Tasks) != want {
						t.Errorf("got %d tasks, want %d", len(list.Tasks), want)
					}
				}
				must(t, h.Cancel(t.Context()))
				if err := ada.Request(t.Context(), mcp.MethodTasksList, map[string]string{"cursor": "x"}, nil); mcp.CodeOf(err) != mcp.CodeInvalidParams {
					t.Errorf("a bad cursor: got %v", err)
				}
			}
		})
	})
}

func TestTasksNeedTheDeclaredExtension(t *testing.T) {
	claim.Shows(t, "R-383", "R-388b")
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, nil)
		h := begin(t, as(t, srv, mcp.V20260728, user("ada")), "slow", work{})
		plain := connectPlain(t, srv, mcp.V20260728)
		for _, method := range []string{mcp.MethodTasksGet, tasks.MethodUpdate, mcp.MethodTasksCancel} {
			err := plain.Request(t.Context(), method, mcp.TaskParams{TaskID: h.ID()}, nil)
			if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Number != -32021 {
				t.Errorf("%s: got %v, want -32021", method, err)
			}
		}
		err := plain.Request(t.Context(), mcp.MethodListen, listenTo(h.ID()), nil)
		if mcp.CodeOf(err) != mcp.CodeMissingCapability {
			t.Errorf("listen: got %v, want -32021", err)
		}
		for _, method := range []string{mcp.MethodTasksResult, mcp.MethodTasksList} {
			if err := plain.Request(t.Context(), method, nil, nil); mcp.CodeOf(err) != mcp.CodeMethodNotFound {
				t.Errorf("%s: got %v, want not found", method, err)
			}
		}
		if c := plain.Capabilities(); c.Tasks != nil || c.Extensions[tasks.ID] == nil {
			t.Errorf("got %+v, want the extension and no capability of old", c)
		}
		got, err := plain.Call[string](t.Context(), "greet", named{"Ada"})
		if err != nil || got != "Hello, Ada!" {
			t.Errorf("got %q, %v", got, err)
		}
		for _, v := range []mcp.Revision{mcp.V20241105, mcp.V20250618} {
			older := connectPlain(t, srv, v)
			if err := older.Request(t.Context(), mcp.MethodTasksGet, nil, nil); mcp.CodeOf(err) != mcp.CodeMethodNotFound {
				t.Errorf("%s: got %v, want not found", v, err)
			}
			if got, err := older.CallTool(t.Context(), "failing", nil); err != nil || !got.IsError {
				t.Errorf("%s: got %+v, %v, want a tool without tasks", v, got, err)
			}
		}
	})
}

func TestFloodOfTasksIsRefused(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-374c")
		synctest.Test(t, func(t *testing.T) {
			srv := newServer(t, &tasks.Options{MaxTasks: 4, MaxPerPrincipal: 3, TTL: time.Minute})
			ada, eve := as(t, srv, v, user("ada")), as(t, srv, v, user("eve"))
			for range 3 {
				begin(t, ada, "slow", work{})
			}
			if _, err := tasks.Call(t.Context(), ada, "slow", work{}); err == nil {
				t.Error("one too many of one principal: got none, want an error")
			}
			begin(t, eve, "slow", work{})
			begin(t, eve, "slow", work{}) // for which ada's newest makes room
			if _, err := tasks.Call(t.Context(), eve, "slow", work{}); err == nil {
				t.Error("one too many of all: got none, want an error")
			}
			time.Sleep(time.Minute)
			begin(t, ada, "slow", work{})
		})
	})
}

func TestTaskEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		srv := mcpserver.New("works", "1", nil)
		endLater(t, srv)
		all := tasks.Enable(srv, &tasks.Options{TTL: time.Minute, Logger: quiet})
		srv.Tool("forever", "", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return "", ctx.Err()
		}, all.AsTask())
		h := begin(t, as(t, srv, mcp.V20260728, user("ada")), "forever", nil)
		if got := state(t, h); got.TTLMs == nil || *got.TTLMs != 60_000 {
			t.Errorf("got %+v, want a minute", got)
		}
		time.Sleep(time.Minute)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("got %v, want the work to end", err)
		}
		if _, err := h.Get(t.Context()); !isUnknown(err) {
			t.Errorf("got %v, want unknown", err)
		}
	})
}

func TestResultThatIsTooLargeFailsTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := as(t, newServer(t, &tasks.Options{MaxResult: 200}), mcp.V20260728, user("ada"))
		h := begin(t, c, "slow", work{Label: strings.Repeat("x", 300)})
		synctest.Wait()
		if got := state(t, h); got.Status != mcp.TaskFailed || !strings.Contains(got.Error.Message, "want at most 200 for a task") {
			t.Errorf("got %+v, want it failed", got)
		}
	})
}

// Somebody waits for the end of a task whose user never answers.
func TestTaskThatEndsWithItsTimeWithdrawsItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, &tasks.Options{TTL: time.Minute})
		c := dial(t, srv, user("ada"), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
			ElicitForm: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			},
		})
		for _, err := range c.Tools(t.Context()) {
			must(t, err)
		}
		began := time.Now()
		_, err := begin(t, c, "confirm", work{}).Wait(t.Context())
		if !isUnknown(errors.Unwrap(err)) || time.Since(began) > 75*time.Second {
			t.Errorf("got %v after %v, want unknown after a minute", err, time.Since(began))
		}
	})
}

func TestResultForWhichTheStoreHasNoRoomFailsTheTask(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		synctest.Test(t, func(t *testing.T) {
			srv := addTools(t, mcpserver.New("works", "1", &mcpserver.Options{
				Logger: quiet, Store: &mcpserver.MemoryStore{MaxBytes: 8_000}, Load: &mcpserver.LoadOptions{MaxKept: 1 << 20},
			}), nil)
			c := as(t, srv, v, user("ada"))
			large := work{Label: strings.Repeat("x", 4_000)}
			first, second := begin(t, c, "slow", large), begin(t, c, "slow", large)
			small := begin(t, c, "slow", work{Label: "small"})
			synctest.Wait()
			ended := map[mcp.TaskStatus]int{}
			for _, h := range []*tasks.Handle{first, second, small} {
				got := state(t, h)
				if ended[got.Status]++; got.Status == mcp.TaskFailed && got.StatusMessage != "the result could not be kept" {
					t.Errorf("got %q", got.StatusMessage)
				}
			}
			if ended[mcp.TaskCompleted] != 2 || ended[mcp.TaskFailed] != 1 {
				t.Errorf("got %v, want one of the large ones failed", ended)
			}
		})
	})
}

func TestRacingAnswersAndCancellationsEndInOneState(t *testing.T) {
	srv := newServer(t, nil)
	c := as(t, srv, mcp.V20260728, user("ada"))
	for range 20 {
		h := begin(t, c, "confirm", work{Label: "a"})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if i%4 == 3 {
					_ = h.Cancel(t.Context())
					return
				}
				_ = h.Update(t.Context(), answers{"sure": accept(fmt.Sprintf(`{"sure":%v}`, i%2 == 0))})
			})
		}
		all.Wait()
		if first := state(t, h); first.Status.Terminal() && state(t, h).Status != first.Status {
			t.Errorf("got another state after %s", first.Status)
		}
		_ = h.Cancel(t.Context())
	}
	must(t, srv.Shutdown(t.Context()))
}

func TestTasksOfASubscriptionAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, nil)
		listener := mcptestOver(t, srv, user("ada"), func(string, jsontext.Value) {})
		ids := make([]string, 1025)
		for i := range ids {
			ids[i] = fmt.Sprint("t", i)
		}
		err := listener.Request(t.Context(), mcp.MethodListen, listenTo(ids...), nil)
		if mcp.CodeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("got %v, want invalid params", err)
		}
	})
}
