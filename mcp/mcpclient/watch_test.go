package mcpclient_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// watchable is a server of either era that takes subscriptions.
type watchable struct {
	mu      sync.Mutex
	listens []message // open ones, stateless era
	uris    []string  // subscribed to, session era
}

func (w *watchable) handle(s *script, m message) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch m.Method {
	case mcp.MethodListen:
		w.listens = append(w.listens, m)
		return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + m.subscriptionID() + `,"notifications":` + m.param("notifications") + `}}`
	case mcp.NotificationCancelled:
		w.listens = slices.DeleteFunc(w.listens, func(l message) bool { return string(l.ID) == m.param("requestId") })
		return ""
	case mcp.MethodResourcesSubscribe:
		w.uris = append(w.uris, m.param("uri"))
	case mcp.MethodResourcesUnsubscribe:
		w.uris = slices.DeleteFunc(w.uris, func(u string) bool { return u == m.param("uri") })
	}
	return m.result(`{}`)
}

// tell sends a notification to every subscription.
func (w *watchable) tell(s *script, method, members string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.listens {
		s.send(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + strings.TrimSuffix(l.subscriptionID()+`,`+members, ",") + `}}`)
	}
	if len(w.listens) == 0 {
		s.send(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + members + `}}`)
	}
}

func (w *watchable) open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.listens) + len(w.uris)
}

func (w *watchable) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listens, w.uris = nil, nil
}

// inEachEra runs a test against a watchable server of each era, in fake time.
func inEachEra(t *testing.T, test func(t *testing.T, w *watchable, servers *scripts, target mcpclient.Target)) {
	t.Parallel()
	for _, era := range []string{"session", "stateless"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := new(watchable)
				servers, target := serve(t, eras(w.handle)[era])
				test(t, w, servers, target)
			})
		})
	}
}

// watching runs a Watch and gathers what it yields.
type watching struct {
	mu   sync.Mutex
	uris []string
	err  error
	done chan struct{}
}

func watch(ctx context.Context, c *mcpclient.Client, uris ...string) *watching {
	w := &watching{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for uri, err := range c.Watch(ctx, uris...) {
			w.mu.Lock()
			w.uris, w.err = append(w.uris, uri), err
			w.mu.Unlock()
		}
	}()
	return w
}

// take returns what was yielded since the last time.
func (w *watching) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	uris := w.uris
	w.uris = nil
	return uris
}

func TestWatchReportsChangesInBothEras(t *testing.T) {
	claim.Shows(t, "R-235b")
	inEachEra(t, func(t *testing.T, server *watchable, servers *scripts, target mcpclient.Target) {
		var updated []string
		c := connect(t, target, &mcpclient.Options{OnResourceUpdated: func(_ context.Context, _ *mcpclient.Client, uri string) {
			updated = append(updated, uri)
		}})
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, c, "a://1", "a://2")
		synctest.Wait()
		if got, want := w.take(), []string{"a://1", "a://2"}; !slices.Equal(got, want) {
			t.Errorf("at first: got %v, want %v", got, want)
		}
		s := servers.nth(0)
		for _, uri := range []string{"a://2", "a://1/part", "a://12", "b://3"} {
			server.tell(s, mcp.NotificationResourceUpdated, `"uri":"`+uri+`"`)
			synctest.Wait()
		}
		if got, want := w.take(), []string{"a://2", "a://1/part"}; !slices.Equal(got, want) {
			t.Errorf("then: got %v, want %v", got, want)
		}
		if want := []string{"a://2", "a://1/part", "a://12", "b://3"}; !slices.Equal(updated, want) {
			t.Errorf("handler: got %v, want %v", updated, want)
		}
		cancel()
		<-w.done
		synctest.Wait()
		if w.err != nil || server.open() != 0 {
			t.Errorf("at the end: error %v, %d subscriptions left", w.err, server.open())
		}
	})
}

func TestWatchesOfOneResourceShareASubscriptionOfTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := new(watchable)
		servers, target := serve(t, session(mcp.V20251125, server.handle))
		c := connect(t, target, nil)
		first, cancel := context.WithCancel(t.Context())
		one, two := watch(first, c, "a://1"), watch(t.Context(), c, "a://1")
		synctest.Wait()
		cancel()
		<-one.done
		two.take()
		server.tell(servers.nth(0), mcp.NotificationResourceUpdated, `"uri":"a://1"`)
		synctest.Wait()
		if got := two.take(); len(got) != 1 {
			t.Errorf("got %v, want the change", got)
		}
		if got := len(servers.nth(0).messages(mcp.MethodResourcesSubscribe)); got != 1 {
			t.Errorf("subscribed %d times, want 1", got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		<-two.done
	})
}

func TestLeavingAWatchDoesNotWaitForTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := new(watchable)
		servers, target := serve(t, session(mcp.V20251125, func(s *script, m message) string {
			if m.Method == mcp.MethodResourcesUnsubscribe {
				return "" // never answered
			}
			return server.handle(s, m)
		}))
		c := connect(t, target, nil)
		began := time.Now()
		for _, err := range c.Watch(t.Context(), "a://1") {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the loop was left after %v, want at once", took)
		}
		synctest.Wait()
		if got := len(servers.nth(0).messages(mcp.MethodResourcesUnsubscribe)); got != 1 {
			t.Errorf("unsubscribed %d times, want 1", got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWatchIsRenewedAfterReconnectAndNotifies(t *testing.T) {
	claim.Shows(t, "R-082b", "R-311")
	inEachEra(t, func(t *testing.T, server *watchable, servers *scripts, target mcpclient.Target) {
		var events []mcpclient.EventKind
		c := connect(t, target, &mcpclient.Options{OnEvent: func(_ context.Context, e mcpclient.Event) { events = append(events, e.Kind) }})
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, c, "a://1")
		synctest.Wait()
		w.take()

		server.forget()
		servers.nth(0).conn.Close()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := w.take(); !slices.Equal(got, []string{"a://1"}) {
			t.Errorf("after the loss: got %v, want a://1", got)
		}
		server.tell(servers.nth(1), mcp.NotificationResourceUpdated, `"uri":"a://1"`)
		synctest.Wait()
		if got := w.take(); !slices.Equal(got, []string{"a://1"}) {
			t.Errorf("on the new connection: got %v, want a://1", got)
		}
		want := []mcpclient.EventKind{mcpclient.EventConnected, mcpclient.EventLost, mcpclient.EventReinitialised, mcpclient.EventGap}
		if !slices.Equal(events, want) {
			t.Errorf("events: got %v, want %v", events, want)
		}
		cancel()
		<-w.done
	})
}

func TestEndOfAListenIsReportedAsAGap(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-311", "G-a")
	for name, end := range map[string]func(l message) string{
		"result": func(l message) string { return l.result(`{"resultType":"complete"}`) },
		"cancelled": func(l message) string {
			return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(l.ID) + `}}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := new(watchable)
				servers, target := serve(t, stateless(server.handle))
				c := connect(t, target, nil)
				ctx, cancel := context.WithCancel(t.Context())
				w := watch(ctx, c, "a://1")
				synctest.Wait()
				w.take()
				s := servers.nth(0)
				first := server.listens[0]
				server.forget()
				s.send(end(first))
				time.Sleep(time.Second)
				synctest.Wait()
				if got := w.take(); !slices.Equal(got, []string{"a://1"}) {
					t.Errorf("got %v, want a://1", got)
				}
				if got := len(s.messages(mcp.MethodListen)); got != 2 {
					t.Errorf("listened %d times, want 2", got)
				}
				cancel()
				<-w.done
			})
		})
	}
}

func TestListenThatAlwaysEndsIsRepeatedWithBackOff(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-311")
	synctest.Test(t, func(t *testing.T) {
		server := new(watchable)
		servers, target := serve(t, stateless(func(s *script, m message) string {
			s.send(server.handle(s, m))
			if len(s.messages(mcp.MethodListen)) == 1 {
				time.Sleep(5 * time.Minute) // a long good time, and then trouble
			}
			return m.result(`{"resultType":"complete"}`)
		}))
		c := connect(t, target, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Minute)
		defer cancel()
		<-watch(ctx, c, "a://1").done
		if got := len(servers.nth(0).messages(mcp.MethodListen)); got < 5 || got > 15 {
			t.Errorf("listened %d times in two minutes of trouble, want 5 to 15", got)
		}
	})
}

func TestRefusedWatchEndsWithTheReason(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(func(_ *script, m message) string { return m.fail(-32602, "no such thing", "") }) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, handle)
			c := connect(t, target, nil)
			w := watch(t.Context(), c, "a://1")
			<-w.done
			if w.err == nil || !strings.Contains(w.err.Error(), "no such thing") {
				t.Errorf("got %v", w.err)
			}
		})
	}
}

func TestListChangeHandlersAreCalledOncePerBurst(t *testing.T) {
	claim.Shows(t, "R-082b")
	inEachEra(t, func(t *testing.T, server *watchable, servers *scripts, target mcpclient.Target) {
		var changed []string
		hear := func(name string) func(context.Context, *mcpclient.Client) {
			return func(_ context.Context, c *mcpclient.Client) {
				changed = append(changed, name+" "+c.Server().Name)
			}
		}
		connect(t, target, &mcpclient.Options{OnToolsChanged: hear("tools"), OnPromptsChanged: hear("prompts")})
		s := servers.nth(0)
		for range 10 {
			server.tell(s, mcp.NotificationToolsListChanged, "")
		}
		server.tell(s, mcp.NotificationResourcesListChanged, "")
		synctest.Wait()
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		if len(changed) != 1 || !strings.HasPrefix(changed[0], "tools ") {
			t.Errorf("got %v, want tools once", changed)
		}
		if listens := s.messages(mcp.MethodListen); len(listens) > 0 && listens[0].param("notifications") != `{"toolsListChanged":true,"promptsListChanged":true}` {
			t.Errorf("listened for %s", listens[0].param("notifications"))
		}

		changed = nil
		server.forget()
		s.conn.Close()
		time.Sleep(time.Second)
		synctest.Wait()
		slices.Sort(changed)
		if len(changed) != 2 {
			t.Errorf("after the loss: got %v, want both", changed)
		}
	})
}

func TestHandlersRunOneAfterTheOtherAndMayCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := new(watchable)
		servers, target := serve(t, session(mcp.V20251125, server.handle))
		var log []string // without a lock: the race detector watches
		connect(t, target, &mcpclient.Options{OnResourceUpdated: func(ctx context.Context, c *mcpclient.Client, uri string) {
			log = append(log, "begin "+uri)
			if err := c.Ping(ctx); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			log = append(log, "end "+uri)
		}})
		server.tell(servers.nth(0), mcp.NotificationResourceUpdated, `"uri":"a"`)
		server.tell(servers.nth(0), mcp.NotificationResourceUpdated, `"uri":"b"`)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if want := []string{"begin a", "end a", "begin b", "end b"}; !slices.Equal(log, want) {
			t.Errorf("got %v, want %v", log, want)
		}
	})
}

func TestLogMessagesHaveAtLeastTheChosenLevel(t *testing.T) {
	claim.Shows(t, "R-251")
	inEachEra(t, func(t *testing.T, server *watchable, servers *scripts, target mcpclient.Target) {
		var lines []string
		c := connect(t, target, &mcpclient.Options{OnLog: func(_ context.Context, m *mcp.LoggingMessageParams) {
			lines = append(lines, string(m.Level)+" "+string(m.Data))
		}})
		ctx, s := t.Context(), servers.nth(0)
		level := func() string {
			if err := c.Request(ctx, "acme/x", nil, nil); err != nil {
				t.Fatal(err)
			}
			sent := s.messages("acme/x")
			return sent[len(sent)-1].param("_meta", "io.modelcontextprotocol/logLevel")
		}
		modern := c.Revision() == mcp.V20260728
		if got := level(); modern && got != `"info"` || !modern && got != "" {
			t.Errorf("at first: asked for %s", got)
		}
		if err := c.SetLogLevel(ctx, mcp.LevelDebug); err != nil {
			t.Fatal(err)
		}
		if got := level(); modern && got != `"debug"` {
			t.Errorf("then: asked for %s", got)
		}
		if got := s.messages(mcp.MethodSetLevel); !modern && (len(got) != 1 || got[0].param("level") != `"debug"`) || modern && len(got) != 0 {
			t.Errorf("setLevel: got %v", got)
		}
		if err := c.SetLogLevel(ctx, "loud"); err == nil {
			t.Error("a level that does not exist was taken")
		}
		s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"hello"}}`)
		synctest.Wait()
		if want := []string{`debug "hello"`}; !slices.Equal(lines, want) {
			t.Errorf("got %v, want %v", lines, want)
		}
		s.conn.Close()
		synctest.Wait()
		if err := c.Request(ctx, "acme/x", nil, nil); err != nil {
			t.Fatal(err)
		}
		if got := servers.nth(1).messages(mcp.MethodSetLevel); !modern && (len(got) != 1 || got[0].param("level") != `"debug"`) {
			t.Errorf("new session: setLevel %v", got)
		}
	})
}

func TestSubscriptionThatTheServerTearsDownIsNotCancelledAgain(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-279a", "R-311")
	synctest.Test(t, func(t *testing.T) {
		server := new(watchable)
		servers, target := serve(t, stateless(server.handle))
		var gaps int
		c := connect(t, target, &mcpclient.Options{OnEvent: func(_ context.Context, e mcpclient.Event) {
			if e.Kind == mcpclient.EventGap {
				gaps++
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, c, "a://1")
		synctest.Wait()
		s, first := servers.nth(0), server.listens[0]
		server.forget()
		s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(first.ID) + `}}`)
		s.send(first.result(`{"resultType":"complete"}`))
		time.Sleep(time.Second)
		synctest.Wait()
		if got := len(s.messages(mcp.NotificationCancelled)); got != 0 || gaps != 1 || len(s.messages(mcp.MethodListen)) != 2 {
			t.Errorf("got %d cancellations, %d gaps and %d listens; want none, one and two", got, gaps, len(s.messages(mcp.MethodListen)))
		}
		cancel()
		<-w.done
		synctest.Wait()
		if got := s.messages(mcp.NotificationCancelled); len(got) != 1 || got[0].param("requestId") == string(first.ID) {
			t.Errorf("got %v, want the second one cancelled", got)
		}
	})
}

func TestWatchIsRetriedDuringARestartOfTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, attempts := new(watchable), 0
		servers, target := serve(t, stateless(func(s *script, m message) string {
			if m.Method != mcp.MethodListen {
				return server.handle(s, m)
			}
			if attempts++; attempts > 1 && attempts < 5 {
				return m.fail(-32603, "the server is shutting down", "")
			}
			return server.handle(s, m)
		}))
		c := connect(t, target, nil)
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, c, "a://1")
		synctest.Wait()
		w.take()
		first := server.listens[0]
		server.forget()
		servers.nth(0).send(first.result(`{"resultType":"complete"}`))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.take(); !slices.Equal(got, []string{"a://1"}) || attempts != 5 {
			t.Errorf("got %v after %d attempts, want a://1 after 5", got, attempts)
		}
		cancel()
		<-w.done
		if w.err != nil {
			t.Errorf("got %v, want no error", w.err)
		}
	})
}

func TestLateNotificationOfASubscriptionIsDropped(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-076")
	synctest.Test(t, func(t *testing.T) {
		server := new(watchable)
		servers, target := serve(t, stateless(server.handle))
		var heard []string
		c := connect(t, target, &mcpclient.Options{OnResourceUpdated: func(_ context.Context, _ *mcpclient.Client, uri string) { heard = append(heard, uri) }})
		first, cancel := context.WithCancel(t.Context())
		one, two := watch(first, c, "a://1"), watch(t.Context(), c, "a://2")
		synctest.Wait()
		old := server.listens[0].subscriptionID()
		uri := server.listens[0].param("notifications", "resourceSubscriptions")
		if strings.Contains(uri, "a://2") {
			old = server.listens[1].subscriptionID()
		}
		cancel()
		<-one.done
		for _, id := range []string{old, `"_meta":{"io.modelcontextprotocol/subscriptionId":"unknown"}`} {
			servers.nth(0).send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + id + `,"uri":"a://1"}}`)
		}
		synctest.Wait()
		server.tell(servers.nth(0), mcp.NotificationResourceUpdated, `"uri":"a://2"`)
		synctest.Wait()
		if !slices.Equal(heard, []string{"a://2"}) {
			t.Errorf("got %v, want a://2 alone", heard)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		<-two.done
	})
}

func TestAcknowledgementIsComparedWithTheFilter(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-076", "R-308")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(func(*script, message) string { return "" }))
		c := connect(t, target, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		one := watch(ctx, c, "a://1")
		synctest.Wait()
		two := watch(ctx, c, "a://1", "a://2")
		synctest.Wait()
		s := servers.nth(0)
		listens := s.messages(mcp.MethodListen)
		for _, l := range []message{listens[1], listens[0]} { // not in their order
			s.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + l.subscriptionID() + `,"notifications":{"resourceSubscriptions":["a://1"]}}}`)
		}
		<-two.done
		if two.err == nil || !strings.Contains(two.err.Error(), `resource "a://2"`) {
			t.Errorf("got %v, want the resource that is not honoured", two.err)
		}
		synctest.Wait()
		if got := one.take(); !slices.Equal(got, []string{"a://1"}) {
			t.Errorf("got %v from the other subscription, want it in place", got)
		}
		cancel()
		<-one.done
	})
}

// A subscription is in place once, however often the server says so.
func TestSecondAcknowledgementIsIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, stateless(func(s *script, m message) string {
			if m.Method != mcp.MethodListen {
				return ""
			}
			ack := new(watchable).handle(s, m)
			s.send(ack)
			time.Sleep(time.Second)
			return ack
		}))
		c := connect(t, target, &mcpclient.Options{OnToolsChanged: func(context.Context, *mcpclient.Client) {}})
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, c, "a://1")
		synctest.Wait()
		if got := w.take(); !slices.Equal(got, []string{"a://1"}) {
			t.Errorf("at first: got %q, want the resource", got)
		}
		time.Sleep(2 * time.Second)
		if got := w.take(); got != nil {
			t.Errorf("after the second acknowledgement: got %q, want nothing", got)
		}
		cancel()
		<-w.done
	})
}

// silentUnsubscribe is a server of the session era that answers no resources/unsubscribe until
// release is closed, and then processes it.
func silentUnsubscribe(w *watchable, release <-chan struct{}) func(*script, message) string {
	return session(mcp.V20251125, func(s *script, m message) string {
		if m.Method == mcp.MethodResourcesUnsubscribe {
			<-release
		}
		return w.handle(s, m)
	})
}

func TestWatchReturnsWhenItsContextEndsAlthoughTheServerIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		servers, target := serve(t, silentUnsubscribe(new(watchable), release))
		c := connect(t, target, nil)
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, c, "a://1", "a://2")
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case <-w.done:
		default:
			t.Error("want the loop to end with its context; it waits for the answer to resources/unsubscribe")
		}
		if got := len(servers.nth(0).messages(mcp.MethodResourcesUnsubscribe)); got != 2 {
			t.Errorf("got %d resources/unsubscribe, want one for each resource", got)
		}
		close(release)
		<-w.done
	})
}

func TestWatchYieldsNothingAfterTheEndOfItsContext(t *testing.T) {
	inEachEra(t, func(t *testing.T, server *watchable, servers *scripts, target mcpclient.Target) {
		c := connect(t, target, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []string
		for uri, err := range c.Watch(ctx, "a://1", "a://2") {
			if err != nil {
				t.Error(err)
			}
			got = append(got, uri)
			cancel() // and go on
		}
		if !slices.Equal(got, []string{"a://1"}) {
			t.Errorf("got %v, want a://1 alone", got)
		}
	})
}

// A server may process the two requests in any order, so the client subscribes again when the
// unsubscription has been answered.
func TestWatchBeginsAgainBeforeTheServerHasAnsweredTheUnsubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		server := new(watchable)
		servers, target := serve(t, silentUnsubscribe(server, release))
		c := connect(t, target, nil)
		first, cancel := context.WithCancel(t.Context())
		watch(first, c, "a://1")
		synctest.Wait()
		cancel()
		synctest.Wait()

		second, cancel := context.WithCancel(t.Context())
		w := watch(second, c, "a://1")
		other := watch(second, c, "a://2")
		synctest.Wait()
		if got := append(w.take(), other.take()...); !slices.Equal(got, []string{"a://1", "a://2"}) {
			t.Errorf("before the answer: got %v, want both subscriptions active", got)
		}
		close(release)
		synctest.Wait()
		if got := w.take(); !slices.Equal(got, []string{"a://1"}) {
			t.Errorf("after the answer: got %v, want a://1, which may have changed", got)
		}
		if got := server.open(); got != 2 {
			t.Errorf("got %d subscriptions at the server, want 2", got)
		}
		server.tell(servers.nth(0), mcp.NotificationResourceUpdated, `"uri":"a://1"`)
		synctest.Wait()
		if got := w.take(); !slices.Equal(got, []string{"a://1"}) {
			t.Errorf("got %v, want the change", got)
		}
		cancel()
		<-w.done
		<-other.done
		synctest.Wait()
		if got := server.open(); got != 0 {
			t.Errorf("at the end: got %d subscriptions at the server, want none", got)
		}
	})
}

// A subscription that the server may have got is ended, too.
func TestWatchWhoseContextEndsBeforeTheAnswerUnsubscribes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, session(mcp.V20251125, func(s *script, m message) string {
			if m.Method == mcp.MethodResourcesSubscribe {
				return "" // never answered
			}
			return m.result(`{}`)
		}))
		c := connect(t, target, nil)
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, c, "a://1")
		synctest.Wait()
		cancel()
		<-w.done
		synctest.Wait()
		if got := len(servers.nth(0).messages(mcp.MethodResourcesUnsubscribe)); got != 1 {
			t.Errorf("got %d resources/unsubscribe, want 1", got)
		}
	})
}

func TestCloseEndsUnsubscriptionsThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		servers, target := serve(t, silentUnsubscribe(new(watchable), release))
		c := connect(t, target, nil)
		var uris []string
		for i := range 50 {
			uris = append(uris, fmt.Sprintf("a://%d", i))
		}
		for range c.Watch(t.Context(), uris...) {
			break
		}
		synctest.Wait()
		if got := len(servers.nth(0).messages(mcp.MethodResourcesUnsubscribe)); got != 8 {
			t.Errorf("got %d resources/unsubscribe at once, want 8", got)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := len(servers.nth(0).messages(mcp.MethodResourcesUnsubscribe)); got != 16 {
			t.Errorf("after 5 s: got %d resources/unsubscribe, want 16", got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		close(release)
	})
}
