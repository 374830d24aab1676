package mcpserver_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// patient is a server with a tool whose calls wait for their user.
func patient(o *mcpserver.Options, opts ...mcpserver.ToolOption) *mcpserver.Server {
	srv := newServer(o)
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		c, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
		return c.Colour, err
	}, opts...)
	srv.Tool("now", "", func(context.Context, struct{}) (string, error) { return "now", nil }, opts...)
	return srv
}

// TestCallsThatWaitForAnAnswerUseNoSlot is about a server with as many calls as it may
// run, all of which wait for their users. Other calls run meanwhile.
func TestCallsThatWaitForAnAnswerUseNoSlot(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		srv := patient(&mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 4, ShareCalls: 4}})
		w := dialAs(t, srv, mcp.V20251125, canAll)
		var calls, questions []string
		for range 100 {
			calls = append(calls, w.Send("tools/call", `{"name":"ask"}`))
			questions = append(questions, string(w.Read().ID))
		}
		begin := time.Now()
		w.Must("tools/call", `{"name":"now"}`)
		dialAs(t, srv, mcp.V20251125, canAll).Must("tools/call", `{"name":"now"}`)
		if took := time.Since(begin); took != 0 {
			t.Errorf("others waited for %v", took)
		}
		for i, question := range questions {
			w.Write(`{"jsonrpc":"2.0","id":` + question + `,"result":` + accept(`{"colour":"red"}`) + `}`)
			if got := at(t, w.Reply(calls[i]).Result, "/content/0/text"); got != `"red"` {
				t.Errorf("call %d: got %s", i, got)
			}
		}
	})
}

func TestSlotOfAToolIsFreeWhileItsCallWaits(t *testing.T) {
	claim.Shows(t, "B-12")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := patient(nil, mcpserver.Limit(1), mcpserver.Timeout(time.Minute))
		w := dialAs(t, srv, r, canAll)
		var id, question string
		var first message
		if isModern(r) {
			first = w.Call("tools/call", `{"name":"ask"}`)
		} else {
			id = w.Send("tools/call", `{"name":"ask"}`)
			question = string(w.Read().ID)
		}
		second := dialAs(t, srv, r, canAll)
		if isModern(r) {
			second.Must("tools/call", `{"name":"ask"}`)
			w.Must("tools/call", retry(t, `{"name":"ask"}`, first.Result, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
			return
		}
		other := second.Send("tools/call", `{"name":"ask"}`)
		q := second.Read() // the only slot is free for it
		second.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept(`{"colour":"blue"}`) + `}`)
		second.Reply(other)
		w.Write(`{"jsonrpc":"2.0","id":` + question + `,"result":` + accept(`{"colour":"red"}`) + `}`)
		w.Reply(id)
	})
}

// TestTimeoutCountsTheTimeThatTheHandlerRuns is about the same handler in both eras: it
// runs for 4 s, waits for its user for an hour, and runs for 4 s again.
func TestTimeoutCountsTheTimeThatTheHandlerRuns(t *testing.T) {
	claim.Shows(t, "B-12")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		for limit, want := range map[time.Duration]bool{9 * time.Second: true, 7 * time.Second: false} {
			srv := newServer(&mcpserver.Options{Ask: &mcpserver.AskOptions{Wait: 2 * time.Hour, Expiry: 2 * time.Hour}})
			work := func(ctx context.Context) error {
				select {
				case <-time.After(4 * time.Second):
					return nil
				case <-ctx.Done():
					if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
						t.Errorf("got %v, want %v", ctx.Err(), context.DeadlineExceeded)
					}
					return ctx.Err()
				}
			}
			srv.Tool("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
				if _, err := mcpserver.Once(ctx, "first", func() (int, error) { return 1, work(ctx) }); err != nil {
					return "", err
				}
				if _, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?"); err != nil {
					return "", err
				}
				return "done", work(ctx)
			}, mcpserver.Timeout(limit))
			w := dialAs(t, srv, r, canAll)
			var result message
			if isModern(r) {
				first := w.Must("tools/call", `{"name":"slow"}`)
				time.Sleep(time.Hour)
				result = w.Call("tools/call", retry(t, `{"name":"slow"}`, first, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
			} else {
				id := w.Send("tools/call", `{"name":"slow"}`)
				q := w.Read()
				time.Sleep(time.Hour)
				w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept(`{"colour":"red"}`) + `}`)
				result = w.Reply(id)
			}
			if done := at(t, result.Result, "/content/0/text") == `"done"`; done != want {
				t.Errorf("limit %v: got %s, want it done: %t", limit, result.Raw, want)
			}
		}
	})
}

// TestTimeoutCoversAllRoundsOfARawHandler is about a handler that runs for 4 s
// in each of two rounds, between which its user thinks for an hour.
func TestTimeoutCoversAllRoundsOfARawHandler(t *testing.T) {
	claim.Shows(t, "B-12")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		for limit, want := range map[time.Duration]bool{9 * time.Second: true, 7 * time.Second: false} {
			srv := newServer(&mcpserver.Options{Ask: &mcpserver.AskOptions{Wait: 2 * time.Hour, Expiry: 2 * time.Hour}})
			srv.AddTool(mcp.Tool{Name: "raw"}, func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
				select {
				case <-time.After(4 * time.Second):
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
				if p.RequestState == nil {
					return &mcp.InputRequiredResult{RequestState: new("one"), InputRequests: map[string]mcp.InputRequest{"roots": {Method: mcp.MethodRootsList}}}, nil
				}
				return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("done")}}, nil
			}, mcpserver.Timeout(limit))
			w := dialAs(t, srv, r, canAll)
			var result message
			if isModern(r) {
				first := w.Must("tools/call", `{"name":"raw"}`)
				time.Sleep(time.Hour)
				result = w.Call("tools/call", retry(t, `{"name":"raw"}`, first, `{"roots":{"roots":[]}}`))
			} else {
				id := w.Send("tools/call", `{"name":"raw"}`)
				q := w.Read()
				time.Sleep(time.Hour)
				w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":{"roots":[]}}`)
				result = w.Reply(id)
			}
			if done := at(t, result.Result, "/content/0/text") == `"done"`; done != want {
				t.Errorf("limit %v: got %s, want it done: %t", limit, result.Raw, want)
			}
		}
	})
}

// TestTimeoutDoesNotCountTheWaitForASlotAfterAnAnswer is about a call whose answer arrives while
// another call has the only slot for a minute.
func TestTimeoutDoesNotCountTheWaitForASlotAfterAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		srv.Tool("one", "", func(ctx context.Context, in struct {
			Asks bool `json:"asks"`
		},
		) (string, error) {
			if !in.Asks {
				time.Sleep(time.Minute)
				return "done", nil
			}
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			time.Sleep(59 * time.Second)
			return "done", cmp.Or(err, ctx.Err())
		}, mcpserver.Limit(1), mcpserver.Timeout(61*time.Second))
		w := dialAs(t, srv, mcp.V20251125, canAll)
		asks := w.Send("tools/call", `{"name":"one","arguments":{"asks":true}}`)
		q := w.Read()
		other := w.Send("tools/call", `{"name":"one","arguments":{"asks":false}}`)
		synctest.Wait()
		w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept(`{"colour":"red"}`) + `}`)
		for _, id := range []string{other, asks} {
			if m := w.Reply(id); at(t, m.Result, "/content/0/text") != `"done"` {
				t.Errorf("got %s, want the call done", m.Raw)
			}
		}
	})
}

// TestCallThatPausesBetweenItsRunsHasNoSlot is about a server with one slot and a handler
// that returns only state, for which it pauses before it runs again.
func TestCallThatPausesBetweenItsRunsHasNoSlot(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(&mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1, MaxWait: -1}})
		srv.AddTool(mcp.Tool{Name: "polls"}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			if p.RequestState == nil {
				return &mcp.InputRequiredResult{RequestState: new("one")}, nil
			}
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("done")}}, nil
		})
		srv.Tool("now", "", func(context.Context, struct{}) (string, error) { return "now", nil })
		w := dialAs(t, srv, mcp.V20251125, canAll)
		polls := w.Send("tools/call", `{"name":"polls"}`)
		synctest.Wait()
		w.Must("tools/call", `{"name":"now"}`)
		if m := w.Reply(polls); at(t, m.Result, "/content/0/text") != `"done"` {
			t.Errorf("got %s, want the call done", m.Raw)
		}
	})
}

// TestAnsweredCallContinuesBeforeNewCallsStart is about a tool with one slot: who has waited
// for an answer does not line up again.
func TestAnsweredCallContinuesBeforeNewCallsStart(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		order, hold := make(chan string, 8), make(chan struct{})
		srv.Tool("one", "", func(ctx context.Context, in struct {
			Name string `json:"name"`
		},
		) (string, error) {
			if in.Name == "asks" {
				if _, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?"); err != nil {
					return "", err
				}
			}
			order <- in.Name
			<-hold
			return "", nil
		}, mcpserver.Limit(1))
		w := dialAs(t, srv, mcp.V20251125, canAll)
		w.Send("tools/call", `{"name":"one","arguments":{"name":"asks"}}`)
		q := w.Read()
		for i := range 3 {
			w.Send("tools/call", fmt.Sprintf(`{"name":"one","arguments":{"name":"new %d"}}`, i))
			synctest.Wait()
		}
		w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept(`{"colour":"red"}`) + `}`)
		synctest.Wait()
		for i, want := range []string{"new 0", "asks", "new 1", "new 2"} {
			if got := <-order; got != want {
				t.Errorf("%d: got %q, want %q", i, got, want)
			}
			hold <- struct{}{}
			synctest.Wait()
		}
	})
}

// TestUnansweredQuestionsOfOneOwnerDoNotAffectOthers is about the bounds of questions that
// wait: whoever has most loses some, and nobody else notices.
func TestUnansweredQuestionsOfOneOwnerDoNotAffectOthers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		var reached atomic.Int32
		srv := patient(&mcpserver.Options{
			Ask:     &mcpserver.AskOptions{MaxQuestions: 50, OwnerQuestions: 40},
			OnLimit: func(e mcp.LimitReached) { reached.Add(1) },
		})
		greedy := dialAs(t, srv, mcp.V20251125, canAll)
		refused := 0
		for range 60 {
			id := greedy.Send("tools/call", `{"name":"ask"}`)
			if m := greedy.Read(); m.Method == "" && string(m.ID) == id {
				refused++
			}
		}
		if refused != 20 || reached.Load() == 0 {
			t.Errorf("%d questions of the greedy one were refused and %d limits told, want 20 and some", refused, reached.Load())
		}
		for range 12 { // each has one question, which is less than the greedy one has
			w := dialAs(t, srv, mcp.V20251125, canAll)
			id := w.Send("tools/call", `{"name":"ask"}`)
			q := w.Read()
			if q.Method != mcp.MethodElicit {
				t.Fatalf("got %s, want the question", q.Raw)
			}
			w.Must("tools/call", `{"name":"now"}`)
			w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept(`{"colour":"red"}`) + `}`)
			w.Reply(id)
		}
	})
}

// TestCallThatContinuesAndNewCallDoNotWaitForEachOther is about a server and a
// tool with one slot each: a call whose question is answered must not take the slot of the
// tool and then wait for that of the server, while a new call has it and waits for the tool.
func TestCallThatContinuesAndNewCallDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(&mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1, MaxWait: time.Hour}})
		hold := make(chan struct{})
		srv.Tool("one", "", func(ctx context.Context, in struct {
			Asks bool `json:"asks"`
		},
		) (string, error) {
			if in.Asks {
				_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
				return "", err
			}
			<-hold
			return "", nil
		}, mcpserver.Limit(1))
		w := dialAs(t, srv, mcp.V20251125, canAll)
		asks := w.Send("tools/call", `{"name":"one","arguments":{"asks":true}}`)
		q := w.Read()
		first := w.Send("tools/call", `{"name":"one","arguments":{"asks":false}}`)
		synctest.Wait()
		second := w.Send("tools/call", `{"name":"one","arguments":{"asks":false}}`)
		synctest.Wait()
		w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept(`{"colour":"red"}`) + `}`)
		synctest.Wait()
		hold <- struct{}{}
		w.Reply(first)
		w.Reply(asks)
		hold <- struct{}{}
		w.Reply(second)
	})
}

// TestQuestionsOfADisconnectedClientDoNotExcludeOthers is about four anonymous sessions with
// 1,024 unanswered questions each, with default options, whose client has gone.
func TestQuestionsOfADisconnectedClientDoNotExcludeOthers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		srv := patient(nil)
		t.Cleanup(func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = srv.Shutdown(ctx)
		})
		h := srv.HTTPHandler()
		ctx, leave := context.WithCancel(t.Context())
		for i := range 4 {
			s := &sender{t: t, handler: h, address: fmt.Sprintf("127.0.0.1:%d", 1000+i)}
			if !s.open() {
				t.Fatal("want a session")
			}
			for id := range 1024 {
				message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask"}}`, id)
				go s.send(ctx, "POST", message)
			}
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		begin := time.Now()
		other := &sender{t: t, handler: h, address: "127.0.0.1:1"}
		if !other.open() {
			t.Fatal("another client gets no session")
		}
		_, list := other.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		_, called := other.call(2, "now", "")
		if !strings.Contains(list, `"name":"now"`) || !strings.Contains(called, `"text":"now"`) {
			t.Errorf("another client: got %s and %s, want both requests served", list, called)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("another client waited for %v", took)
		}
	})
}

// TestQuestionsOfAnAbsentClientAreCancelledFirst is about two sessions with as many
// questions, one of which has had neither a stream nor a message for 30 seconds.
func TestQuestionsOfAnAbsentClientAreCancelledFirst(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		srv := patient(&mcpserver.Options{Ask: &mcpserver.AskOptions{MaxQuestions: 8}})
		t.Cleanup(func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = srv.Shutdown(ctx)
		})
		h := srv.HTTPHandler()
		ctx, leave := context.WithCancel(t.Context())
		var ended atomic.Int32 // questions of the client that is there
		ask := func(ctx context.Context, port, n int, count *atomic.Int32) {
			s := &sender{t: t, handler: h, address: fmt.Sprintf("127.0.0.1:%d", port)}
			if !s.open() {
				t.Fatal("want a session")
			}
			for id := range n {
				go func() {
					s.send(ctx, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask"}}`, id))
					count.Add(1)
				}()
				synctest.Wait()
			}
		}
		var gone, late atomic.Int32
		ask(ctx, 1, 4, &gone)
		ask(t.Context(), 2, 4, &ended) // is there, and has the newest questions
		leave()
		time.Sleep(31 * time.Second)
		ask(t.Context(), 3, 2, &late)
		if n := ended.Load(); n != 0 {
			t.Errorf("%d questions of the client that is there were given up, want those of the other one", n)
		}
		if n := late.Load(); n > 0 {
			t.Errorf("%d questions of the newcomer were refused", n)
		}
	})
}

func TestQuestionsOfAnOwnerAtItsBoundAreSearchedOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		questions := mcpserver.NewWaitingQuestions(&mcpserver.AskOptions{MaxQuestions: 100, OwnerQuestions: 2})
		session := func(subject string) *exchange.Inbound {
			p := mcp.Principal{Issuer: "test", Subject: subject}
			return &exchange.Inbound{Session: &exchange.Session{Principal: p, Owner: limit.OwnerOf(p, netip.Addr{}, 0)}}
		}
		add := func(in *exchange.Inbound, accepted bool) {
			t.Helper()
			_, done, err := questions.Add(t.Context(), in)
			if (err == nil) != accepted {
				t.Errorf("got error %v, want it accepted: %t", err, accepted)
			}
			if err == nil {
				t.Cleanup(done)
			}
		}
		ann, here, bob := session("ann"), session("ann"), session("bob")
		for _, in := range []*exchange.Inbound{ann, here, bob} {
			in.Session.Presence.Enter()
		}
		for _, in := range []*exchange.Inbound{ann, ann, bob, bob} {
			add(in, true)
		}
		ann.Session.Presence.Leave()
		bob.Session.Presence.Leave()
		time.Sleep(29500 * time.Millisecond)
		add(here, false)
		time.Sleep(600 * time.Millisecond) // ann's first client is absent now
		add(here, false)                   // the questions were searched 0.6 s ago
		add(bob, true)                     // and those of bob were not
		time.Sleep(400 * time.Millisecond)
		add(here, true)
		add(here, true) // found by the same search
		add(here, false)
	})
}
