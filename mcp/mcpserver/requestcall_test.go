package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// curious has a tool that asks for the client's roots and tells what became of it.
func curious() (srv *mcpserver.Server, outcome chan error) {
	srv, outcome = newServer(nil), make(chan error, 1)
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		var roots mcp.ListRootsResult
		err := mcpserver.From(ctx).Call(ctx, mcp.MethodRootsList, &mcp.EmptyParams{}, &roots)
		outcome <- err
		if err != nil {
			return "", err
		}
		return roots.Roots[0].Name, nil
	})
	return srv, outcome
}

func TestAskSendsARequestInMidCall(t *testing.T) {
	claim.Shows(t, "R-003")
	eachOf(t, revisions[:4], func(t *testing.T, r mcp.Revision) {
		srv, outcome := curious()
		w := dialAs(t, srv, r, `{"roots":{}}`)
		id := w.Send("tools/call", `{"name":"ask"}`)
		question := w.Read()
		if question.Method != "roots/list" || question.ID == nil {
			t.Fatalf("got %s, want roots/list", question.Raw)
		}
		w.Write(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"roots":[{"uri":"file:///home","name":"home"}]}}`)
		if got := at(t, w.Reply(id).Result, "/content/0/text"); got != `"home"` {
			t.Errorf("got %s, want the answer used", got)
		}
		if err := <-outcome; err != nil {
			t.Errorf("got %v, want nil", err)
		}
	})
}

func TestAskReportsWhyThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-342a")
	for _, test := range []struct {
		name, answer string
		check        func(error) bool
		want         string
	}{
		{"error", `"error":{"code":-32601,"message":"no roots here"}`, func(err error) bool {
			e, ok := errors.AsType[*mcp.Error](err)
			return ok && e.Remote && e.Code == mcp.CodeMethodNotFound && e.Message == "no roots here"
		}, "the client's own error"},
		{"malformed", `"result":{"roots":"none"}`, func(err error) bool { return err != nil && strings.Contains(err.Error(), "/roots") }, "the member that is wrong"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv, outcome := curious()
				w := dialAs(t, srv, mcp.V20251125, `{"roots":{}}`)
				w.Send("tools/call", `{"name":"ask"}`)
				w.Write(`{"jsonrpc":"2.0","id":` + string(w.Read().ID) + `,` + test.answer + `}`)
				if err := <-outcome; !test.check(err) {
					t.Errorf("got %v, want %s", err, test.want)
				}
			})
		})
	}
}

func TestAskWithoutTheCapabilitySendsNothing(t *testing.T) {
	claim.Shows(t, "R-045b", "R-046b", "R-048b", "R-075", "R-318a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, outcome := curious()
		w := dial(t, srv, r)
		m := w.Call("tools/call", `{"name":"ask"}`)
		err := <-outcome
		if isModern(r) {
			if !errors.Is(err, mcpserver.ErrCannotAsk) {
				t.Errorf("got %v, want %v", err, mcpserver.ErrCannotAsk)
			}
			return
		}
		if mcp.CodeOf(err) != mcp.CodeMissingCapability || at(t, m.Result, "/isError") != "true" {
			t.Errorf("got %v and %s, want the missing capability, for the model to read", err, m.Raw)
		}
		w.Quiet()
	})
}

func TestCancelledCallCancelsItsQuestion(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-278", "R-282a", "R-283")
	synctest.Test(t, func(t *testing.T) {
		srv, outcome := curious()
		w := dialAs(t, srv, mcp.V20251125, `{"roots":{}}`)
		id := w.Send("tools/call", `{"name":"ask"}`)
		question := w.Read()
		w.Write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
		if got := at(t, w.Notification("notifications/cancelled").Params, "/requestId"); got != string(question.ID) {
			t.Errorf("got %s cancelled, want %s", got, question.ID)
		}
		if err := <-outcome; err == nil {
			t.Error("got nil, want that the client cancelled")
		}
		w.Write(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"roots":[]}}`) // too late
		w.Quiet()
	})
}

func TestEachOfManyQuestionsGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, outcome := curious()
		w := dialAs(t, srv, mcp.V20251125, `{"roots":{}}`)
		calls := map[string]string{} // the id of each call, by that of its question
		for range 5 {
			id := w.Send("tools/call", `{"name":"ask"}`)
			calls[id] = string(w.Read().ID)
		}
		for id, question := range calls {
			w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///x","name":"for %s"}]}}`, question, id))
			<-outcome
		}
		for id := range calls {
			if got := at(t, w.Reply(id).Result, "/content/0/text"); got != `"for `+id+`"` {
				t.Errorf("got %s, want the answer for %s", got, id)
			}
		}
	})
}

func TestNotificationHandlerThatAsksBlocksNoOtherMessage(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-041")
	synctest.Test(t, func(t *testing.T) {
		outcome := make(chan error, 1)
		srv := everything(nil)
		srv.Handle("notifications/acme/ask", func(ctx context.Context, r *mcpserver.Request) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			err := r.Call(ctx, mcp.MethodRootsList, nil, nil)
			outcome <- err
			return nil, err
		})
		w := dialAs(t, srv, mcp.V20251125, `{"roots":{}}`)
		begin := time.Now()
		w.Write(`{"jsonrpc":"2.0","method":"notifications/acme/ask"}`)
		w.Must("tools/list", "")
		if err := <-outcome; !errors.Is(err, mcpserver.ErrCannotAsk) || time.Since(begin) != 0 {
			t.Errorf("got %v after %v, want %v at once", err, time.Since(begin), mcpserver.ErrCannotAsk)
		}
	})
}

// TestMissingCapabilityHasTheErrorOfTheRevision is about a capability that a
// handler finds missing and does not do without.
func TestMissingCapabilityHasTheErrorOfTheRevision(t *testing.T) {
	claim.Shows(t, "R-032")
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		missing := &mcp.Error{
			Code: mcp.CodeMissingCapability, Message: "no sampling here", Data: jsontext.Value(`{"requiredCapabilities":{"sampling":{}}}`),
		}
		srv := newServer(nil)
		srv.Tool("need", "", func(context.Context, struct{}) (string, error) { return "", fmt.Errorf("need: %w", missing) })
		srv.AddResource(mcp.Resource{URI: "a://need", Name: "need"}, readRaw(nil, missing))
		w := dial(t, srv, r)
		if isModern(r) {
			for method, params := range map[string]string{"tools/call": `{"name":"need"}`, "resources/read": `{"uri":"a://need"}`} {
				same(t, w.Refused(method, params, -32021).Data, string(missing.Data))
			}
			return
		}
		if got := at(t, w.Must("tools/call", `{"name":"need"}`), "/isError"); got != "true" {
			t.Errorf("got isError %s, want true", got)
		}
		w.Refused("resources/read", `{"uri":"a://need"}`, -32603)
	})
}
