package mcptest_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

type seat struct {
	Row  int    `json:"row" min:"1" max:"40"`
	Side string `json:"side" enum:"window|aisle"`
}

type meal struct {
	Dish  string `json:"dish"`
	Wines *bool  `json:"wines,omitzero"`
}

type booking struct {
	Ref     string `json:"ref"`
	Seat    string `json:"seat"`
	Dish    string `json:"dish"`
	Summary string `json:"summary"`
}

// airline has a tool that asks twice by form and once the model, with a side
// effect between.
type airline struct {
	*mcpserver.Server
	reserved atomic.Int32
}

func newAirline() *airline {
	a := &airline{Server: mcpserver.New("airline", "1.0.0", nil)}
	a.tools()
	return a
}

// newTaskAirline returns an airline whose tools become tasks, which are polled
// often.
func newTaskAirline() *airline {
	a := &airline{Server: mcpserver.New("airline", "1.0.0", nil)}
	a.tools(tasks.Enable(a.Server, &tasks.Options{Poll: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}).AsTask())
	return a
}

func (a *airline) tools(opts ...mcpserver.ToolOption) {
	a.Tool("book", "Books a seat", a.book, opts...)
	a.Tool("summarise", "Summarises", func(ctx context.Context, _ struct{}) (string, error) { return summarise(ctx, "a flight") }, opts...)
}

// forms reports whether a revision has elicitation.
func forms(v mcp.Revision) bool { return v != mcp.V20241105 && v != mcp.V20250326 }

// booked is what a passenger gets of book.
func booked(v mcp.Revision) booking {
	if !forms(v) {
		return booking{Ref: "at the desk"}
	}
	return booking{"R1", "4 window", "soup", "in short"}
}

func (a *airline) book(ctx context.Context, _ struct{}) (booking, error) {
	s, err := mcpserver.Ask[seat](ctx, "seat", "Which seat would you like?")
	if mcp.CodeOf(err) == mcp.CodeMissingCapability {
		return booking{Ref: "at the desk"}, nil
	}
	if err != nil {
		return booking{}, err
	}
	ref, err := mcpserver.Once(ctx, "reserve", func() (string, error) {
		return fmt.Sprintf("R%d", a.reserved.Add(1)), nil
	})
	if err != nil {
		return booking{}, err
	}
	m, err := mcpserver.Ask[meal](ctx, "meal", "What would you like to eat?")
	if err != nil {
		return booking{}, err
	}
	summary, err := summarise(ctx, fmt.Sprintf("seat %d, %s", s.Row, m.Dish))
	return booking{ref, fmt.Sprint(s.Row, " ", s.Side), m.Dish, summary}, err
}

func summarise(ctx context.Context, text string) (string, error) {
	answer, err := mcpserver.Sample(ctx, "summary", &mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Summarise: " + text)}}},
		MaxTokens: 100,
	})
	if err != nil {
		return "", err
	}
	return answer.Content.Text(), nil
}

// passenger answers what an airline asks. A revision without forms has none to
// answer.
func passenger(tb testing.TB, v mcp.Revision) *mcpclient.Options {
	return &mcpclient.Options{
		Revisions: []mcp.Revision{v},
		ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if !forms(v) {
				tb.Errorf("asked %q by form", p.Message)
			}
			content := `{"row":4,"side":"window"}`
			if strings.Contains(p.Message, "to eat") {
				content = `{"dish":"soup"}`
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(content)}, nil
		},
		Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text("in short")}, Model: "m"}, nil
		},
	}
}

// askTransports are the ways to an airline.
var askTransports = map[string]func(t *testing.T, a *airline) mcpclient.Target{
	"memory": func(t *testing.T, a *airline) mcpclient.Target {
		return mcpclient.Conn(mcptest.CheckWire(t, mcptest.Dial(t, a, taskWire...), mcptest.Client, append(taskWire, mcptest.CheckOnly(mcptest.Client))...))
	},
	"stdio": func(t *testing.T, a *airline) mcpclient.Target {
		return mcpclient.Conn(mcptest.CheckWire(t, framed(t, a), mcptest.Client, taskWire...))
	},
	"http": func(t *testing.T, a *airline) mcpclient.Target {
		return mcpclient.URL(serveHTTP(t, a.Server, a.HTTPHandler(), taskWire...))
	},
	"http+sse": func(t *testing.T, a *airline) mcpclient.Target {
		return mcpclient.URL(serveHTTP(t, a.Server, a.EventStreamHandler(), taskWire...))
	},
}

// What tasks add to the wire.
type (
	taskResult struct {
		mcp.ResultBase
		tasks.Task
	}
	taskUpdate struct {
		TaskID         string                    `json:"taskId"`
		InputResponses map[string]jsontext.Value `json:"inputResponses"`
		Meta           mcp.Meta                  `json:"_meta,omitempty"`
	}
)

var taskWire = []mcptest.CheckOption{
	mcptest.ExpectMethod(mcp.MethodToolsCall, nil, taskResult{}),
	mcptest.ExpectMethod(mcp.MethodTasksGet, mcp.TaskParams{}, taskResult{}),
	mcptest.ExpectMethod(tasks.MethodUpdate, taskUpdate{}, mcp.EmptyResult{}),
}

// framed serves an airline over lines on a pipe, as over stdio, and returns the
// client's end.
func framed(t *testing.T, a *airline) mcp.Conn {
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- a.Serve(context.Background(), stdio.New(theirs, theirs, theirs, nil)) }()
	conn := stdio.New(ours, ours, ours, nil)
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return conn
}

// Without tasks the way on the wire is in testdata/asking, and with them in those
// of the package tasks.
func TestHandlerThatAsksGivesTheSameResultEverywhere(t *testing.T) {
	claim.Shows(t, "R-290", "R-293", "R-301")
	t.Parallel()
	for name, transport := range askTransports {
		for _, v := range mcp.Revisions() {
			if name == "http+sse" && v == mcp.V20260728 {
				continue // not legal
			}
			t.Run(name+"/"+v.String()+"/call", func(t *testing.T) {
				t.Parallel()
				a := newAirline()
				c := connectTo(t, transport(t, a), passenger(t, v))
				a.check(t, v, func(tool string) (*mcp.CallToolResult, error) { return c.CallTool(t.Context(), tool, nil) })
			})
			if v != mcp.V20251125 && v != mcp.V20260728 {
				continue // has no tasks
			}
			t.Run(name+"/"+v.String()+"/task", func(t *testing.T) {
				t.Parallel()
				a, o := newTaskAirline(), passenger(t, v)
				o.Extensions = []mcpclient.Extension{tasks.Client(nil)}
				c := connectTo(t, transport(t, a), o)
				for _, err := range c.Tools(t.Context()) { // says which may be tasks
					if err != nil {
						t.Fatal(err)
					}
				}
				a.check(t, v, func(tool string) (*mcp.CallToolResult, error) {
					h, err := tasks.Call(t.Context(), c, tool, nil)
					if err != nil || h.ID() == "" {
						t.Fatalf("%s: got no task, %v", tool, err)
					}
					return h.Wait(t.Context())
				})
			})
		}
	}
}

// check calls the tools of an airline.
func (a *airline) check(t *testing.T, v mcp.Revision, call func(tool string) (*mcp.CallToolResult, error)) {
	t.Helper()
	result, err := call("book")
	if err != nil {
		t.Fatal(err)
	}
	var got booking
	if err := json.Unmarshal([]byte(result.Content.Text()), &got); err != nil || got != booked(v) {
		t.Errorf("got %s, %v, want %+v", result.Content.Text(), err, booked(v))
	}
	reserved := int32(0)
	if forms(v) {
		reserved = 1
	}
	if n := a.reserved.Load(); n != reserved {
		t.Errorf("reserved %d times, want %d", n, reserved)
	}
	if result, err := call("summarise"); err != nil || result.Content.Text() != "in short" {
		t.Errorf("summarise: got %+v, %v", result, err)
	}
}

func TestAnswersReachTheirQuestions(t *testing.T) {
	t.Parallel()
	mcptest.EachRevision(t, newAirline(), func(t *testing.T, c *mcpclient.Client) {
		mcptest.Answer(c, "seat", seat{7, "aisle"})
		mcptest.Answer(c, "meal", meal{Dish: "fish"})
		mcptest.Answer(c, "summary", &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text("ok")}, Model: "m"})
		got, err := c.Call[booking](t.Context(), "book", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Ref != "at the desk" && (got.Seat != "7 aisle" || got.Dish != "fish" || got.Summary != "ok") {
			t.Errorf("got %+v", got)
		}
	})
}

// failures is a testing.TB that keeps what would fail.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func TestCheckReplayFindsWhatIsNotRepeatable(t *testing.T) {
	t.Parallel()
	use := func(c *mcpclient.Client) (any, error) {
		mcptest.Answer(c, "name", meal{Dish: "soup"})
		return c.CallTool(t.Context(), "order", nil)
	}
	for name, test := range map[string]struct {
		count func(ctx context.Context, n *int) (int, error)
		want  string
	}{
		"once": {func(ctx context.Context, n *int) (int, error) {
			return mcpserver.Once(ctx, "count", func() (int, error) { *n++; return *n, nil })
		}, ""},
		"every time": {func(_ context.Context, n *int) (int, error) { *n++; return *n, nil }, `/outcome/content/0/text: got "2", want "1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &failures{TB: t}
			mcptest.CheckReplay(f, func() mcpclient.Server {
				srv, orders := mcpserver.New("kitchen", "1", nil), 0
				srv.Tool("order", "", func(ctx context.Context, _ struct{}) (string, error) {
					n, err := test.count(ctx, &orders)
					if err != nil {
						return "", err
					}
					_, err = mcpserver.Ask[meal](ctx, "name", "What?")
					return fmt.Sprint(n), err
				})
				return srv
			}, use)
			if got := strings.Join(f.said, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCheckReplayTakesQuestionsThatAreAskedTogetherInAnyOrder(t *testing.T) {
	t.Parallel()
	newServer := func() mcpclient.Server {
		srv := mcpserver.New("kitchen", "1", nil)
		srv.Tool("order", "", func(ctx context.Context, _ struct{}) (string, error) {
			var dish meal
			var roots []mcp.Root
			var answer mcp.CreateMessageResult
			err := mcpserver.AskAll(
				ctx, mcpserver.ElicitForm("dish", "What?", &dish), mcpserver.ListRoots("roots", &roots),
				mcpserver.SampleQuestion("advice", &mcp.CreateMessageParams{MaxTokens: 1}, &answer),
			)
			return dish.Dish, err
		})
		return srv
	}
	for range 20 { // requests that are sent side by side arrive in any order
		mcptest.CheckReplay(t, newServer, func(c *mcpclient.Client) (any, error) {
			mcptest.Answer(c, "dish", meal{Dish: "soup"})
			mcptest.Answer(c, "roots", []mcp.Root{{URI: "file:///home/ada"}})
			mcptest.Answer(c, "advice", &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("ok")}})
			return c.Call[string](t.Context(), "order", nil)
		})
	}
}

func TestCheckReplayNamesTheQuestionThatChanged(t *testing.T) {
	t.Parallel()
	f, price := &failures{TB: t}, 0
	mcptest.CheckReplay(f, func() mcpclient.Server {
		srv := mcpserver.New("kitchen", "1", nil)
		srv.Tool("order", "", func(ctx context.Context, _ struct{}) (string, error) {
			price++
			_, err := mcpserver.Ask[meal](ctx, "dish", fmt.Sprintf("What for %d?", price))
			return "", err
		})
		return srv
	}, func(c *mcpclient.Client) (any, error) {
		for range 3 {
			mcptest.Answer(c, "dish", meal{Dish: "soup"})
		}
		return c.CallTool(t.Context(), "order", nil)
	})
	if len(f.said) != 1 || !strings.Contains(f.said[0], `question "dish" changed between two rounds`) {
		t.Errorf("got %q, want the key of the question and nothing else", f.said)
	}
}

func TestQuestionWithoutAnAnswerSaysWhyNoneFits(t *testing.T) {
	t.Parallel()
	type guests struct {
		Number int `json:"number" max:"4"`
	}
	for revision, want := range map[mcp.Revision][]string{
		mcp.V20251125: {`answer "guests" does not fit: /number: `, `answer "meal" does not fit: `, `answer "home" does not fit: its type is []mcp.Root`},
		mcp.V20260728: {`answer "guests" does not fit: /number: `, `answer "meal" does not fit: it has another key`, `answer "home" does not fit: it has another key`},
	} {
		srv := mcpserver.New("kitchen", "1", nil)
		srv.Tool("order", "", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := mcpserver.Ask[guests](ctx, "guests", "How many?")
			return "", err
		})
		var said error
		c := mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{revision}})
		c.Use(func(next mcpclient.Handler) mcpclient.Handler {
			return func(ctx context.Context, r *mcpclient.Request) (any, error) {
				result, err := next(ctx, r)
				if err != nil && said == nil {
					said = err
				}
				return result, err
			}
		})
		mcptest.Answer(c, "guests", guests{9})
		mcptest.Answer(c, "meal", meal{Dish: "soup"})
		mcptest.Answer(c, "home", []mcp.Root{{URI: "file:///home/ada"}})
		_, _ = c.CallTool(t.Context(), "order", nil)
		for _, line := range want {
			if !strings.Contains(fmt.Sprint(said), line) {
				t.Errorf("%s: got %v, want %q", revision, said, line)
			}
		}
	}
}
