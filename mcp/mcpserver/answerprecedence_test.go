package mcpserver_test

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var bob = &mcp.Identity{Principal: mcp.Principal{Issuer: "i", Subject: "bob"}}

// asking is a server of the stateless era over HTTP, whose tool one asks a question if its
// argument says so. Then it sends its name to order and runs until next.
type asking struct {
	*testing.T
	srv   *mcpserver.Server
	order chan string
	hold  chan struct{}
	local net.Addr // to which clients connect; nil is a loopback address
}

func newAsking(t *testing.T, o *mcpserver.Options, opts ...mcpserver.ToolOption) *asking {
	o.HTTP = &mcpserver.HTTPOptions{ResponseMode: mcpserver.ResponseJSON}
	a := &asking{T: t, srv: newServer(o), order: make(chan string, 100), hold: make(chan struct{})}
	a.srv.Tool("one", "", func(ctx context.Context, in struct {
		Name string `json:"name"`
		Asks bool   `json:"asks"`
		Fill string `json:"fill,omitempty"`
	},
	) (string, error) {
		if in.Asks {
			if _, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?"); err != nil {
				return "", err
			}
		}
		a.order <- in.Name
		select {
		case <-a.hold:
		case <-ctx.Done():
		}
		return in.Name, nil
	}, opts...)
	return a
}

// outcome is the response to a call.
type outcome struct {
	status int
	body   string
}

// post makes a call. With a state, it answers the question.
func (a *asking) post(ctx context.Context, by *mcp.Identity, arguments, state string) outcome {
	if state != "" {
		state = fmt.Sprintf(`"inputResponses":{"colour":%s},"requestState":%q,`, accept(`{"colour":"red"}`), state)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one","arguments":{%s},%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, arguments, state)
	if a.local != nil {
		ctx = context.WithValue(ctx, http.LocalAddrContextKey, a.local)
	}
	r := httptest.NewRequestWithContext(mcp.WithIdentity(ctx, by), "POST", "http://localhost/", strings.NewReader(body))
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"one"},
	}
	w := httptest.NewRecorder()
	a.srv.HTTPHandler().ServeHTTP(w, r)
	text, _ := io.ReadAll(w.Result().Body)
	return outcome{w.Code, string(text)}
}

func arguments(name string, asks bool) string { return fmt.Sprintf(`"name":%q,"asks":%t`, name, asks) }

// question makes a call that asks, and returns its requestState.
func (a *asking) question(by *mcp.Identity, name string) (state string) {
	a.Helper()
	return a.questionOf(by, arguments(name, true))
}

func (a *asking) questionOf(by *mcp.Identity, arguments string) string {
	a.Helper()
	out := a.post(a.Context(), by, arguments, "")
	var m struct {
		Result struct {
			RequestState string `json:"requestState"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(out.body), &m); err != nil || m.Result.RequestState == "" {
		a.Fatalf("got %d, %s, want a question", out.status, out.body)
	}
	return m.Result.RequestState
}

// begin makes a call on another goroutine, until it waits or runs.
func (a *asking) begin(by *mcp.Identity, arguments, state string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() { done <- a.post(a.Context(), by, arguments, state) }()
	synctest.Wait()
	return done
}

// fill has another client use the only place.
func (a *asking) fill() {
	a.begin(&mcp.Identity{Principal: mcp.Principal{Issuer: "i", Subject: "other"}}, arguments("other", false), "")
	if got := <-a.order; got != "other" {
		a.Fatalf("%q runs first", got)
	}
}

// wantNext ends the call that runs, and checks which one runs next.
func (a *asking) wantNext(want string) {
	a.Helper()
	a.hold <- struct{}{}
	synctest.Wait()
	select {
	case got := <-a.order:
		if got != want {
			a.Errorf("%q runs next, want %q", got, want)
		}
	default:
		a.Errorf("nothing runs next, want %q", want)
	}
}

func (a *asking) end() {
	close(a.hold)
	synctest.Wait()
}

func (a *asking) wantStatus(done <-chan outcome, want int, what string) {
	a.Helper()
	synctest.Wait()
	select {
	case out := <-done:
		if out.status != want {
			a.Errorf("%s: got HTTP %d, %s, want %d", what, out.status, out.body, want)
		}
	default:
		if want != 0 {
			a.Errorf("%s: is not answered, want HTTP %d", what, want)
		}
	}
}

// waits is the status of a call that is not answered yet.
const waits = 0

func TestAnswerOfTheStatelessEraGoesBeforeNewCallsOfItsOwnerAndIsNotRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, &mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1, MaxWaiting: 3}})
		first, second := a.question(ann, "answer 1"), a.question(ann, "answer 2")
		a.fill()
		late := a.begin(ann, arguments("new 1", false), "")
		a.begin(ann, arguments("new 2", false), "")
		other := a.begin(bob, arguments("bob", false), "")
		answer := a.begin(ann, arguments("answer 1", true), first)
		a.wantNext("answer 1")
		a.wantNext("bob") // owners have their turns
		a.wantNext("new 1")
		again := a.begin(ann, arguments("answer 2", true), second)
		refused := a.begin(bob, arguments("late", false), "")
		time.Sleep(time.Minute)
		a.wantStatus(again, waits, "an answer after a minute")
		a.wantStatus(refused, http.StatusServiceUnavailable, "a new call")
		a.wantNext("answer 2")
		a.end()
		for _, done := range []<-chan outcome{answer, again, late, other} {
			a.wantStatus(done, http.StatusOK, "a call that ran")
		}
	})
}

func TestOnlyTheFirstCallWithAStateOfItsSenderHasPrecedence(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	for _, test := range []struct {
		name      string
		by        *mcp.Identity
		arguments string
		change    func(state string) string
		before    func(a *asking, state string) // with the place free
		during    func(a *asking, state string) // without
	}{
		{name: "the second while the first waits", during: func(a *asking, state string) { a.begin(ann, arguments("x", true), state) }},
		{name: "the second after the first", before: func(a *asking, state string) {
			done := a.begin(ann, arguments("x", true), state)
			<-a.order
			a.hold <- struct{}{}
			a.wantStatus(done, http.StatusOK, "the first")
		}},
		{name: "the state of somebody else", by: bob},
		{name: "other arguments", arguments: arguments("y", true)},
		{name: "a changed state", change: func(state string) string { return state[:40] + "A" + state[41:len(state)-3] + "AAA" }},
		{name: "no state", change: func(string) string { return "x" }},
		{name: "a state that is too long", change: func(state string) string { return state + strings.Repeat("A", 64<<10) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAsking(t, &mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1}})
			state := a.question(ann, "x")
			if test.before != nil {
				test.before(a, state)
			}
			a.fill()
			if test.during != nil {
				test.during(a, state)
			}
			if test.change != nil {
				state = test.change(state)
			}
			by, args := ann, arguments("x", true)
			if test.by != nil {
				by = test.by
			}
			if test.arguments != "" {
				args = test.arguments
			}
			done := a.begin(by, args, state)
			time.Sleep(2 * time.Second)
			a.wantStatus(done, http.StatusServiceUnavailable, test.name)
			a.end()
		})
	}
}

// A client that asks often uses up its rate with the calls that ask; it must be able to finish them.
func TestAnswerIsNotRefusedBecauseOfARate(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	once := mcp.Rate{PerSecond: 0.001, Burst: 1}
	for name, c := range map[string]struct {
		load *mcpserver.LoadOptions
		opts []mcpserver.ToolOption
	}{
		"of all tools": {&mcpserver.LoadOptions{ToolRate: once}, nil},
		"of one tool":  {nil, []mcpserver.ToolOption{mcpserver.Rate(once.PerSecond, once.Burst)}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAsking(t, &mcpserver.Options{Load: c.load}, c.opts...)
			a.local = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 100)}
			state := a.question(ann, "x")
			a.wantLimited(a.post(t.Context(), ann, arguments("new", false), ""), name+": a new call")
			answer := a.begin(ann, arguments("x", true), state)
			a.end()
			a.wantStatus(answer, http.StatusOK, name+": the answer")
			if len(a.order) != 1 {
				t.Errorf("%s: the answer does not run", name)
			}
			a.wantLimited(a.post(t.Context(), ann, arguments("x", true), state), name+": the same answer again")
		})
	}
}

func (a *asking) wantLimited(got outcome, what string) {
	a.Helper()
	if got.status != http.StatusTooManyRequests && !strings.Contains(got.body, `"code":429`) {
		a.Errorf("%s: got %d, %s, want it refused because of the rate", what, got.status, got.body)
	}
}

// The client of an answer that waits loses its connection: the answer was not taken.
func TestAnswerThatWasNotAdmittedHasPrecedenceAgain(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, &mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1}})
		state := a.question(ann, "x")
		a.fill()
		ctx, cancel := context.WithCancel(t.Context())
		go a.post(ctx, ann, arguments("x", true), state)
		synctest.Wait()
		cancel()
		synctest.Wait()
		again := a.begin(ann, arguments("x", true), state)
		time.Sleep(time.Minute)
		a.wantStatus(again, waits, "the answer after a minute")
		a.wantNext("x")
		a.end()
		a.wantStatus(again, http.StatusOK, "the answer")
	})
}

func TestAnswersThatWaitAreBoundedAsQuestionsAre(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	for _, test := range []struct {
		name string
		o    mcpserver.Options
		fill int // bytes of arguments
		want int // answers that wait on
	}{
		{"by number", mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1}, Ask: &mcpserver.AskOptions{OwnerQuestions: 2}}, 0, 2},
		{"by bytes", mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1, MaxBytes: 4 << 20}}, 100 << 10, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAsking(t, &test.o)
			var all []string
			for i := range 4 {
				args := arguments(fmt.Sprint("answer ", i), true) + fmt.Sprintf(`,"fill":%q`, strings.Repeat("x", test.fill))
				all = append(all, args, a.questionOf(ann, args))
			}
			a.fill()
			var done []<-chan outcome
			for i := range 4 {
				done = append(done, a.begin(ann, all[2*i], all[2*i+1]))
			}
			time.Sleep(time.Minute)
			for i, d := range done {
				if i < test.want {
					a.wantStatus(d, waits, test.name)
				} else {
					a.wantStatus(d, http.StatusServiceUnavailable, test.name)
				}
			}
			a.end()
			for _, d := range done[:test.want] {
				a.wantStatus(d, http.StatusOK, test.name)
			}
		})
	}
}

// One owner has as many answers as may wait together: another's takes the place of one.
func TestAnswersOfOneOwnerDoNotExcludeThoseOfAnother(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	for _, test := range []struct {
		name string
		o    mcpserver.Options
		fill int // bytes of arguments
	}{
		{"by number", mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1}, Ask: &mcpserver.AskOptions{MaxQuestions: 4, OwnerQuestions: 4}}, 0},
		{"by bytes", mcpserver.Options{Load: &mcpserver.LoadOptions{MaxCalls: 1, MaxBytes: 4 << 20}}, 240 << 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAsking(t, &test.o)
			args := func(i int) string {
				return arguments(fmt.Sprint("answer ", i), true) + fmt.Sprintf(`,"fill":%q`, strings.Repeat("x", test.fill))
			}
			mallory := func(i int) *mcp.Identity {
				if test.fill == 0 {
					i = 0
				}
				return &mcp.Identity{Principal: mcp.Principal{Issuer: "i", Subject: fmt.Sprint("mallory ", i)}}
			}
			states := make([]string, 5)
			for i := range 4 {
				states[i] = a.questionOf(mallory(i), args(i))
			}
			bobs := arguments("bob", true) + fmt.Sprintf(`,"fill":%q`, strings.Repeat("x", test.fill/2))
			states[4] = a.questionOf(bob, bobs)
			a.fill()
			var done []<-chan outcome
			for i := range 4 {
				done = append(done, a.begin(mallory(i), args(i), states[i]))
			}
			answer := a.begin(bob, bobs, states[4])
			time.Sleep(time.Minute)
			a.wantStatus(answer, waits, "the answer of another")
			refused := 0
			for _, d := range done {
				select {
				case out := <-d:
					refused++
					if out.status != http.StatusServiceUnavailable {
						t.Errorf("%s: got HTTP %d, want 503", test.name, out.status)
					}
				default:
				}
			}
			if refused != 1 {
				t.Errorf("%s: %d answers are refused, want one", test.name, refused)
			}
			a.end()
			a.wantStatus(answer, http.StatusOK, "the answer of another")
		})
	}
}

func TestAnswerOfTheStatelessEraGoesBeforeNewCallsOfItsOwnerAtATool(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-12")
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, new(mcpserver.Options), mcpserver.Limit(1))
		state := a.question(ann, "answer")
		a.fill()
		refused := a.begin(ann, arguments("new", false), "")
		time.Sleep(29 * time.Second)
		late := a.begin(ann, arguments("late", false), "")
		answer := a.begin(ann, arguments("answer", true), state)
		time.Sleep(time.Second)
		a.wantStatus(refused, http.StatusServiceUnavailable, "a new call")
		time.Sleep(28 * time.Second)
		a.wantNext("answer")
		a.wantNext("late")
		a.end()
		a.wantStatus(answer, http.StatusOK, "the answer")
		a.wantStatus(late, http.StatusOK, "a new call")
	})
}

// readCountingStore counts reads.
type readCountingStore struct {
	*mapStore
	gets atomic.Int32
}

func (s *readCountingStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	s.gets.Add(1)
	return s.mapStore.Get(ctx, key)
}

// A state that is kept in the Store is read when its call is admitted, and once.
func TestStateOfACallThatWaitsIsNotReadFromTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &readCountingStore{mapStore: newMapStore()}
		a := newAsking(t, &mcpserver.Options{
			Load: &mcpserver.LoadOptions{MaxCalls: 1}, Store: store,
			Keys: []mcpserver.Key{{ID: "1", Secret: []byte(strings.Repeat("k", 32))}},
		})
		a.srv.Tool("large", "", func(ctx context.Context, _ struct{}) (string, error) {
			if _, err := mcpserver.Once(ctx, "large", func() (string, error) { return strings.Repeat("x", 100<<10), nil }); err != nil {
				return "", err
			}
			c, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			return c.Colour, err
		})
		w := dialAs(t, a.srv, mcp.V20260728, canAll)
		question := w.Call("tools/call", `{"name":"large"}`)
		a.fill()
		before := store.gets.Load()
		id := w.Send("tools/call", retry(t, `{"name":"large"}`, question.Result, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
		time.Sleep(time.Minute)
		if n := store.gets.Load() - before; n != 0 {
			t.Errorf("%d reads while the call waits, want none", n)
		}
		a.end()
		if m := w.Reply(id); at(t, m.Result, "/content/0/text") != `"red"` {
			t.Errorf("got %s, want the answer", m.Raw)
		}
		if n := store.gets.Load() - before; n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
	})
}
