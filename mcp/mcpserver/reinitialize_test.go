package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// shared is a server that waits for its caller in several ways.
func shared() (srv *mcpserver.Server, release chan<- struct{}, asked <-chan error) {
	srv = notes()
	wait, answers := make(chan struct{}), make(chan error, 100)
	srv.Tool("wait", "", func(context.Context, struct{}) (string, error) {
		<-wait
		return "done", nil
	})
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		err := askColour(ctx)
		answers <- err
		return "asked", err
	})
	srv.Tool("ask_late", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-wait
		err := askColour(ctx)
		answers <- err
		return "asked", err
	})
	srv.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
		r := mcpserver.From(ctx)
		level, _ := r.LogLevel()
		client, _ := r.Client()
		return fmt.Sprint(client.Name, " ", r.Revision(), " ", level, " ", r.Capabilities().Elicitation != nil), nil
	})
	return srv, wait, answers
}

func (w *wire) again(r mcp.Revision, capabilities string) {
	w.T.Helper()
	w.Must("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"second","version":"0"}}`, r, capabilities))
	w.Write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.Must("ping", "")
}

func TestSecondInitializeOnAStreamIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, release, _ := shared()
		w := dialAs(t, srv, mcp.V20251125, canAll)
		w.Must("logging/setLevel", `{"level":"error"}`)
		running := w.Send("tools/call", `{"name":"wait"}`)
		w.again(mcp.V20250326, `{}`)
		if got, want := string(w.Must("tools/call", `{"name":"who"}`)), "second 2025-03-26 info false"; !strings.Contains(got, want) {
			t.Errorf("a call after it: got %s, want %s", got, want)
		}
		if m := w.Call("ping", ""); m.Error != nil {
			t.Errorf("ping: got %s", m.Raw)
		}
		w.Write(`{"jsonrpc":"2.0","id":` + running + `,"method":"ping"}`)
		if m := w.Reply(running); m.Error == nil || m.Error.Code != -32600 || !strings.Contains(m.Error.Message, "is running") {
			t.Errorf("an id in flight: got %s, want an error with the id", m.Raw)
		}
		w.Write(`{"jsonrpc":"2.0","id":` + running + `,"method":"initialize","params":` + initialize("2025-11-25") + `}`)
		if m := w.Reply(running); m.Error == nil || m.Error.Code != -32600 {
			t.Errorf("initialize with an id in flight: got %s, want an error with the id", m.Raw)
		}
		w.Refused("initialize", `{"capabilities":{}}`, -32602)
		if got := string(w.Must("tools/call", `{"name":"who"}`)); !strings.Contains(got, "second") {
			t.Errorf("after a third one that was refused: got %s, want the second client", got)
		}
		release <- struct{}{}
		if m := w.Reply(running); !strings.Contains(m.Raw, "done") {
			t.Errorf("the call of the first client: got %s, want its result", m.Raw)
		}
	})
}

func TestSecondInitializeEndsTheQuestionsOfTheFirstClient(t *testing.T) {
	claim.Shows(t, "R-046b")
	synctest.Test(t, func(t *testing.T) {
		srv, release, asked := shared()
		w := dialAs(t, srv, mcp.V20251125, canAll)
		open, late := w.Send("tools/call", `{"name":"ask"}`), w.Send("tools/call", `{"name":"ask_late"}`)
		question := w.Receive()
		if question.Method != "elicitation/create" {
			t.Fatalf("got %s, want a question", question.Raw)
		}
		w.again(mcp.V20251125, canAll)
		if err := <-asked; !errors.Is(err, mcpserver.ErrReinitialized) {
			t.Errorf("the open question: got %v, want %v", err, mcpserver.ErrReinitialized)
		}
		if m := w.Reply(open); !strings.Contains(m.Raw, "initialized again") {
			t.Errorf("its call: got %s, want the error", m.Raw)
		}
		w.Write(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"accept","content":{"colour":"red"}}}`)
		release <- struct{}{}
		if err := <-asked; !errors.Is(err, mcpserver.ErrReinitialized) {
			t.Errorf("a later question of an earlier call: got %v, want %v", err, mcpserver.ErrReinitialized)
		}
		w.Reply(late)
		w.Held = nil // the cancellation of the question
		mine := w.Send("tools/call", `{"name":"ask"}`)
		if question = w.Receive(); question.Method != "elicitation/create" {
			t.Fatalf("got %s, want a question of the second client's call", question.Raw)
		}
		w.Write(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"decline"}}`)
		if err := <-asked; !errors.Is(err, mcpserver.ErrDeclined) {
			t.Errorf("the second client's answer: got %v, want %v", err, mcpserver.ErrDeclined)
		}
		w.Reply(mine)
	})
}

func TestSecondInitializeEndsTheSubscriptionsOfTheFirstClient(t *testing.T) {
	claim.Shows(t, "R-046b")
	synctest.Test(t, func(t *testing.T) {
		srv, _, _ := shared()
		w := dial(t, srv, mcp.V20251125)
		watch(w, "notes://a")
		w.Must("initialize", initialize("2025-11-25"))
		srv.Updated("notes://a")
		srv.Tool("more", "", nothing)
		w.Quiet() // before notifications/initialized the second client gets nothing
		w.Write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		w.Must("ping", "")
		watch(w, "notes://b")
		srv.Updated("notes://a")
		srv.Updated("notes://b")
		if got := w.updates(1); got != "notes://b" {
			t.Errorf("got an update of %s, want the one that the second client watches", got)
		}
		w.Quiet()
	})
}

func TestInitializeDoesNotResetLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, release, _ := shared()
		w := dial(t, srv, mcp.V20251125)
		var running []string
		for range 1024 - 1 { // exchange.maxRunning, and one place for initialize
			running = append(running, w.Send("tools/call", `{"name":"wait"}`))
		}
		w.again(mcp.V20251125, `{}`)
		running = append(running, w.Send("tools/call", `{"name":"wait"}`))
		if m := w.Call("ping", ""); m.Error == nil || !strings.Contains(m.Error.Message, "more than 1024 requests at once") {
			t.Errorf("got %s, want the limit of one session's requests", m.Raw)
		}
		close(release)
		for _, id := range running {
			w.Reply(id)
		}
	})
}

// A failure here, under the race detector too, means that a question of an earlier client
// can be answered by a later one, or that a subscription survives its client.
func TestInitializeMayRaceWithCalls(t *testing.T) {
	t.Parallel()
	srv, _, asked := shared()
	w := dialAs(t, srv, mcp.V20251125, canAll)
	var readers sync.WaitGroup
	done := make(chan struct{})
	const rounds = 50
	readers.Go(func() {
		defer close(done)
		for replies := 0; replies < 3*rounds; {
			if m := w.Receive(); m.Method == "" {
				replies++
			}
		}
	})
	for range rounds {
		w.Send("tools/call", `{"name":"ask"}`)
		w.Send("resources/subscribe", `{"uri":"notes://a"}`)
		w.Send("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+canAll+`,"clientInfo":{"name":"next","version":"0"}}`)
	}
	<-done
	readers.Wait()
	for range rounds {
		if err := <-asked; !errors.Is(err, mcpserver.ErrReinitialized) {
			t.Errorf("got %v, want %v", err, mcpserver.ErrReinitialized)
		}
	}
	srv.Updated("notes://a")
	w.Must("ping", "")
	for _, m := range w.Held {
		if m.Method == "notifications/resources/updated" {
			t.Errorf("got %s, want the subscriptions of earlier clients ended", m.Raw)
		}
	}
}
