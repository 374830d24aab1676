package tasks_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { leak.Main(m) }

type work struct {
	Seconds float64 `json:"seconds,omitzero"`
	Label   string  `json:"label,omitzero"`
}

type sure struct {
	Sure bool `json:"sure"`
}

type named struct {
	Name string `json:"name"`
}

// newServer has the tools of these tests.
func newServer(t *testing.T, o *tasks.Options) *mcpserver.Server {
	t.Helper()
	return addTools(t, mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet}), o)
}

var quiet = slog.New(slog.DiscardHandler)

// addTools adds the tools to a server, which is shut down when the test ends.
func addTools(tb testing.TB, srv *mcpserver.Server, o *tasks.Options) *mcpserver.Server {
	endLater(tb, srv)
	if o == nil {
		o = new(tasks.Options)
	}
	o.Logger = quiet
	t := tasks.Enable(srv, o)
	srv.Tool("greet", "Greets at once", func(_ context.Context, in named) (string, error) { return "Hello, " + in.Name + "!", nil })
	srv.Tool("slow", "Takes its time", slow, t.AsTask())
	srv.Tool("failing", "Fails", func(ctx context.Context, _ struct{}) (string, error) {
		_, _ = slow(ctx, work{Seconds: 1})
		return "", errors.New("it did not work")
	}, t.AsTask(tasks.Required))
	srv.Tool("broken", "Breaks", func(ctx context.Context, _ struct{}) (string, error) {
		_, _ = slow(ctx, work{Seconds: 1})
		return "", mcp.Errorf(mcp.CodeInternal, "out of order")
	}, t.AsTask())
	srv.Tool("panics", "Has a mistake", func(context.Context, struct{}) (string, error) { panic("secret") }, t.AsTask())
	srv.Tool("confirm", "Asks", func(ctx context.Context, in work) (string, error) {
		answer, err := mcpserver.Ask[sure](ctx, "sure", "Delete "+in.Label+"?")
		if err != nil || !answer.Sure {
			return "kept", err
		}
		return "deleted " + in.Label, nil
	}, t.AsTask())
	reserved := 0
	srv.Tool("book", "Asks three times", func(ctx context.Context, _ struct{}) (string, error) {
		if _, err := mcpserver.Ask[sure](ctx, "seat", "This seat?"); err != nil {
			return "", err
		}
		if _, err := mcpserver.Once(ctx, "reserve", func() (int, error) { reserved++; return reserved, nil }); err != nil {
			return "", err
		}
		if _, err := mcpserver.Ask[sure](ctx, "meal", "This meal?"); err != nil {
			return "", err
		}
		var answer mcp.CreateMessageResult
		err := mcpserver.AskAll(ctx, mcpserver.SampleQuestion("summary", &mcp.CreateMessageParams{
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Summarise")}}}, MaxTokens: 100,
		}, &answer))
		return fmt.Sprintf("reserved %d, %s", reserved, answer.Content.Text()), err
	}, t.AsTask())
	srv.Tool("both", "Asks twice at once", func(ctx context.Context, _ struct{}) (string, error) {
		var first, last named
		err := mcpserver.AskAll(ctx, mcpserver.ElicitForm("first", "First?", &first), mcpserver.ElicitForm("last", "Last?", &last))
		return first.Name + " " + last.Name, err
	}, t.AsTask())
	srv.Tool("late", "Asks before it works", func(ctx context.Context, in work) (string, error) {
		who, err := mcpserver.Ask[named](ctx, "name", "Who are you?")
		if err != nil {
			return "", err
		}
		if ctx, err = tasks.Begin(ctx); err != nil {
			return "", err
		}
		tasks.Status(ctx, "working for "+who.Name)
		_, err = slow(ctx, in)
		return "done for " + who.Name, err
	}, t.AsTask(tasks.Late))
	return srv
}

// slow works for a while, telling so.
func slow(ctx context.Context, in work) (string, error) {
	mcpserver.Progress(ctx, 1, 2, "half of "+in.Label)
	select {
	case <-time.After(time.Duration(in.Seconds * float64(time.Second))):
		return "done " + in.Label, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// eras are those that have tasks.
var eras = []mcp.Revision{mcp.V20251125, mcp.V20260728}

// eachEra runs a test with both systems of tasks.
func eachEra(t *testing.T, test func(t *testing.T, v mcp.Revision)) {
	t.Helper()
	for _, v := range eras {
		t.Run(v.String(), func(t *testing.T) { test(t, v) })
	}
}

// What the extension adds to the wire, for the checks of mcptest.
type (
	taskResult struct {
		mcp.ResultBase
		tasks.Task
	}
	taskNotice struct {
		tasks.Task
		Meta mcp.Meta `json:"_meta,omitempty"`
	}
	taskUpdate struct {
		TaskID         string                    `json:"taskId"`
		InputResponses map[string]jsontext.Value `json:"inputResponses"`
		Meta           mcp.Meta                  `json:"_meta,omitempty"`
	}
)

var onTheWire = []mcptest.CheckOption{
	mcptest.ExpectMethod(mcp.MethodToolsCall, nil, taskResult{}),
	mcptest.ExpectMethod(mcp.MethodTasksGet, mcp.TaskParams{}, taskResult{}),
	mcptest.ExpectMethod(mcp.MethodTasksCancel, mcp.TaskParams{}, mcp.EmptyResult{}),
	mcptest.ExpectMethod(tasks.MethodUpdate, taskUpdate{}, mcp.EmptyResult{}),
	mcptest.ExpectMethod(tasks.Notification, taskNotice{}),
}

// connect returns a client with tasks, which has listed the tools.
func connect(t *testing.T, srv *mcpserver.Server, v mcp.Revision, o *tasks.ClientOptions) *mcpclient.Client {
	t.Helper()
	c := mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(o)}}, onTheWire...)
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// begin calls a tool and returns its task.
func begin(t *testing.T, c *mcpclient.Client, tool string, args any) *tasks.Handle {
	t.Helper()
	h, err := tasks.Call(t.Context(), c, tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if h.ID() == "" {
		t.Fatalf("%s: no task", tool)
	}
	return h
}

// state returns the state of a task.
func state(t *testing.T, h *tasks.Handle) tasks.Task {
	t.Helper()
	task, err := h.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// as returns a client of a principal, with tasks, which has listed the tools.
func as(t *testing.T, srv *mcpserver.Server, v mcp.Revision, who mcp.Principal) *mcpclient.Client {
	t.Helper()
	c := dial(t, srv, who, &mcpclient.Options{
		Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errors.New("not here")
		},
	})
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// dial returns a client of a principal.
func dial(t *testing.T, srv *mcpserver.Server, who mcp.Principal, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	ours, theirs := memory.Pair()
	served := make(chan error, 1)
	go func() {
		served <- srv.ServeConn(context.Background(), theirs, mcpserver.ConnOptions{Identity: &mcp.Identity{Principal: who}})
	}()
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(ours), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		<-served
	})
	return c
}

func user(name string) mcp.Principal {
	return mcp.Principal{Issuer: "https://id.example.com", Subject: name}
}

// isUnknown reports whether an error says that there is no such task.
func isUnknown(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && e.Remote && e.Number == -32602 && strings.HasSuffix(e.Message, ": unknown task")
}

func connectPlain(t *testing.T, srv *mcpserver.Server, v mcp.Revision) *mcpclient.Client {
	t.Helper()
	return mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{v}})
}

func listenTo(ids ...string) *mcp.ListenParams {
	raw, _ := json.Marshal(map[string][]string{"taskIds": ids})
	return &mcp.ListenParams{Notifications: mcp.SubscriptionFilter{Extra: raw}}
}

// endLater shuts a server down when the test ends, without waiting for its tasks.
func endLater(tb testing.TB, srv *mcpserver.Server) {
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = srv.Shutdown(ctx)
	})
}

func sayYes(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"yes":true}`)}, nil
}
