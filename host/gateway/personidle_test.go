package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// latePerson answers all questions when answer is closed.
type latePerson struct {
	answer chan struct{}

	mu    sync.Mutex
	asked int // guarded by mu
}

func newLatePerson() *latePerson { return &latePerson{answer: make(chan struct{})} }

func (p *latePerson) ask(ctx context.Context, q *host.ServerQuestion) (*host.ServerAnswer, error) {
	p.mu.Lock()
	p.asked++
	p.mu.Unlock()
	q.OnQuestion("7")
	select {
	case <-p.answer:
		return &host.ServerAnswer{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// questions returns how many questions were asked, when nothing moves any more.
func (p *latePerson) questions() int {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// idleCalls is a host with few places among the running calls, and what its clients call.
type idleCalls struct {
	*testing.T
	*gateway.Gateway
	person  *latePerson
	clients []*mcpclient.Client
}

// newIdleCalls starts a host with an upstream "desk", with so many places for running calls and for waiting ones.
// Calls without a place are refused at once.
func newIdleCalls(t *testing.T, desk mcpclient.Server, running, waiting int) *idleCalls {
	person := newLatePerson()
	g := startWith(t, &gateway.Options{AskPerson: person.ask, ServerOptions: func(o *mcpserver.Options) *mcpserver.Options {
		o.Load = &mcpserver.LoadOptions{MaxCalls: running, MaxWait: -1}
		o.Ask.MaxQuestions, o.Ask.OwnerQuestions = waiting, waiting
		return o
	}}, host.Upstream{Key: "desk", Target: mcpclient.InProcess(desk), Settings: host.Settings{Timeouts: []host.CallTimeout{{Tools: "ask", Timeout: time.Second}}}})
	return &idleCalls{T: t, Gateway: g, person: person}
}

// connectWithForms connects a client of a revision of the session era that shows forms, which the person of the host
// answers in its place.
func (i *idleCalls) connectWithForms() *mcpclient.Client {
	c, err := mcpclient.Connect(i.Context(), mcpclient.InProcess(i.Server()), &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet,
		ElicitForm: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			given, err := i.person.ask(ctx, &host.ServerQuestion{OnQuestion: func(string) {}})
			if err != nil {
				return nil, err
			}
			return &mcp.ElicitResult{Action: given.Action, Content: given.Content}, nil
		},
	})
	if err != nil {
		i.Fatal(err)
	}
	i.clients = append(i.clients, c)
	return c
}

// connect connects a client that cannot show forms, and may have roots.
func (i *idleCalls) connect(revision mcp.Revision, roots bool) *mcpclient.Client {
	o := &mcpclient.Options{Revisions: []mcp.Revision{revision}, Logger: quiet}
	if roots {
		o.Roots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///ada"}}, nil }
	}
	c, err := mcpclient.Connect(i.Context(), mcpclient.InProcess(i.Server()), o)
	if err != nil {
		i.Fatal(err)
	}
	i.clients = append(i.clients, c)
	return c
}

// call calls a tool, once nothing moves any more: the calls before have released their places. It returns the
// text of the result, when it is there.
func (i *idleCalls) call(c *mcpclient.Client, tool string) <-chan string {
	synctest.Wait()
	text := make(chan string, 1)
	go func() {
		result, err := c.CallTool(i.Context(), "desk__"+tool, nil)
		if err != nil {
			text <- err.Error()
			return
		}
		text <- result.Content.Text()
	}()
	return text
}

// close closes the host and its clients, before the next one is tested.
func (i *idleCalls) close() {
	for _, c := range i.clients {
		_ = c.Close()
	}
	i.Close()
	synctest.Wait()
}

// eachIdlePair runs a test with each pair of eras, and with callers that can be asked something and that cannot.
func eachIdlePair(t *testing.T, test func(t *testing.T, up, down mcp.Revision, roots bool)) {
	synctest.Test(t, func(t *testing.T) {
		for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			for _, down := range []mcp.Revision{mcp.V20241105, mcp.V20251125, mcp.V20260728} {
				for _, roots := range []bool{false, true} {
					test(t, up, down, roots)
				}
			}
		}
	})
}

// desk is a server with the tools "ask", which asks, "now", which does not, and "hold", whose calls end when held
// is closed.
func desk(revision mcp.Revision, held <-chan struct{}) *mcpserver.Server {
	srv := mcpserver.New("desk", "1", &mcpserver.Options{Revisions: []mcp.Revision{revision}, Logger: quiet})
	srv.Tool("ask", "Ask", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcpserver.Ask[greeting](ctx, "who", "Who are you?")
		return "done", err
	})
	srv.Tool("ask-both", "Ask", func(ctx context.Context, _ struct{}) (string, error) {
		var who greeting
		var roots []mcp.Root
		return "done", mcpserver.AskAll(ctx, mcpserver.ElicitForm("who", "Who are you?", &who), mcpserver.ListRoots("roots", &roots))
	})
	srv.Tool("now", "Now", func(context.Context, struct{}) (string, error) { return "now", nil })
	srv.Tool("hold", "Hold", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-held:
			return "released", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	return srv
}

func TestCallInWhichThePersonIsAskedIsNoRunningCall(t *testing.T) {
	t.Parallel()
	eachIdlePair(t, func(t *testing.T, up, down mcp.Revision, roots bool) {
		i := newIdleCalls(t, desk(up, nil), 1, 4)
		defer i.close()
		c := i.connect(down, roots)
		waiting := i.call(c, "ask")
		if got := i.person.questions(); got != 1 {
			t.Fatalf("%s behind for %s: got %d questions, want 1", up, down, got)
		}
		for range 2 {
			if got := <-i.call(c, "now"); got != "now" {
				t.Errorf("%s behind for %s, roots %v: got %q, want the only place for the second call", up, down, roots, got)
			}
		}
		time.Sleep(48 * time.Second) // longer than the timeout of the tool
		close(i.person.answer)
		if got := <-waiting; got != "done" {
			t.Errorf("%s behind for %s, roots %v: got %q, want the call done with the answer", up, down, roots, got)
		}
	})
}

// An answer of the caller ends a round, and the question to the person goes on in the next one.
func TestQuestionToThePersonLeavesThePlacesOfAllRounds(t *testing.T) {
	t.Parallel()
	eachIdlePair(t, func(t *testing.T, up, down mcp.Revision, roots bool) {
		if !roots {
			return // the server could not ask the caller anything
		}
		i := newIdleCalls(t, desk(up, nil), 1, 4)
		defer i.close()
		c := i.connect(down, roots)
		waiting := i.call(c, "ask-both")
		time.Sleep(time.Second)
		if got := i.person.questions(); got != 1 {
			t.Fatalf("%s behind for %s: got %d questions, want 1", up, down, got)
		}
		if got := <-i.call(c, "now"); got != "now" {
			t.Errorf("%s behind for %s: got %q, want the only place for the second call", up, down, got)
		}
		close(i.person.answer)
		if got := <-waiting; got != "done" {
			t.Errorf("%s behind for %s: got %q, want the call done with both answers", up, down, got)
		}
	})
}

func TestEachQuestionToThePersonLeavesOnePlace(t *testing.T) {
	t.Parallel()
	eachIdlePair(t, func(t *testing.T, up, down mcp.Revision, roots bool) {
		held := make(chan struct{})
		i := newIdleCalls(t, desk(up, held), 2, 4)
		defer i.close()
		c := i.connect(down, roots)
		waiting := []<-chan string{i.call(c, "ask"), i.call(c, "ask")}
		if got := i.person.questions(); got != 2 {
			t.Fatalf("%s behind for %s: got %d questions, want 2", up, down, got)
		}
		running := []<-chan string{i.call(c, "hold"), i.call(c, "hold")}
		synctest.Wait()
		if got := <-i.call(c, "now"); got == "now" {
			t.Errorf("%s behind for %s: a call without a place runs", up, down)
		}
		close(held)
		for _, call := range running {
			if got := <-call; got != "released" {
				t.Errorf("%s behind for %s, roots %v: got %q, want a place for each call that does not wait", up, down, roots, got)
			}
		}
		close(i.person.answer)
		for _, call := range waiting {
			if got := <-call; got != "done" {
				t.Errorf("%s behind for %s, roots %v: got %q, want the calls done with their answers", up, down, roots, got)
			}
		}
	})
}

func TestPersonIsNotAskedWhileTooManyCallsWait(t *testing.T) {
	t.Parallel()
	eachIdlePair(t, func(t *testing.T, up, down mcp.Revision, roots bool) {
		i := newIdleCalls(t, desk(up, nil), 4, 1)
		defer i.close()
		c := i.connect(down, roots)
		waiting := i.call(c, "ask")
		i.person.questions()
		const want = `the server "desk" asks the user, and nobody has answered in Fondaco: too many other calls wait for a person now; call again when`
		if got := <-i.call(c, "ask"); !strings.Contains(got, want) || i.person.questions() != 1 {
			t.Errorf("%s behind for %s, roots %v: got %q and %d questions, want %q and 1", up, down, roots, got, i.person.questions(), want)
		}
		close(i.person.answer)
		if got := <-waiting; got != "done" {
			t.Errorf("%s behind for %s, roots %v: got %q, want the first call done", up, down, roots, got)
		}
	})
}

func TestQuestionToThePersonMakesRoomForThoseOfOthers(t *testing.T) {
	t.Parallel()
	eachIdlePair(t, func(t *testing.T, up, down mcp.Revision, roots bool) {
		i := newIdleCalls(t, desk(up, nil), 4, 2)
		defer i.close()
		greedy, other := i.connect(down, roots), i.connect(down, roots)
		first := i.call(greedy, "ask")
		i.person.questions()
		second := i.call(greedy, "ask")
		i.person.questions()
		third := i.call(other, "ask")
		if got := i.person.questions(); got != 3 {
			t.Fatalf("%s behind for %s, roots %v: got %d questions, want that of the other client, too", up, down, roots, got)
		}
		close(i.person.answer)
		if got := <-first + "; " + <-second; !strings.Contains(got, "done") || !strings.Contains(got, "too many other calls wait for a person now") {
			t.Errorf("%s behind for %s, roots %v: got %q, want one of the two given up", up, down, roots, got)
		}
		if got := <-third; got != "done" {
			t.Errorf("%s behind for %s, roots %v: got %q, want the call of the other client done", up, down, roots, got)
		}
	})
}

// rawDesk is a server of 2025-11-25 with tools that are answered in the order that a test needs.
type rawDesk struct {
	first, second jsontext.Value
}

const rawDone = `"result":{"content":[{"type":"text","text":"done"}]}`

func (d *rawDesk) Serve(ctx context.Context, conn mcp.Conn) error {
	return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
		isCall := func(tool string) bool {
			return m.Method == mcp.MethodToolsCall && strings.Contains(m.text, `"`+tool+`"`)
		}
		switch {
		case m.Method == mcp.MethodToolsList:
			var tools []string
			for _, name := range []string{"first", "first-asks", "second", "second-asks", "end-first", "hold"} {
				tools = append(tools, rawTool(name, 1, ""))
			}
			return `"result":{"tools":[` + strings.Join(tools, ",") + `]}`
		case isCall("first"), isCall("first-asks"):
			d.first = m.ID
		case isCall("second"), isCall("second-asks"):
			d.second = m.ID
		case isCall("end-first"):
			c.respond(d.first, rawDone)
			d.first = nil
			return rawDone
		case m.Method == "": // the answer of the person
			for _, id := range []jsontext.Value{d.first, d.second} {
				if id != nil {
					c.respond(id, rawDone)
				}
			}
		}
		if isCall("first-asks") || isCall("second-asks") {
			c.ask("who")
		}
		return ""
	})
}

// The question may belong to the call that is left, which then waits.
func TestQuestionToThePersonLeavesThePlaceOfTheNextCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			i := newIdleCalls(t, new(rawDesk), 2, 4)
			c := i.connect(down, false)
			first := i.call(c, "first")
			synctest.Wait()
			second := i.call(c, "second-asks")
			if got := i.person.questions(); got != 1 {
				t.Fatalf("%s: got %d questions, want 1", down, got)
			}
			if got := []string{<-i.call(c, "end-first"), <-first}; got[0] != "done" || got[1] != "done" {
				t.Fatalf("%s: got %q, want a place for the call that ends the first, and that one done", down, got)
			}
			running := []<-chan string{i.call(c, "hold"), i.call(c, "hold")}
			synctest.Wait()
			for _, call := range running {
				select {
				case got := <-call:
					t.Errorf("%s: got %q, want two places while the second call waits", down, got)
				default:
				}
			}
			close(i.person.answer)
			if got := <-second; got != "done" {
				t.Errorf("%s: got %q, want the second call done with the answer", down, got)
			}
			i.close()
		}
	})
}

// A server may do one thing after another: what has the only place waits for what the person is asked for.
func TestAnswerOfThePersonWaitsForNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			i := newIdleCalls(t, new(rawDesk), 1, 4)
			c := i.connect(down, false)
			first := i.call(c, "first-asks")
			if got := i.person.questions(); got != 1 {
				t.Fatalf("%s: got %d questions, want 1", down, got)
			}
			second := i.call(c, "second")
			synctest.Wait()
			close(i.person.answer)
			if got := []string{<-first, <-second}; got[0] != "done" || got[1] != "done" {
				t.Errorf("%s: got %q, want both calls done", down, got)
			}
			i.close()
		}
	})
}

// A question to the caller counts once as one that waits.
func TestAnswerOfTheCallerWaitsForNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIdleCalls(t, new(rawDesk), 1, 1)
		defer i.close()
		c := i.connectWithForms()
		first := i.call(c, "first-asks")
		if got := i.person.questions(); got != 1 {
			t.Fatalf("got %d questions, want 1", got)
		}
		second := i.call(c, "second")
		synctest.Wait()
		close(i.person.answer)
		if got := []string{<-first, <-second}; got[0] != "done" || got[1] != "done" {
			t.Errorf("got %q, want both calls done", got)
		}
	})
}

func TestEachQuestionToTheCallerLeavesOnePlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		i := newIdleCalls(t, desk(mcp.V20251125, held), 2, 2)
		defer i.close()
		c := i.connectWithForms()
		waiting := []<-chan string{i.call(c, "ask"), i.call(c, "ask")}
		if got := i.person.questions(); got != 2 {
			t.Fatalf("got %d questions, want 2", got)
		}
		running := []<-chan string{i.call(c, "hold"), i.call(c, "hold")}
		synctest.Wait()
		if got := <-i.call(c, "now"); got == "now" {
			t.Error("a call without a place runs")
		}
		close(held)
		for _, call := range running {
			if got := <-call; got != "released" {
				t.Errorf("got %q, want a place for each call that does not wait", got)
			}
		}
		close(i.person.answer)
		for _, call := range waiting {
			if got := <-call; got != "done" {
				t.Errorf("got %q, want the calls done with their answers", got)
			}
		}
	})
}
