package integration_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// desk has a tool that asks for a seat, and can be called as a task.
func desk(o *mcpserver.Options) *mcpserver.Server {
	if o == nil {
		o = new(mcpserver.Options)
	}
	o.Logger = slog.New(slog.DiscardHandler)
	s := mcpserver.New("desk", "1", o)
	all := tasks.Enable(s, &tasks.Options{Logger: o.Logger})
	for name, option := range map[string][]mcpserver.ToolOption{"call": nil, "task": {all.AsTask()}} {
		s.Tool(name, "", func(ctx context.Context, _ struct{}) (string, error) {
			where, err := mcpserver.Ask[seat](ctx, "seat", "Which seat?")
			return fmt.Sprint("row ", where.Row), err
		}, option...)
	}
	return s
}

// visitor connects a client to a desk. What the client writes goes through write,
// if it is not nil.
func visitor(t *testing.T, s *mcpserver.Server, v mcp.Revision, elicit elicitor, write func(msg []byte) [][]byte) *mcpclient.Client {
	t.Helper()
	conn := mcptest.Dial(t, s, append(taskWire, mcptest.ExpectMethod(mcp.MethodTasksCancel, mcp.TaskParams{}, mcp.EmptyResult{}))...)
	if write != nil {
		conn = &meddler{conn, write}
	}
	c := connectTo(t, mcpclient.Conn(conn), &mcpclient.Options{
		Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(nil)}, ElicitForm: elicit,
		Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }, Logger: slog.New(slog.DiscardHandler),
	})
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

type elicitor = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)

// meddler is the client's end of a connection. It writes other messages than the
// client does.
type meddler struct {
	mcp.Conn
	write func(msg []byte) [][]byte
}

func (m *meddler) Write(ctx context.Context, msg []byte) error {
	for _, other := range m.write(msg) {
		if err := m.Conn.Write(ctx, other); err != nil {
			return err
		}
	}
	return nil
}

func sitDown(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"row":4,"side":"window"}`)}, nil
}

// ask makes the call of a kind and returns what its caller reads: the text of an
// error of the tool, or the number and the text of one of the protocol.
func ask(ctx context.Context, c *mcpclient.Client, kind string) string {
	h, err := tasks.Call(ctx, c, kind, nil)
	var r *mcp.CallToolResult
	if err == nil {
		r, err = h.Wait(ctx)
	}
	return told(r, err)
}

func told(r *mcp.CallToolResult, err error) string {
	e, ok := errors.AsType[*mcp.Error](err)
	switch {
	case ok && e.Remote:
		return fmt.Sprint(e.Number, " ", e.Message)
	case err != nil:
		return err.Error()
	case r.IsError:
		return "isError " + r.Content.Text()
	}
	return r.Content.Text()
}

// eachKind runs a test in both eras, for a call and a task.
func eachKind(t *testing.T, test func(t *testing.T, v mcp.Revision, kind string)) {
	t.Helper()
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, kind := range []string{"call", "task"} {
			t.Run(v.String()+"/"+kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test(t, v, kind) })
			})
		}
	}
}

// The cases are the rows of the second table of errors in docs/asking.md. The example relay
// shows the columns of a relay.
func TestErrorOfAQuestionWithoutAnAnswer(t *testing.T) {
	claim.Shows(t, "R-293")
	t.Parallel()
	answer := func(r mcp.ElicitResult) elicitor {
		return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return &r, nil }
	}
	for name, test := range map[string]struct {
		elicit elicitor
		want   map[mcp.Revision]string // the begin of the text; the zero Revision stands for both
	}{
		"declined":        {answer(mcp.ElicitResult{Action: mcp.ElicitDecline}), map[mcp.Revision]string{{}: `isError ask "seat": the user declined`}},
		"dismissed":       {answer(mcp.ElicitResult{Action: mcp.ElicitCancel}), map[mcp.Revision]string{{}: `isError ask "seat": the user dismissed the question`}},
		"cannot be asked": {nil, map[mcp.Revision]string{mcp.V20251125: `isError ask "seat": elicitation/create: `, mcp.V20260728: `-32021 `}},
	} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, v mcp.Revision, kind string) {
				want, both := test.want[mcp.Revision{}]
				if !both {
					want = test.want[v]
				}
				if got := ask(t.Context(), visitor(t, desk(nil), v, test.elicit, nil), kind); !strings.HasPrefix(got, want) {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		})
	}
}

func TestAnswerThatDoesNotFitIsAskedForOnceMore(t *testing.T) {
	claim.Shows(t, "R-303a")
	t.Parallel()
	const reason = "\n\nThe last answer does not fit: answer/row: want at most 40, got 400"
	for corrected, want := range map[bool]string{false: "-32602 ", true: "row 4"} {
		eachKind(t, func(t *testing.T, v mcp.Revision, kind string) {
			var messages []string
			c := visitor(t, desk(nil), v, func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				messages = append(messages, p.Message)
				return sitDown(ctx, p)
			}, func(msg []byte) [][]byte {
				if !corrected || len(messages) == 1 {
					msg = bytes.ReplaceAll(msg, []byte(`"row":4`), []byte(`"row":400`))
				}
				return [][]byte{msg}
			})
			got := ask(t.Context(), c, kind)
			if len(messages) != 2 || strings.Contains(messages[0], "does not fit") || messages[1] != messages[0]+reason {
				t.Errorf("got messages %q, want the question twice, the second time with the reason", messages)
			}
			if !strings.HasPrefix(got, want) || !corrected && !strings.Contains(got, "answer/row: want at most 40, got 400") {
				t.Errorf("corrected %v: got %s, want %s", corrected, got, want)
			}
		})
	}
}

func TestUnrequestedAnswersAreIgnored(t *testing.T) {
	claim.Shows(t, "R-303b", "R-381b")
	t.Parallel()
	eachKind(t, func(t *testing.T, v mcp.Revision, kind string) {
		c := visitor(t, desk(nil), v, sitDown, func(msg []byte) [][]byte {
			if bytes.Contains(msg, []byte(`"result":`)) { // twice, and one more of the client's own making
				return [][]byte{msg, []byte(`{"jsonrpc":"2.0","id":99,"result":{"action":"decline"}}`), msg}
			}
			const members = `"inputResponses":{`
			return [][]byte{bytes.ReplaceAll(msg, []byte(members), []byte(members+`"other":{"action":"decline"},`))}
		})
		if got := ask(t.Context(), c, kind); got != "row 4" {
			t.Errorf("got %s, want the answer to the question", got)
		}
	})
}

func TestLateAnswerIsIgnored(t *testing.T) {
	claim.Shows(t, "R-294")
	t.Parallel()
	eachKind(t, func(t *testing.T, v mcp.Revision, kind string) {
		thinks := 5 * time.Minute
		if kind == "task" {
			thinks = 2 * time.Hour
		}
		s := desk(&mcpserver.Options{Ask: &mcpserver.AskOptions{Wait: time.Minute, Expiry: time.Minute}})
		c := visitor(t, s, v, func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			select {
			case <-time.After(thinks):
				return sitDown(ctx, p)
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}, nil)
		want := "-32602 requestState: not valid for this request; make the call again without it"
		switch {
		case kind == "task":
			want = "unknown task"
		case v == mcp.V20251125:
			want = `isError ask "seat": elicitation/create: no answer came in time`
		}
		if got := ask(t.Context(), c, kind); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// holdOn is a user who thinks for ever.
func holdOn(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestClientThatDisconnectsDuringAQuestion(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, v mcp.Revision, kind string) {
		s := desk(nil)
		c := visitor(t, s, v, holdOn, nil)
		ctx, vanish := context.WithCancel(t.Context())
		read, id := make(chan string, 1), make(chan string, 1)
		go func() {
			h, err := tasks.Call(ctx, c, kind, nil)
			if err != nil {
				read <- told(nil, err)
				return
			}
			id <- h.ID()
			read <- told(h.Wait(ctx))
		}()
		time.Sleep(5 * time.Second)
		vanish()
		<-read
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		again := visitor(t, s, v, sitDown, nil)
		if kind == "call" { // nothing of it is left
			if got := ask(t.Context(), again, kind); got != "row 4" {
				t.Errorf("the next call: got %s", got)
			}
			return
		}
		if got := told(tasks.Resume(again, <-id).Wait(t.Context())); got != "row 4" {
			t.Errorf("the same task: got %s, want that its client could come back", got)
		}
	})
}

func TestAnswersThatArriveAtTheSameTime(t *testing.T) {
	claim.Shows(t, "R-381b")
	t.Parallel()
	t.Run("calls", func(t *testing.T) {
		for single, want := range map[bool]string{false: "row 4, row 4", true: "-32602 requestState: already answered, row 4"} {
			c := visitor(t, desk(&mcpserver.Options{Ask: &mcpserver.AskOptions{SingleUse: single}}), mcp.V20260728, sitDown, nil)
			_, err := c.CallTool(t.Context(), "call", nil, mcpclient.ManualInput())
			in, ok := errors.AsType[*mcpclient.InputRequiredError](err)
			if !ok {
				t.Fatalf("got %v, want the question", err)
			}
			input := mcp.InputResponseParams{
				InputResponses: map[string]jsontext.Value{"seat": jsontext.Value(`{"action":"accept","content":{"row":4,"side":"aisle"}}`)},
				RequestState:   in.Result.RequestState,
			}
			got := make([]string, 2)
			var both sync.WaitGroup
			for i := range got {
				both.Go(func() { got[i] = told(c.CallTool(t.Context(), "call", nil, mcpclient.WithInput(input))) })
			}
			both.Wait()
			slices.Sort(got)
			if strings.Join(got, ", ") != want {
				t.Errorf("single use %t: got %q, want %s", single, got, want)
			}
		}
	})
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} { // of one task, with two that wait for its end
		t.Run("tasks/"+v.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := desk(nil)
				quick, slow := visitor(t, s, v, sitDown, nil), visitor(t, s, v, func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					select {
					case <-time.After(5 * time.Second):
						return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				}, nil)
				h, err := tasks.Call(t.Context(), quick, "task", nil)
				if err != nil {
					t.Fatal(err)
				}
				var both sync.WaitGroup
				for _, c := range []*mcpclient.Client{quick, slow} {
					both.Go(func() {
						if got := told(tasks.Resume(c, h.ID()).Wait(t.Context())); got != "row 4" {
							t.Errorf("got %s, want the first answer", got)
						}
					})
				}
				both.Wait()
			})
		})
	}
}
