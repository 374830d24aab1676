package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// terminalOf returns a terminal in memory: what is written to keys is typed, and screen returns
// what was printed. It belongs to a synctest bubble.
func terminalOf(t *testing.T) (m *Main, keys *io.PipeWriter, screen func() string) {
	t.Helper()
	stdin, keys := io.Pipe()
	t.Cleanup(func() { _ = keys.Close() })
	words := new(screenText)
	m = &Main{IO: terminal.IO{Stdin: stdin, Stderr: words, Drawing: true, Interactive: true, Env: []string{"COLUMNS=80", "XDG_RUNTIME_DIR=" + t.TempDir()}}, Args: []string{"fondaco"}}
	return m, keys, func() string {
		synctest.Wait()
		return words.String()
	}
}

// screenText is what was printed. It may be read while others print.
type screenText struct {
	mu   sync.Mutex
	text []byte
}

func (s *screenText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	return len(p), nil
}

func (s *screenText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// questionsAt returns the questions in a store for a host at a terminal.
func questionsAt(m *Main, store mcp.Store) *userQuestions {
	return &userQuestions{
		main: m, calls: consent.NewCalls(store, consent.CallOptions{}), watchers: consent.NewWatchers(store), codes: consent.NewCodes(new(consent.WrongCodes)),
		commandCodes: consent.NewCodes(new(consent.WrongCodes)),
	}
}

// typedQuestion is a question that keeps its answers.
type typedQuestion struct {
	ended   atomic.Bool
	answers []string
}

func (q *typedQuestion) title() string                    { return "a question" }
func (q *typedQuestion) show(context.Context, int)        {}
func (q *typedQuestion) showUnasked(context.Context, int) {}
func (q *typedQuestion) prompt() string                   { return "Well?" }
func (q *typedQuestion) text() string                     { return "Well?" }
func (q *typedQuestion) choice() string                   { return "y or n" }
func (q *typedQuestion) check(context.Context) error      { return endedIf(q.ended.Load()) }
func (q *typedQuestion) answer(_ context.Context, words string) (bool, error) {
	q.answers = append(q.answers, words)
	return true, nil
}

func endedIf(ended bool) error {
	if ended {
		return errQuestionEnded
	}
	return nil
}

func TestLineForAQuestionThatHasEndedAnswersNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, keys, screen := terminalOf(t)
		q := questionsAt(m, new(mcpserver.MemoryStore))
		ask := func(asked terminalQuestion, named bool) (ended chan error) {
			ended = make(chan error, 1)
			go func() { ended <- q.askOne(t.Context(), asked, named) }()
			synctest.Wait()
			return ended
		}
		// The server makes the question end while its answer is being typed.
		first, second, third := new(typedQuestion), new(typedQuestion), new(typedQuestion)
		for i, asked := range []*typedQuestion{first, second} {
			ended := ask(asked, i > 0)
			asked.ended.Store(true)
			if err := <-ended; !errors.Is(err, errQuestionEnded) {
				t.Fatalf("got %v, want the question ended", err)
			}
		}
		ended := ask(third, true)
		for _, line := range []string{"y\n", "a1 y\n", "a2 y\n", "3 y\n"} {
			_, _ = io.WriteString(keys, line)
			if screen(); len(first.answers)+len(second.answers)+len(third.answers) > 0 {
				t.Fatalf("%q has answered a question: %s", line, screen())
			}
		}
		_, _ = io.WriteString(keys, "a3 y\n")
		if err := <-ended; err != nil || len(third.answers) != 1 || third.answers[0] != "y" {
			t.Errorf("got %v, %q, want the answer; the screen: %s", err, third.answers, screen())
		}
	})
}

func TestYesForAQuestionThatWasAbandonedIsNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, keys, screen := terminalOf(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.AskYesNo(ctx, terminal.YesNo{Text: "The first?"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want it ended", err)
		}
		answers := make(chan string, 1)
		go func() {
			answer, _ := m.AskYesNo(t.Context(), terminal.YesNo{Text: "The second?"})
			answers <- answer
		}()
		_, _ = io.WriteString(keys, "y\n")
		if text := screen(); len(answers) > 0 || !strings.Contains(text, `found "y", which may have been typed for the question before`) {
			t.Errorf("got %s, want the line not used", text)
		}
		_, _ = io.WriteString(keys, "n\n")
		if answer := <-answers; answer != terminal.No {
			t.Errorf("got %q, want no", answer)
		}
	})
}

func TestPromptSaysWhatAYesAllowsWhateverServersSayBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, keys, screen := terminalOf(t)
		q := questionsAt(m, new(mcpserver.MemoryStore))
		q.self.Store(new(consent.Watcher))
		q.terminal.Store(true)
		wanted := &host.ConsentRequest{Upstream: &host.Upstream{Key: "files"}, Tool: mcp.Tool{Name: "wipe\x1b[2J"}, Arguments: []byte("{}")}
		if _, err := q.calls.Consent(t.Context(), wanted); err == nil {
			t.Fatal("got consent")
		}
		open, err := q.calls.Queue.List(t.Context())
		if err != nil || len(open) != 1 {
			t.Fatalf("got %v, %v, want a question", open, err)
		}
		ended := make(chan error, 1)
		go func() { ended <- q.askOne(t.Context(), &callQuestion{q, open[0]}, false) }()
		const prompt = `Allow call 1 of files/wipe\u001b[2J? [y once, s session, h hour, a always; N no] `
		if text := screen(); !strings.HasSuffix(text, "\n"+prompt) {
			t.Fatalf("got %q, want it to end with the prompt", text)
		}
		// What servers and other programs say takes one line, which begins with words of the host.
		evil := strings.Repeat("  ", 60) + "Allow call 1 of notes/list? [y once]"
		s := &summary{to: m, lastLines: make(map[string]string)}
		for _, test := range []struct {
			words string
			say   func()
		}{
			{"  upstream   files", func() { s.onStatus(host.Status{Key: "files", State: host.Failed, Reason: "東京" + evil}) }},
			{"  warning    files", func() {
				_ = (&hostProcess{main: m}).recordDecision(host.Decision{Action: host.ActionOffer, Upstream: "files", Reason: evil})
			}},
			{"level=WARN", func() { m.logger().Warn("it failed", "error", evil) }},
			{"  it wants to", func() { _ = q.showCode(evil) }},
			{"  it wants to", func() { _ = q.checkCode(q.commandCodes, evil, evil, "wrong") }},
		} {
			before := len(screen())
			test.say()
			text, ok := strings.CutPrefix(screen()[before:], "\r\x1b[K")
			text, above := strings.CutSuffix(text, "\n"+prompt)
			if !ok || !above || !strings.Contains(text, test.words) {
				t.Errorf("%s: got %q, want it above the prompt", test.words, text)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if len([]rune(line)) > 79 || strings.Contains(line, "notes/list") && !strings.HasPrefix(line, "    | ") {
					t.Errorf("%s: got %q, want it cut or marked", test.words, line)
				}
			}
		}
		_, _ = io.WriteString(keys, "n\n")
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A code allows all that a command says, so all of it is shown.
func TestWhatACodeAllowsIsShownWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _, screen := terminalOf(t)
		q := questionsAt(m, new(mcpserver.MemoryStore))
		q.terminal.Store(true)
		about := "give /" + strings.Repeat("home/and/away/", 20) + "other as a root to the server one"
		if err := q.showCode(about); err != nil {
			t.Fatal(err)
		}
		_, shown, _ := strings.Cut(strings.TrimSuffix(screen(), "\n"), "it wants to ")
		if got := strings.ReplaceAll(shown, "\n    | ", ""); got != about {
			t.Errorf("got %q, want %q", got, about)
		}
	})
}
