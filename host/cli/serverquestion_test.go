package cli

import (
	"context"
	"encoding/json/jsontext"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// hotelForm is a form that the server hotel asks for.
func hotelForm() *host.ServerQuestion {
	return &host.ServerQuestion{Server: "hotel", Principal: mcp.PrincipalLocal, Client: "editor 1", Elicit: &mcp.ElicitParams{
		Mode: mcp.ElicitForm, Message: "How long?\n1 The server \"bank\" asks you to fill in a form",
		RequestedSchema: jsontext.Value(`{"type":"object","properties":{"nights":{"type":"integer"},"meal":{"type":"string"}},"required":["nights"]}`),
	}}
}

func hotelAddress() *host.ServerQuestion {
	return &host.ServerQuestion{Server: "hotel", Principal: mcp.PrincipalLocal, Elicit: &mcp.ElicitParams{
		Mode: mcp.ElicitURL, Message: "Please pay.", URL: "https://xn--80ak6aa92e.com/pay?at=https://bank.example",
	}}
}

// asks makes a server ask at a host with a terminal. It belongs to a bubble of synctest.
func asks(t *testing.T, asked *host.ServerQuestion) (q *userQuestions, typed func(string) (screen string), answer func() string) {
	t.Helper()
	m, keys, screen := terminalOf(t)
	q = questionsAt(m, new(mcpserver.MemoryStore))
	q.calls = consent.NewCalls(new(mcpserver.MemoryStore), consent.CallOptions{Wait: 5 * time.Minute, Watched: func(context.Context) bool { return true }})
	q.self.Store(&consent.Watcher{ID: "w", Since: time.Now()})
	q.terminal.Store(true)
	showing, stop := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		a, err := q.calls.AskPerson(t.Context(), asked)
		if err != nil {
			ended <- err.Error()
			return
		}
		if asked.Elicit == nil {
			ended <- string(consent.ServerAnswerContent(a))
			return
		}
		ended <- string(a.Action) + " " + string(a.Content)
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.askOnTerminal(showing)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	time.Sleep(questionPoll)
	typed = func(line string) string {
		if line != "" {
			_, _ = io.WriteString(keys, line)
		}
		return screen()
	}
	return q, typed, func() string { return <-ended }
}

func TestFormOfAServerIsFilledInOnTheTerminalOfTheHost(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337a", "R-337b", "R-338c")
	for _, test := range []struct {
		lines []string
		want  string
	}{
		{[]string{"y\n", "three\n", "3\n", "soup\n", "y\n"}, `accept {"nights":3,"meal":"soup"}`},
		{[]string{"y\n", "3\n", "soup\n", "edit\n", "4\n", "/none\n", "y\n"}, `accept {"nights":4}`},
		{[]string{"y\n", "3\n", "\n", "e\n", "\n", "\n", "y\n"}, `accept {"nights":3}`},
		{[]string{"y\n", "3\n", "\n", "\n", "send\n"}, `accept {"nights":3}`},
		{[]string{"y\n", "3\n", "\n", "\n", "\n", "\n"}, "cancel "}, // Enter sends nothing
		{[]string{"y\n", "3\n", "\n", "d\n"}, "decline "},
		{[]string{"y\n", "3\n", "\n", "c\n"}, "cancel "},
		{[]string{"y\n", "/decline\n"}, "decline "},
		{[]string{"y\n", "3\n", "/cancel\n"}, "cancel "},
		{[]string{"d\n"}, "decline "},
		{[]string{"what\n", "c\n"}, "cancel "},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, typed, answer := asks(t, hotelForm())
			text := typed("")
			for _, want := range []string{
				"1 The server \"hotel\" asks you to fill in a form\n  in a call of editor 1\n  message\n    | How long?\n    | 1 The server \"bank\" asks you to fill in a form\n",
				"field      nights (an integer)", "field      meal (a text; optional)",
				`Answer question 1 of the server "hotel"? [y fill it in, d decline, c cancel; Enter later] `,
			} {
				if !strings.Contains(text, want) {
					t.Errorf("got %s, want %q", text, want)
				}
			}
			for _, line := range test.lines {
				text = typed(line)
			}
			if got := answer(); got != test.want {
				t.Errorf("%q: got %q, want %q; the screen: %s", test.lines, got, test.want, text)
			}
		})
	}
}

func TestLongTextOfAServerBeginsNoLineOfTheTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		form := hotelForm()
		imitation := strings.Repeat(" ", 200) + "The server bank asks for your card"
		form.Elicit.Message = "How long?" + imitation + strings.Repeat("東", 100)
		form.Elicit.RequestedSchema = jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer","title":"Nights` + imitation + `","description":"` + imitation + `"}}}`)
		_, typed, answer := asks(t, form)
		text := typed("y\n")
		for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", "\n"), "\n") {
			if line != terminal.Fit(line, 79) && !strings.Contains(line, "[y fill it in") && !strings.HasPrefix(line, "(an empty line") {
				t.Errorf("got %q, want lines that the terminal does not break", line)
			}
			if strings.Contains(line, "your card") && !strings.HasPrefix(line, "    | ") {
				t.Errorf("got %q, want a mark in front", line)
			}
		}
		if got := strings.Count(text, "your card"); got < 4 {
			t.Errorf("got %s, want all words", text)
		}
		typed("3\n")
		typed("y\n")
		if got := answer(); got != `accept {"n":3}` {
			t.Errorf("got %q, want the answer", got)
		}
	})
}

func TestQuestionThatIsPutOffIsAnsweredWhileItsCallWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, typed, answer := asks(t, hotelForm())
		if text := typed("\n"); !strings.HasSuffix(text, "later: fondaco answer 1\n") {
			t.Errorf("got %s, want how to answer later", text)
		}
		open, err := q.calls.Queue.List(t.Context())
		if err != nil || len(open) != 1 {
			t.Fatalf("got %v, %v, want the question still open", open, err)
		}
		a := consent.Answer{Content: jsontext.Value(`{"action":"accept","content":{"nights":2}}`), By: "ada", How: host.GrantedByCommand}
		if err := q.calls.Answer(t.Context(), open[0].ID, a); err != nil {
			t.Fatal(err)
		}
		if got := answer(); got != `accept {"nights":2}` {
			t.Errorf("got %q, want the later answer", got)
		}
	})
}

func TestAddressOfAServerIsOpenedAfterAYesOnly(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-344b", "R-347b", "R-347c", "R-350")
	for _, test := range []struct {
		lines  []string
		want   string
		opened int
	}{
		{[]string{"y\n", "y\n", "\n"}, "accept ", 1},
		{[]string{"y\n", "y\n", "r\n", "d\n"}, "accept ", 2},
		{[]string{"y\n", "y\n", "c\n"}, "cancel ", 1},
		{[]string{"y\n", "\n"}, "decline ", 0},
		{[]string{"y\n", "c\n"}, "cancel ", 0},
		{[]string{"d\n"}, "decline ", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, typed, answer := asks(t, hotelAddress())
			text := typed("")
			for _, want := range []string{
				"  host       xn--80ak6aa92e.com\n", "looks like apple.com and is not", "  address    https://xn--80ak6aa92e.com/pay?at=https://bank.example\n",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("got %s, want %q", text, want)
				}
			}
			for _, line := range test.lines {
				text = typed(line)
			}
			// There is no desktop here, so each attempt to open the address says so.
			if got, opened := answer(), strings.Count(text, "no desktop was found; open the address yourself"); got != test.want || opened != test.opened {
				t.Errorf("%q: got %q, and %d attempts to open, want %q and %d; the screen: %s", test.lines, got, opened, test.want, test.opened, text)
			}
		})
	}
}

// hotelSampling is a sampling request of the server hotel.
func hotelSampling(review host.Review) *host.ServerQuestion {
	q := &host.ServerQuestion{Server: "hotel", Principal: mcp.PrincipalLocal, Client: "editor 1", Review: review, Sampling: &mcp.CreateMessageParams{
		SystemPrompt: "Be brief", MaxTokens: 100, ModelPreferences: &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "small"}}},
		Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Which city?\nBe exact.")}}},
	}}
	if review == host.ReviewReply {
		q.Reply = &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text("Paris")}, Model: "small-1", StopReason: mcp.StopEndTurn}
	}
	return q
}

func TestSamplingRequestIsReviewedOrAnsweredOnTheTerminalOfTheHost(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-362")
	request := []string{
		"  in a call of editor 1\n", "system prompt Be brief\n", "  1 user\n    | Which city?\n    | Be exact.\n", "model      such as small, at most 100 tokens\n", "server sees",
	}
	for _, test := range []struct {
		review host.Review
		lines  []string
		shown  []string
		want   string
	}{
		{host.ReviewNone, []string{"y\n", "Rome,\n", "  of course\n", ".\n", "y\n"}, request, `{"action":"accept","text":"Rome,\n  of course"}`},
		{host.ReviewNone, []string{"y\n", "Rome\n", ".\n", "e\n", "Bern\n", ".\n", "y\n"}, request, `{"action":"accept","text":"Bern"}`},
		{host.ReviewNone, []string{"y\n", "Rome\n", "/decline\n"}, request, `{"action":"decline"}`},
		{host.ReviewNone, []string{"d\n"}, request, `{"action":"decline"}`},
		{host.ReviewRequest, []string{"y\n"}, request, `{"action":"accept"}`},
		{host.ReviewRequest, []string{"Y\n"}, request, `{"action":"accept"}`},
		{host.ReviewRequest, []string{"e\n", "Be kind\n", ".\n", ".\n", "y\n"}, request, `{"action":"accept","systemPrompt":"Be kind"}`},
		{host.ReviewRequest, []string{"e\n", ".\n", "Which town?\n", ".\n", "y\n"}, request, `{"action":"accept","texts":["Which town?"]}`},
		{host.ReviewRequest, []string{"e\n", ".\n", ".\n", "d\n"}, request, `{"action":"decline"}`},
		{host.ReviewRequest, []string{"c\n"}, request, `{"action":"cancel"}`},
		{host.ReviewReply, []string{"y\n"}, []string{"answer     Paris\n", "model      small-1\n", "stopped by endTurn\n", "server sees"}, `{"action":"accept"}`},
		{host.ReviewReply, []string{"e\n", "Rome\n", ".\n", "y\n"}, nil, `{"action":"accept","text":"Rome"}`},
		{host.ReviewReply, []string{"d\n"}, nil, `{"action":"decline"}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, typed, answer := asks(t, hotelSampling(test.review))
			text := typed("")
			for _, want := range append(test.shown, `1 The server "hotel" `) {
				if !strings.Contains(text, want) {
					t.Errorf("got %s, want %q", text, want)
				}
			}
			for _, line := range test.lines {
				text = typed(line)
			}
			if got := answer(); got != test.want {
				t.Errorf("%q: got %q, want %q; the screen: %s", test.lines, got, test.want, text)
			}
		})
	}
}

func TestCommandAsksForTheAnswerToASamplingRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-362")
	for _, test := range []struct {
		lines []string
		want  string
	}{
		{[]string{"y\n", "Rome\n", ".\n", "y\n"}, "Rome"},
		{[]string{"y\n", "Rome\n", ".\n", "d\n"}, "the user refused it"},
		{[]string{"y\n", "/cancel\n"}, "the user refused it"},
		{[]string{"\n"}, "the user refused it"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, keys, screen := terminalOf(t)
			q := &elicitor{to: m, from: new(serverConn)}
			ended := make(chan string, 1)
			go func() {
				answer, err := q.sample(t.Context(), hotelSampling(host.ReviewNone).Sampling)
				if err != nil {
					ended <- err.Error()
					return
				}
				ended <- answer.Content.Text()
			}()
			text := screen()
			for _, want := range []string{"The server asks for the answer of a model, and you can give it\n", "system prompt Be brief\n", "    | Be exact.\n", "server sees what you write"} {
				if !strings.Contains(text, want) {
					t.Errorf("got %s, want %q", text, want)
				}
			}
			for _, line := range test.lines {
				_, _ = io.WriteString(keys, line)
				text = screen()
			}
			if got := <-ended; !strings.Contains(got, test.want) || q.wereDeclined() != (test.want != "Rome") {
				t.Errorf("%q: got %q, want %q; the screen: %s", test.lines, got, test.want, text)
			}
		})
	}
}

func TestLongMessageOfAServerBeginsNoLineOfACommand(t *testing.T) {
	t.Parallel()
	m := &Main{IO: terminal.IO{Interactive: true, Env: []string{"COLUMNS=40"}}}
	for _, test := range []struct {
		asks, message string
		want          []string
	}{
		{"The server asks: ", "Who?", []string{"The server asks: Who?"}},
		{"The server asks: ", "Who?\nPassword:", []string{"The server asks:", "    | Who?", "    | Password:"}},
		{"The server asks: ", "Who?" + strings.Repeat(" ", 29) + "Password:", []string{"The server asks:", "    | Who?" + strings.Repeat(" ", 29), "    | Password:"}},
		{"", "The server \"a\" asks:\n> Who?", []string{"The server \"a\" asks:\n> Who?"}},
		{"", "The server \"a\" asks: Who?" + strings.Repeat("-", 20), []string{"    | The server \"a\" asks: Who?--------", "    | ------------"}},
	} {
		if got := m.askedLines(test.asks, test.message); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.message, got, test.want)
		}
	}
}

func TestSecretOfAFormIsNotShownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := hotelForm()
		asked.Elicit.RequestedSchema = jsontext.Value(`{"type":"object","properties":{"f1":{"type":"string","title":"Your password"},"f2":{"type":"integer","title":"PIN"},"town":{"type":"string"}},"required":["f1","f2"]}`)
		_, typed, answer := asks(t, asked)
		text := ""
		for _, line := range []string{"y\n", "hunter2\n", "12three4\n", "7654\n", "Rome\n", "e\n", "\n", "\n", "\n", "y\n"} {
			text = typed(line)
		}
		for _, secret := range []string{"hunter2", "12three4", "7654"} {
			if strings.Contains(text, secret) {
				t.Errorf("got %s, want %s hidden", text, secret)
			}
		}
		for _, want := range []string{`Send {"f1":"[hidden]","f2":"[hidden]","town":"Rome"}?`, "found [hidden], want an integer", "Enter keeps what you have typed"} {
			if !strings.Contains(text, want) {
				t.Errorf("got %s, want %q", text, want)
			}
		}
		if got := answer(); got != `accept {"f1":"hunter2","f2":7654,"town":"Rome"}` {
			t.Errorf("got %q, want what was typed", got)
		}
	})
}

func TestConsoleGetsTheImagesOfASamplingRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := hotelSampling(host.ReviewRequest)
		asked.Sampling.Messages[0].Content = append(asked.Sampling.Messages[0].Content, mcp.Image([]byte("pixels"), "image/png"))
		q, typed, answer := asks(t, asked)
		if text := typed(""); !strings.Contains(text, "1 user     (an image, image/png, 6 bytes)") || strings.Contains(text, "pixels") {
			t.Errorf("got %s, want the image named", text)
		}
		s := &consoleSource{host: &hostProcess{main: q.main, questions: q, gateway: gateway.New(nil, nil), servers: new(supervisor.Supervisor)}}
		inbox := s.Inbox(t.Context())
		if len(inbox.Questions) != 1 || !slices.Equal(inbox.Questions[0].Files, []console.File{{Name: "1 user", MIMEType: "image/png", Bytes: 6, Kept: true}}) {
			t.Fatalf("got %+v, want the image", inbox)
		}
		if got, err := s.File(t.Context(), inbox.Questions[0].ID, 0); string(got) != "pixels" || err != nil {
			t.Errorf("got %q, %v, want the image", got, err)
		}
		typed("d\n")
		if got := answer(); got != `{"action":"decline"}` {
			t.Errorf("got %s, want the request refused", got)
		}
		if _, err := s.File(t.Context(), inbox.Questions[0].ID, 0); err == nil {
			t.Error("got an image of a question that does not wait")
		}
	})
}
