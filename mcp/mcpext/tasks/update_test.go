package tasks_test

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"maps"
	"slices"
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

type answers = map[string]jsontext.Value

func accept(content string) jsontext.Value {
	return jsontext.Value(`{"action":"accept","content":` + content + `}`)
}

func openKeys(task tasks.Task) []string { return slices.Sorted(maps.Keys(task.InputRequests)) }

func TestPartialAnswersKeepATaskWaitingForTheRest(t *testing.T) {
	claim.Shows(t, "R-379", "R-381b", "R-382")
	synctest.Test(t, func(t *testing.T) {
		c := as(t, newServer(t, nil), mcp.V20260728, user("ada"))
		h := begin(t, c, "both", nil)
		synctest.Wait()
		if got := state(t, h); got.Status != mcp.TaskInputRequired || !slices.Equal(openKeys(got), []string{"first", "last"}) {
			t.Fatalf("got %+v, want two questions", got)
		}
		// Keys that were never asked are ignored.
		must(t, h.Update(t.Context(), answers{"nosuch": accept(`{}`), "first": accept(`{"name":"Ada"}`)}))
		synctest.Wait()
		if got := state(t, h); got.Status != mcp.TaskInputRequired || !slices.Equal(openKeys(got), []string{"last"}) {
			t.Fatalf("got %+v, want the other question", got)
		}
		// A key that is answered already is ignored, and one that does not fit is
		// asked again under a key of its own.
		must(t, h.Update(t.Context(), answers{"first": accept(`{"name":"Eve"}`), "last": accept(`{"name":7}`)}))
		synctest.Wait()
		got := state(t, h)
		if keys := openKeys(got); len(keys) != 1 || keys[0] == "last" {
			t.Fatalf("got %q, want a key that was not used before", keys)
		}
		must(t, h.Update(t.Context(), answers{openKeys(got)[0]: accept(`{"name":"Lovelace"}`)}))
		synctest.Wait()
		if got := state(t, h); got.Status != mcp.TaskCompleted || got.InputRequests != nil {
			t.Fatalf("got %+v, want completed", got)
		}
		if got, err := h.Wait(t.Context()); err != nil || got.Content.Text() != "Ada Lovelace" {
			t.Errorf("got %+v, %v", got, err)
		}
		must(t, h.Update(t.Context(), answers{"first": accept(`{}`)}))
	})
}

func TestRoundsComeBeforeTheTask(t *testing.T) {
	claim.Shows(t, "R-378")
	synctest.Test(t, func(t *testing.T) {
		c := mcptest.Connect(t, newServer(t, nil), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20260728}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
		})
		mcptest.Answer(c, "name", named{"Alice"})
		h := begin(t, c, "late", work{Seconds: 5})
		synctest.Wait()
		if got := state(t, h); got.Status != mcp.TaskWorking || got.StatusMessage != "half of " {
			t.Errorf("got %+v, want it at work", got)
		}
		if got, err := h.Wait(t.Context()); err != nil || got.Content.Text() != "done for Alice" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// connectAnswering returns a client with tasks that is answered by mcptest.Answer.
func connectAnswering(t *testing.T, srv *mcpserver.Server, v mcp.Revision) *mcpclient.Client {
	t.Helper()
	c := mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(nil)}})
	for _, err := range c.Tools(t.Context()) {
		must(t, err)
	}
	return c
}

func TestRequiredURLElicitationOfATaskIsAskedInTheTask(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		for action, want := range map[mcp.ElicitAction]string{mcp.ElicitAccept: "in", mcp.ElicitDecline: "the user declined"} {
			synctest.Test(t, func(t *testing.T) {
				runs, srv := 0, mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet})
				endLater(t, srv)
				all := tasks.Enable(srv, &tasks.Options{Logger: quiet})
				srv.Tool("enter", "", func(context.Context, struct{}) (string, error) {
					if runs++; runs == 1 {
						return "", mcpserver.URLElicitationRequired("Please sign in.", "https://id.example.com/in/7")
					}
					return "in", nil
				}, all.AsTask())
				c := connectAnswering(t, srv, v)
				mcptest.Answer(c, "url-1", action)
				got, err := begin(t, c, "enter", nil).Wait(t.Context())
				if err != nil || got.Content.Text() != want || got.IsError != (action == mcp.ElicitDecline) {
					t.Errorf("%s: got %+v, %v, want %q", action, got, err, want)
				}
			})
		}
	})
}

func TestRawHandlerOfATaskMayReturnQuestions(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		synctest.Test(t, func(t *testing.T) {
			srv := mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet})
			endLater(t, srv)
			all := tasks.Enable(srv, &tasks.Options{Logger: quiet})
			srv.AddTool(mcp.Tool{Name: "raw"}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
				if p.RequestState == nil || len(*p.RequestState) < 3 {
					state := "x"
					if p.RequestState != nil {
						state += *p.RequestState
					}
					return &mcp.InputRequiredResult{RequestState: &state, InputRequests: map[string]mcp.InputRequest{"roots": {Method: mcp.MethodRootsList}}}, nil
				}
				return &mcp.CallToolResult{Content: mcp.Contents{mcp.Textf("%s %s", *p.RequestState, p.InputResponses["roots"])}}, nil
			}, all.AsTask())
			c := connectAnswering(t, srv, v)
			for _, key := range []string{"roots", "roots#2", "roots#3"} { // keys of a task are not used again
				mcptest.Answer(c, key, []mcp.Root{{URI: "file:///home"}})
			}
			got, err := begin(t, c, "raw", nil).Wait(t.Context())
			if want := `xxx {"roots":[{"uri":"file:///home"}]}`; err != nil || got.Content.Text() != want {
				t.Errorf("got %+v, %v, want %s", got, err, want)
			}
		})
	})
}

// TestTimeoutAndLimitOfATaskStandStillWhileItWaitsForAnAnswer is about a tool with one slot
// whose handler runs for 4 s, asks, and runs for 4 s again. Its user thinks for five minutes.
func TestTimeoutAndLimitOfATaskStandStillWhileItWaitsForAnAnswer(t *testing.T) {
	claim.Shows(t, "B-12")
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		for limit, want := range map[time.Duration]bool{9 * time.Second: true, 7 * time.Second: false} {
			synctest.Test(t, func(t *testing.T) {
				srv := mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet})
				endLater(t, srv)
				all := tasks.Enable(srv, &tasks.Options{Logger: quiet})
				srv.Tool("confirm", "", func(ctx context.Context, in work) (string, error) {
					if _, err := slow(ctx, in); err != nil {
						return "", err
					}
					if in.Label == "asks" {
						if _, err := mcpserver.Ask[sure](ctx, "sure", "Sure?"); err != nil {
							return "", err
						}
					}
					return slow(ctx, in)
				}, all.AsTask(), mcpserver.Limit(1), mcpserver.Timeout(limit))
				c := dial(t, srv, user("ada"), &mcpclient.Options{
					Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
					ElicitForm: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						_, err := slow(ctx, work{Seconds: 300})
						return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"sure":true}`)}, err
					},
				})
				for _, err := range c.Tools(t.Context()) {
					must(t, err)
				}
				type outcome struct {
					result *mcp.CallToolResult
					err    error
				}
				waited := make(chan outcome, 1)
				waiting := begin(t, c, "confirm", work{Seconds: 4, Label: "asks"})
				go func() {
					result, err := waiting.Wait(t.Context())
					waited <- outcome{result, err}
				}()
				time.Sleep(10 * time.Second)
				if got := state(t, waiting); got.Status != mcp.TaskInputRequired {
					t.Fatalf("got %+v, want a question", got)
				}
				other, err := begin(t, c, "confirm", work{Seconds: 1}).Wait(t.Context())
				if err != nil || other.IsError {
					t.Errorf("another task of the tool: got %+v, %v, want the only slot free for it", other, err)
				}
				got := <-waited
				if done := got.err == nil && !got.result.IsError; done != want {
					t.Errorf("timeout of %v: got %+v, %v, want it done: %t", limit, got.result, got.err, want)
				}
			})
		}
	})
}

func TestCancelledTaskStaysCancelled(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-373a", "R-373b", "R-381a")
		synctest.Test(t, func(t *testing.T) {
			c := as(t, newServer(t, nil), v, user("ada"))
			h := begin(t, c, "slow", work{Seconds: 60})
			began := time.Now()
			must(t, h.Cancel(t.Context()))
			if got := state(t, h); got.Status != mcp.TaskCancelled {
				t.Errorf("got %s, want cancelled at once", got.Status)
			}
			if _, err := h.Wait(t.Context()); err == nil || time.Since(began) > 5*time.Second {
				t.Errorf("got %v after %v, want an error without delay", err, time.Since(began))
			}
			time.Sleep(2 * time.Minute)
			if got := state(t, h); got.Status != mcp.TaskCancelled || got.Result != nil {
				t.Errorf("got %+v, want it cancelled for good", got)
			}
			err := h.Cancel(t.Context())
			if want := v == mcp.V20251125; (mcp.CodeOf(err) == mcp.CodeInvalidParams) != want || (err != nil) != want {
				t.Errorf("again: got %v, want an error %v", err, want)
			}
			done := begin(t, c, "slow", work{})
			synctest.Wait()
			if err := done.Cancel(t.Context()); (err != nil) != (v == mcp.V20251125) {
				t.Errorf("after its end: got %v", err)
			}
			if got := state(t, done); got.Status != mcp.TaskCompleted {
				t.Errorf("got %s, want completed for good", got.Status)
			}
		})
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestParkedValuesAndStepsMoveToTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps, closed int
		srv := mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet})
		endLater(t, srv)
		all := tasks.Enable(srv, &tasks.Options{Logger: quiet})
		srv.Tool("hold", "", func(ctx context.Context, _ struct{}) (*mcp.CallToolResult, error) {
			once := func(ctx context.Context, key string) (int, error) {
				return mcpserver.Once(ctx, key, func() (int, error) { steps++; return steps, nil })
			}
			held, err := mcpserver.Park(ctx, "held", func(context.Context) (string, error) { return "held", nil }, func(string) { closed++ })
			if _, stop := once(ctx, "step"); err != nil || stop != nil {
				return nil, cmp.Or(err, stop)
			}
			if _, err := mcpserver.Ask[named](ctx, "name", "Who?"); err != nil {
				return nil, err
			}
			if ctx, err = tasks.Begin(ctx); err != nil {
				return nil, err
			}
			time.Sleep(time.Second)
			n, err := once(ctx, "step")
			if _, ok := tasks.IDFrom(ctx); !ok || closed > 0 {
				t.Errorf("in a task %v, closed %d times, want it open", ok, closed)
			}
			result := &mcp.CallToolResult{Content: mcp.Contents{mcp.Textf("%s %d", held, n)}}
			result.Meta = mcp.Meta{mcp.MetaServerInfo: jsontext.Value(`{"name":"forged"}`), "com.example/a": jsontext.Value("1")}
			return result, err
		}, all.AsTask(tasks.Late))
		c := mcptest.Connect(t, srv, &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20260728}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
		})
		mcptest.Answer(c, "name", named{"Ada"})
		got, err := begin(t, c, "hold", nil).Wait(t.Context())
		synctest.Wait()
		if err != nil || got.Content.Text() != "held 1" || steps != 1 || closed != 1 {
			t.Errorf("got %+v, %v, %d steps, closed %d times, want each once", got, err, steps, closed)
		}
		if len(got.Meta) != 1 {
			t.Errorf("got metadata %v, want the author's own only", got.Meta)
		}
	})
}
