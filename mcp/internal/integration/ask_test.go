package integration_test

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
