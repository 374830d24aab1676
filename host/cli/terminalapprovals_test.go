package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// approvalTest has the questions of a host with one server, which runs in this process and of
// which each tool needs approval.
type approvalTest struct {
	*approvalQuestions
	server *mcpserver.Server
	store  *faultyStore // of definitions
	words  *bytes.Buffer
}

func newApprovalTest(t *testing.T) *approvalTest {
	t.Helper()
	a := &approvalTest{
		server: mcpserver.New("one", "1.0.0", &mcpserver.Options{Dynamic: true}),
		store:  &faultyStore{Store: new(mcpserver.MemoryStore)}, words: new(bytes.Buffer),
	}
	a.list(t, "first")
	m := newTestMain(t, "", a.words)
	h := &hostProcess{
		main: m, definitions: definition.New(a.store, nil), approvals: approval.New(a.store, approval.Options{}),
		servers: new(supervisor.Supervisor),
	}
	h.servers.Use([]host.Upstream{{Key: "one", Target: mcpclient.InProcess(a.server), Settings: host.Settings{Trust: host.TrustAsk, Share: true}}})
	var err error
	if h.state, err = m.storage().State(); err != nil {
		t.Fatal(err)
	}
	h.gateway = gateway.New(h.servers.Servers(), &gateway.Options{FilterDefinitions: h.filterDefinitions, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(h.gateway.Close)
	h.gateway.Start(t.Context())
	a.approvalQuestions = newApprovalQuestions(h)
	a.ready.Store(true)
	go a.keepCurrent(t.Context())
	return a
}

// list makes the server list a tool with a description.
func (a *approvalTest) list(t *testing.T, description string) {
	t.Helper()
	if err := a.server.ReplaceTool("tool", description, func(context.Context, struct{}) (string, error) { return "", nil }); err != nil {
		t.Fatal(err)
	}
}

// want waits less than a pause, and checks whether there is a question.
func (a *approvalTest) want(t *testing.T, when string, want bool) *approvalQuestion {
	t.Helper()
	time.Sleep(approvalPause/2 - 2*questionPoll)
	a.mu.Lock()
	a.stale = true // a store in memory has no time of its last change
	a.mu.Unlock()
	time.Sleep(2 * questionPoll)
	q := a.next()
	if (q != nil) != want {
		t.Fatalf("%s: got the question %v, want one: %v\n%s", when, q, want, a.words.String())
	}
	if q != nil {
		q.callWaits = func(context.Context) bool { return false }
	}
	return q
}

func TestQuestionsThatCouldNotBeReadAreReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApprovalTest(t)
		a.store.damaged.Store(true)
		a.want(t, "damaged", false)
		a.want(t, "damaged, once more", false)
		if n := strings.Count(a.words.String(), "the record is damaged"); n != 1 {
			t.Errorf("the error was logged %d times, want once\n%s", n, a.words.String())
		}
		a.store.damaged.Store(false)
		if q := a.want(t, "readable again", true); !a.waits(q) {
			t.Error("the question does not wait")
		}
	})
}

func TestApprovalThatCouldNotBeStoredIsAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApprovalTest(t)
		q := a.want(t, "at first", true)
		a.store.full.Store(true)
		if answered, err := q.answer(t.Context(), "y"); !answered || err != nil || !strings.Contains(a.words.String(), "one is not approved: ") {
			t.Fatalf("got %v, %v, want the failure reported\n%s", answered, err, a.words.String())
		}
		a.store.full.Store(false)
		a.want(t, "in the pause", false)
		q = a.want(t, "after the pause", true)
		if answered, err := q.answer(t.Context(), "y"); !answered || err != nil || !strings.Contains(a.words.String(), "one is approved") {
			t.Fatalf("got %v, %v, want it approved\n%s", answered, err, a.words.String())
		}
		for range 2 {
			if err := q.check(t.Context()); err != nil {
				t.Errorf("got %v, want no end elsewhere of a question that was answered here", err)
			}
		}
		a.list(t, "second")
		a.want(t, "after an approval", true)
	})
}

func TestServerThatListsAgainAndAgainDoesNotFillTheTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApprovalTest(t)
		a.want(t, "at first", true).showUnasked(t.Context(), 0)
		a.list(t, "second")
		a.want(t, "in the pause", false)
		a.want(t, "after the pause", true).showUnasked(t.Context(), 0)
		if n := strings.Count(a.words.String(), "waiting    one"); n != 2 {
			t.Errorf("got %d lines, want 2\n%s", n, a.words.String())
		}
		for n := range 10 * maxAnswered {
			a.setAnswered([]approvalscreen.Item{{Upstream: &host.Upstream{Key: fmt.Sprint(n)}, Change: new(definition.Change)}}, host.OutcomeRefused)
		}
		a.want(t, "with many answers", false)
		if len(a.answered) > maxAnswered+1 {
			t.Errorf("got %d answers, want at most %d that no longer wait", len(a.answered), maxAnswered)
		}
	})
}

func TestSlowReadingOfWhatServersRunKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApprovalTest(t)
		a.want(t, "at first", true)
		read := make(chan struct{})
		slow := newApprovalQuestions(a.host)
		slow.ready.Store(true)
		slow.read = func(ctx context.Context) ([]*approvalQuestion, error) {
			<-read
			return slow.readStates(ctx)
		}
		keep := func() (end func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				slow.keepCurrent(ctx)
			}()
			synctest.Wait()
			return func() {
				cancel()
				<-ended
			}
		}
		end := keep()
		if found := slow.next(); found != nil {
			t.Errorf("got %v before the files were read", found)
		}
		end() // as Ctrl-C does, while the files are being read
		close(read)
		end = keep()
		defer end()
		if found := slow.next(); found == nil || !slow.waits(found) {
			t.Errorf("got %v, want the question", found)
		}
	})
}

func TestServerThatChangesAgainAndAgainIsAskedAboutLessAndLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApprovalTest(t)
		q := a.want(t, "at first", true)
		lists := 0
		answer := func(words string) (pause time.Duration) {
			if answered, err := q.answer(t.Context(), words); !answered || err != nil {
				t.Fatalf("got %v, %v", answered, err)
			}
			start := time.Now()
			lists++
			a.list(t, fmt.Sprint("list ", lists))
			for q = a.next(); q == nil; q = a.next() {
				a.mu.Lock()
				a.stale = true // a store in memory has no time of its last change
				a.mu.Unlock()
				time.Sleep(time.Second)
			}
			return time.Since(start)
		}
		for want := approvalPause; want < 4*maxApprovalPause; want *= 2 {
			if got := answer("n"); got < min(want, maxApprovalPause) || got > min(want, maxApprovalPause)+5*time.Second {
				t.Errorf("got the next question after %v, want %v", got, min(want, maxApprovalPause))
			}
		}
		if got := answer("y"); got >= approvalPause {
			t.Errorf("got the next question %v after a yes, want it soon", got)
		}
		if got := answer("n"); got > 2*approvalPause {
			t.Errorf("got the next question after %v, want the shortest pause after a yes", got)
		}
	})
}

func TestCallsInterruptAQuestionAboutAServerOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApprovalTest(t)
		a.want(t, "at first", true)
		m, keys, screen := terminalOf(t)
		a.host.main.Stdin, a.host.main.Stderr, a.host.main.Drawing = m.Stdin, m.Stderr, true
		q := questionsAt(a.host.main, new(mcpserver.MemoryStore))
		q.approvals = a.approvalQuestions
		q.self.Store(new(consent.Watcher))
		var work sync.WaitGroup
		work.Go(func() { q.askOnTerminal(t.Context()) })
		asked := func(prompt string) {
			t.Helper()
			time.Sleep(2 * questionPoll)
			if text := screen(); !strings.HasSuffix(text, prompt) {
				t.Fatalf("got %q, want it to end with %q", text, prompt)
			}
		}
		call := func() {
			if _, err := q.calls.Queue.Ask(t.Context(), consent.Question{Kind: "other", Text: "May it?", Schema: []byte(`{"type":"object"}`), Owner: "o", Group: "g"}); err != nil {
				t.Fatal(err)
			}
		}
		typed := func(line string) { _, _ = io.WriteString(keys, line) }
		const approval, callAnswers = "Approve what one lists? [y/N, s shows the texts] ", "[y once, s session, h hour, a always; N no] "
		asked(approval)
		call()
		call()
		asked("Allow call 1? Type a2 and then one of " + strings.Replace(callAnswers, "N no] ", "n no]: ", 1))
		typed("a2 n\n")
		asked(approval) // the second call waits
		if text := screen(); !strings.Contains(text, "a call waits, too") {
			t.Errorf("got %q, want to be told of the call", text)
		}
		typed("n\n")
		asked("Allow call 2? " + callAnswers)
		typed("n\n")
		_ = keys.Close()
		t.Cleanup(work.Wait)
	})
}
