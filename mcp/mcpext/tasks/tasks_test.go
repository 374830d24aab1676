package tasks_test

import (
	"context"
	"errors"
	"strings"
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

func TestCallThatBecameATaskReturnsItsResult(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-375b")
		synctest.Test(t, func(t *testing.T) {
			var ids, messages []string
			c := connect(t, newServer(t, nil), v, &tasks.ClientOptions{
				OnTask: func(_ context.Context, _ *mcpclient.Client, task tasks.Task) { ids = append(ids, task.TaskID) },
				OnStatus: func(_ context.Context, _ *mcpclient.Client, task tasks.Task) {
					messages = append(messages, task.StatusMessage)
				},
			})
			h := begin(t, c, "slow", work{3, "a"})
			if got, err := h.Wait(t.Context()); err != nil || got.Content.Text() != "done a" {
				t.Errorf("got %+v, %v, want done", got, err)
			}
			if len(ids) != 1 || ids[0] != h.ID() || len(messages) < 3 || messages[0] != "half of a" {
				t.Errorf("heard of tasks %q, states %q", ids, messages)
			}
		})
	})
}

func TestServerDecidesWhatIsATask(t *testing.T) {
	claim.Shows(t, "R-375b", "R-376")
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, newServer(t, nil), mcp.V20260728, nil)
		began := time.Now()
		if got, err := c.Call[string](t.Context(), "slow", work{90, "a"}); err != nil || got != "done a" || time.Since(began) < 90*time.Second {
			t.Errorf("got %q, %v, want a call that outlives its timeout as a task", got, err)
		}
		if got, err := c.Call[string](t.Context(), "greet", named{"Ada"}); err != nil || got != "Hello, Ada!" {
			t.Errorf("got %q, %v, want an ordinary result", got, err)
		}
		plain := mcptest.Connect(t, newServer(t, nil), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}})
		if got, err := plain.Call[string](t.Context(), "slow", work{1, "b"}); err != nil || got != "done b" {
			t.Errorf("without tasks: got %q, %v, want the result itself", got, err)
		}
		_, err := plain.CallTool(t.Context(), "failing", nil)
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Number != -32021 || !strings.Contains(string(e.Data), tasks.ID) {
			t.Errorf("a tool that requires tasks: got %v, want -32021 with the extension", err)
		}
	})
}

func TestFailureOfAToolIsAResultAndOfTheProtocolAnError(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-370a", "R-380")
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, newServer(t, nil), v, nil)
			failed := begin(t, c, "failing", nil)
			if got, err := failed.Wait(t.Context()); err != nil || !got.IsError || got.Content.Text() != "it did not work" {
				t.Errorf("got %+v, %v, want a result that is an error", got, err)
			}
			if got := state(t, failed).Status; got != mcp.TaskCompleted {
				t.Errorf("got %s, want completed", got)
			}
			for tool, want := range map[string]string{"broken": "out of order", "panics": "internal error (incident"} {
				h := begin(t, c, tool, nil)
				_, err := h.Wait(t.Context())
				if e, ok := errors.AsType[*mcp.Error](err); !ok || !e.Remote || e.Number != -32603 || !strings.Contains(e.Message, want) {
					t.Errorf("%s: got %v, want %q", tool, err, want)
				}
				if got := state(t, h); got.Status != mcp.TaskFailed || !strings.Contains(got.StatusMessage, want) {
					t.Errorf("%s: got %+v, want failed and why", tool, got)
				}
			}
		})
	})
}

func TestQuestionsOfATaskReachTheHandlersOfItsClient(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-371", "R-387", "R-379")
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := mcptest.Connect(t, newServer(t, nil), &mcpclient.Options{
				Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
				ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					asked++
					if strings.HasPrefix(p.Message, "Delete") {
						return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"sure":true}`)}, nil
					}
					return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"Ada"}`)}, nil
				},
			})
			for range c.Tools(t.Context()) {
			}
			for _, call := range []struct {
				tool string
				args any
				want string
			}{
				{"confirm", work{Label: "a"}, "deleted a"}, {"both", nil, "Ada Ada"}, {"late", work{1, "a"}, "done for Ada"},
			} {
				got, err := begin(t, c, call.tool, call.args).Wait(t.Context())
				if err != nil || got.Content.Text() != call.want {
					t.Errorf("%s: got %+v, %v, want %q", call.tool, got, err, call.want)
				}
			}
			if asked != 4 {
				t.Errorf("asked %d times, want each question once", asked)
			}
		})
	})
}

func TestCallsAreTasksOnlyWhereServerAndToolOfferIt(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-366b", "R-367a", "R-375b")
		synctest.Test(t, func(t *testing.T) {
			without := mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet})
			endLater(t, without)
			without.Tool("greet", "", func(_ context.Context, in named) (string, error) { return "Hello, " + in.Name + "!", nil })
			for name, srv := range map[string]*mcpserver.Server{"tool": newServer(t, nil), "server": without} {
				h, err := tasks.Call(t.Context(), connect(t, srv, v, nil), "greet", named{"Ada"})
				if err != nil || h.ID() != "" {
					t.Fatalf("%s without tasks: got %+v, %v, want no task", name, h, err)
				}
				if got, err := h.Wait(t.Context()); err != nil || got.Content.Text() != "Hello, Ada!" {
					t.Errorf("%s without tasks: got %+v, %v, want the result", name, got, err)
				}
			}
		})
	})
}
