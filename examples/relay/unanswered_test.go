package main

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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// upstreamServer counts how often its tool started and ended.
type upstreamServer struct {
	*mcpserver.Server
	began, ended atomic.Int32
}

func newUpstreamServer() *upstreamServer {
	d := &upstreamServer{Server: mcpserver.New("desk", "1", &mcpserver.Options{
		Revisions: []mcp.Revision{mcp.V20251125}, Logger: slog.New(slog.DiscardHandler),
		Ask: &mcpserver.AskOptions{Wait: time.Hour},
	})}
	d.Tool("sit", "", func(ctx context.Context, _ struct{}) (string, error) {
		d.began.Add(1)
		defer d.ended.Add(1)
		where, err := mcpserver.Ask[seat](ctx, "seat", "Which seat?")
		return fmt.Sprint("row ", where.Row), err
	})
	return d
}

// rewritingConn is the client's end of a connection. It changes the messages that the
// client sends.
type rewritingConn struct {
	mcp.Conn
	write func(msg []byte) []byte
}

func (m *rewritingConn) Write(ctx context.Context, msg []byte) error {
	return m.Conn.Write(ctx, m.write(msg))
}

type elicitor = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)

func answer(r mcp.ElicitResult) elicitor {
	return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return &r, nil }
}

func thinks(d time.Duration) elicitor {
	return func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		select {
		case <-time.After(d):
			return &row4, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

var row4 = mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"row":4}`)}

// connect connects a client to a new relay in front of the upstream server.
func connect(t *testing.T, d *upstreamServer, v mcp.Revision, elicit elicitor, write func(msg []byte) []byte) *mcpclient.Client {
	t.Helper()
	srv, err := newServer(t.Context(), mcpclient.InProcess(d))
	if err != nil {
		t.Fatal(err)
	}
	conn := mcptest.Dial(t, srv)
	if write != nil {
		conn = &rewritingConn{conn, write}
	}
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(conn), &mcpclient.Options{
		Revisions: []mcp.Revision{v}, ElicitForm: elicit, Timeouts: mcpclient.TimeoutOptions{MaxCall: time.Hour}, Logger: slog.New(slog.DiscardHandler),
		Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// resultText is the text of the result or error that the caller gets.
func resultText(r *mcp.CallToolResult, err error) string {
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

// The test covers the relay's column of the table in docs/asking.md.
func TestErrorOfAQuestionWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		elicit             elicitor
		write              func(msg []byte) []byte
		session, stateless string
	}{
		"answered":        {elicit: answer(row4), session: "row 4", stateless: "row 4"},
		"declined":        {elicit: answer(mcp.ElicitResult{Action: mcp.ElicitDecline}), session: `isError ask "seat": the user declined`, stateless: `isError ask "seat": the user declined`},
		"dismissed":       {elicit: answer(mcp.ElicitResult{Action: mcp.ElicitCancel}), session: `isError ask "seat": the user dismissed`, stateless: `isError ask "seat": the user dismissed`},
		"cannot be asked": {session: `isError input "upstream": `, stateless: `-32021 `},
		"late":            {elicit: thinks(11 * time.Minute), session: `isError input "upstream": elicitation/create: no answer came in time`, stateless: "-32602 requestState: not valid"},
		"does not fit": {
			elicit: answer(row4), session: `isError ask "seat": peer answered -32602: elicitation/create: answer: content/row: want at least 1, got -4`, stateless: `isError ask "seat": peer answered -32602: elicitation/create: answer: content/row: want at least 1, got -4`,
			write: func(msg []byte) []byte { return bytes.ReplaceAll(msg, []byte(`"row":4`), []byte(`"row":-4`)) },
		},
		"not asked for": {elicit: answer(row4), session: "row 4", stateless: "row 4", write: func(msg []byte) []byte {
			const members = `"inputResponses":{`
			return bytes.ReplaceAll(msg, []byte(members), []byte(members+`"other":{"action":"decline"},`))
		}},
	} {
		for v, want := range map[mcp.Revision]string{mcp.V20251125: test.session, mcp.V20260728: test.stateless} {
			t.Run(name+"/"+v.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := newUpstreamServer()
					c := connect(t, d, v, test.elicit, test.write)
					if got := resultText(c.CallTool(t.Context(), "sit", nil)); !strings.HasPrefix(got, want) {
						t.Errorf("got %s, want %s", got, want)
					}
					d.ran(t, 1)
				})
			})
		}
	}
}

// ran checks how often the upstream tool has started, and that it has ended as often.
func (d *upstreamServer) ran(t *testing.T, want int32) {
	t.Helper()
	synctest.Wait()
	if began, ended := d.began.Load(), d.ended.Load(); began != want || ended != want {
		t.Errorf("upstream: began %d times and ended %d times, want %d", began, ended, want)
	}
}

func TestDisconnectOfTheClientCancelsTheUpstreamCall(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newUpstreamServer()
				c := connect(t, d, v, thinks(time.Hour), nil)
				ctx, vanish := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = c.CallTool(ctx, "sit", nil)
				}()
				time.Sleep(time.Minute)
				vanish()
				<-done
				if v == mcp.V20260728 { // its state does not expire before
					time.Sleep(9 * time.Minute)
				}
				d.ran(t, 1)
			})
		})
	}
}

func TestOneOfTwoConcurrentRetriesWins(t *testing.T) {
	t.Parallel()
	d := newUpstreamServer()
	c := connect(t, d, mcp.V20260728, answer(row4), nil)
	_, err := c.CallTool(t.Context(), "sit", nil, mcpclient.ManualInput())
	in, ok := errors.AsType[*mcpclient.InputRequiredError](err)
	if !ok {
		t.Fatalf("got %v, want the question", err)
	}
	again := mcp.InputResponseParams{
		InputResponses: map[string]jsontext.Value{"upstream": jsontext.Value(`{"action":"accept","content":{"row":4}}`)},
		RequestState:   in.Result.RequestState,
	}
	got := make([]string, 2)
	var both sync.WaitGroup
	for i := range got {
		both.Go(func() { got[i] = resultText(c.CallTool(t.Context(), "sit", nil, mcpclient.WithInput(again))) })
	}
	both.Wait()
	slices.Sort(got)
	if want := []string{`isError park "upstream": interaction expired, call again`, "row 4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := d.began.Load(); n != 1 {
		t.Errorf("began %d times upstream, want 1", n)
	}
}
