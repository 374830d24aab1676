package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func askColour(ctx context.Context) error {
	_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
	return err
}

func TestErrorsOfQuestionsBeginWithTheirKey(t *testing.T) {
	t.Parallel()
	if err := askColour(t.Context()); err == nil || !strings.HasPrefix(err.Error(), `ask "colour": `) || !errors.Is(err, mcpserver.ErrNotInCall) {
		t.Errorf("outside of a call: got %v, want %v with the key", err, mcpserver.ErrNotInCall)
	}
	for name, test := range map[string]struct {
		can string
		ask func(context.Context) error
	}{
		"key used already":   {canAll, askUnderAUsedKey},
		"missing capability": {`{}`, askColour},
		"second of two questions": {canAll, func(ctx context.Context) error {
			return mcpserver.AskAll(ctx, mcpserver.ElicitURL("visit", "Sign in", "https://id.example.com/"), mcpserver.ElicitURL("colour", "Sign in", "no URL"))
		}},
		"after the run has moved": {canAll, func(ctx context.Context) error {
			_, done, err := mcpserver.Detach(ctx, mcpserver.Background{})
			if err != nil {
				return err
			}
			defer done()
			return askColour(ctx)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				srv, seen := newServer(nil), make(chan error, 1)
				srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
					seen <- test.ask(ctx)
					return "", nil
				})
				dialAs(t, srv, r, test.can).Call("tools/call", `{"name":"ask"}`)
				if err := <-seen; err == nil || !strings.HasPrefix(err.Error(), `ask "colour": `) {
					t.Errorf("got %v, want an error that begins with the key", err)
				}
			})
		})
	}
}

func askUnderAUsedKey(ctx context.Context) error {
	if _, err := mcpserver.Once(ctx, "colour", func() (int, error) { return 1, nil }); err != nil {
		return err
	}
	return askColour(ctx)
}

// TestQuestionOfAnEndedCallFailsWithTheCause has calls that end while their handler runs,
// before it asks or while it waits for the answer.
func TestQuestionOfAnEndedCallFailsWithTheCause(t *testing.T) {
	for name, test := range map[string]struct {
		timeout time.Duration
		waits   bool // for an answer when the call ends: in the session era
	}{
		"cancelled before the question": {},
		"cancelled during the question": {waits: true},
		"timed out":                     {timeout: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				if test.waits && isModern(r) {
					return // a question ends the run
				}
				srv, asked, opts := newServer(nil), make(chan error, 2), []mcpserver.ToolOption(nil)
				if test.timeout > 0 {
					opts = append(opts, mcpserver.Timeout(test.timeout))
				}
				srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
					if !test.waits {
						<-ctx.Done()
					}
					err := askColour(ctx)
					asked <- err
					asked <- context.Cause(ctx)
					return "", err
				}, opts...)
				w := dialAs(t, srv, r, canAll)
				id := w.Send("tools/call", `{"name":"ask"}`)
				if test.waits {
					w.Read() // the question
				}
				if test.timeout == 0 {
					synctest.Wait()
					w.Write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(id) + `}}`)
				}
				err, cause := <-asked, <-asked
				if cause == nil || !errors.Is(err, cause) || !errors.Is(err, mcpserver.ErrCallEnded) {
					t.Errorf("got %v, want %v and %v", err, mcpserver.ErrCallEnded, cause)
				}
				if err != nil && !strings.HasPrefix(err.Error(), `ask "colour": the call has ended: `) {
					t.Errorf("got %v, want the key and that the call has ended", err)
				}
			})
		})
	}
}

func TestQuestionWithAnEndedContextOfTheHandlerDoesNotEndTheCall(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, asked := newServer(nil), make(chan error, 1)
		srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
			own, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			<-own.Done()
			asked <- askColour(own)
			return "the call goes on", nil
		})
		got := dialAs(t, srv, r, canAll).Must("tools/call", `{"name":"ask"}`)
		if err := <-asked; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, mcpserver.ErrCallEnded) || !strings.HasPrefix(err.Error(), `ask "colour": `) {
			t.Errorf("got %v, want %v alone, with the key", err, context.DeadlineExceeded)
		}
		if at(t, got, "/content/0/text") != `"the call goes on"` {
			t.Errorf("got %s", got)
		}
	})
}
