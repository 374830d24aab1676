package browser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const questionsConfig = `{"mcpServers": {"hotel": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "hotel"}, "fondaco": {"sampling": "ask"}}}}`

// A person without a mouse answers what a server asks in calls whose client cannot show it.
func TestQuestionsOfAServerAreAnsweredWithTheKeyboard(t *testing.T) {
	script := axe(t)
	h := up(t, questionsConfig, "--yes")
	ctx := open(t)
	enter(t, ctx, h)
	nothing := func() {}
	looked := make(map[string]bool)
	for _, test := range []struct {
		tool, asks string
		answer     func()
		button     string
		want       string
	}{
		{"reserve", "fill in a form", func() {
			tab(t, ctx, `document.activeElement.name === "/nights"`)
			do(t, ctx, chromedp.KeyEvent("3"))
			tab(t, ctx, `document.activeElement.name === "/meal"`)
			do(t, ctx, chromedp.KeyEvent("d"))
		}, "accept", "3 nights with dinner"},
		{"reserve", "fill in a form", nothing, "decline", "the user declined"},
		{"reserve", "fill in a form", nothing, "cancel", "the user dismissed"},
		{"pay", "open an address", func() {
			await(t, ctx, `document.querySelector("b.host").textContent === "pay.hotel.example" && document.querySelector("#open").href === "https://pay.hotel.example/room?id=7"`)
		}, "accept", "paid"},
		{"pay", "open an address", nothing, "decline", "the user declined"},
		{"pay", "open an address", nothing, "cancel", "the user dismissed"},
		{"praise", "answer of a model", func() {
			await(t, ctx, `document.body.textContent.includes("Be kind.") && document.body.textContent.includes("Praise the hotel.")`)
			tab(t, ctx, `document.activeElement.id === "text"`)
			do(t, ctx, chromedp.KeyEvent("The beds are soft."))
		}, "accept", "The beds are soft."},
		{"praise", "answer of a model", nothing, "decline", "the user refused it"},
		{"praise", "answer of a model", nothing, "cancel", "the user refused it"},
	} {
		called := make(chan string, 1)
		go func() { called <- h.run(t, "call", "hotel/"+test.tool) }()
		await(t, ctx, `document.querySelector(".count")?.textContent.startsWith("1")`)
		goTo(t, ctx, `document.activeElement.textContent.startsWith("Inbox")`)
		goTo(t, ctx, `document.activeElement.id.startsWith("answer-")`)
		await(t, ctx, `document.querySelector("h1").textContent.includes("`+test.asks+`")`)
		if !looked[test.tool] {
			check(t, ctx, script, "question-"+test.tool)
			looked[test.tool] = true
		}
		test.answer()
		tab(t, ctx, `document.activeElement.id === "`+test.button+`"`)
		press(t, ctx, kb.Enter)
		await(t, ctx, `document.body.textContent.includes("Nothing waits for you.")`)
		if got := <-called; !strings.Contains(got, test.want) {
			t.Errorf("%s, %s: got %q, want %q", test.tool, test.button, got, test.want)
		}
	}
}

// called is how a call of a client has ended.
type called struct {
	text string
	err  error
}

// callTool calls a tool at the host by a client, and passes on the messages of its progress.
func callTool(t *testing.T, h *host, o *mcpclient.Options, tool string) (ended <-chan called, progress <-chan string) {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(h.url+"/mcp"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	end, messages := make(chan called, 1), make(chan string, 100)
	go func() {
		result, err := c.CallTool(t.Context(), tool, nil, mcpclient.WithProgress(func(p mcp.ProgressParams) {
			select {
			case messages <- p.Message:
			default:
			}
		}))
		if err != nil {
			end <- called{err: err}
			return
		}
		end <- called{text: result.Content.Text()}
	}()
	return end, messages
}

// openQuestion opens the page of the question that the inbox lists.
func openQuestion(t *testing.T, ctx context.Context) {
	t.Helper()
	await(t, ctx, `document.querySelector(".count")?.textContent.startsWith("1")`)
	if !strings.HasSuffix(strings.SplitN(location(t, ctx), "?", 2)[0], "/inbox") {
		goTo(t, ctx, `document.activeElement.textContent.startsWith("Inbox")`)
		await(t, ctx, `document.querySelector("h1").textContent === "Inbox"`)
	}
	await(t, ctx, `document.querySelector("[id^=answer-]") !== null`)
	goTo(t, ctx, `document.activeElement.id.startsWith("answer-")`)
	await(t, ctx, `document.querySelector("h1").textContent.startsWith("The server \"hotel\"")`)
}

// answer presses a button of the page of a question.
func answer(t *testing.T, ctx context.Context, button string) {
	t.Helper()
	goTo(t, ctx, `document.activeElement.id === "`+button+`"`)
	await(t, ctx, `document.querySelector("[role=status]").textContent === "Your answer was given."`)
}

// The user changes what the model of a client gets, and what the server gets of its answer. Either can be refused.
func TestSamplingIsReviewedWithTheKeyboard(t *testing.T) {
	script := axe(t)
	h := up(t, questionsConfig, "--yes")
	ctx := open(t)
	enter(t, ctx, h)
	asked := make(chan string, 1)
	model := &mcpclient.Options{Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		asked <- p.SystemPrompt + " " + p.Messages[0].Content.Text()
		return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "small", Content: mcp.Contents{mcp.Text("It is a hotel.")}}, nil
	}}
	ended, _ := callTool(t, h, model, "hotel__praise")
	openQuestion(t, ctx)
	await(t, ctx, `document.querySelector("#system").value === "Be kind." && document.querySelector("#text0").value === "Praise the hotel."`)
	check(t, ctx, script, "question-sampling-request")
	write(t, ctx, "text0", "Briefly.")
	answer(t, ctx, "accept")
	if got := <-asked; !strings.HasSuffix(got, "\n\nBe kind. Briefly.") { // behind what the host says about the server
		t.Errorf("got %q, want the model to get what the user has written", got)
	}
	openQuestion(t, ctx)
	await(t, ctx, `document.querySelector("#text").value === "It is a hotel."`)
	check(t, ctx, script, "question-sampling-reply")
	write(t, ctx, "text", "It is the hotel.")
	answer(t, ctx, "accept")
	if got := <-ended; got.err != nil || got.text != "It is the hotel." {
		t.Errorf("got %q, %v, want the server to get what the user has written", got.text, got.err)
	}

	for _, button := range []string{"decline", "cancel"} {
		ended, _ = callTool(t, h, model, "hotel__praise")
		openQuestion(t, ctx)
		answer(t, ctx, button)
		if got := <-ended; !strings.Contains(fmt.Sprint(got.text, got.err), "refused") {
			t.Errorf("%s before: got %q, %v, want it refused", button, got.text, got.err)
		}
		ended, _ = callTool(t, h, model, "hotel__praise")
		openQuestion(t, ctx)
		answer(t, ctx, "accept")
		<-asked
		openQuestion(t, ctx)
		answer(t, ctx, button)
		if got := <-ended; !strings.Contains(fmt.Sprint(got.text, got.err), "refused") {
			t.Errorf("%s after: got %q, %v, want it refused", button, got.text, got.err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the model got %q, want nothing that the user has refused", <-asked)
	}
}

// write replaces the text of a field.
func write(t *testing.T, ctx context.Context, id, text string) {
	t.Helper()
	tab(t, ctx, `document.activeElement.id === "`+id+`"`)
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](`document.activeElement.select();null`)); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.KeyEvent(text))
}

// A client that waits for the user learns of it, and the user can leave the question and take it up again.
func TestClientLearnsThatThePersonIsAsked(t *testing.T) {
	h := up(t, questionsConfig, "--yes")
	ctx := open(t)
	enter(t, ctx, h)
	ended, progress := callTool(t, h, nil, "hotel__reserve")
	const waiting = `waiting for a person to answer question 1 of the server "hotel" in Fondaco (its terminal, inbox or notification, or the command "fondaco answer 1")`
	for got := ""; got != waiting; {
		select {
		case got = <-progress:
			t.Logf("progress: %s", got)
		case end := <-ended:
			t.Fatalf("got %q, %v, want progress first: %s", end.text, end.err, waiting)
		}
	}
	openQuestion(t, ctx)
	goTo(t, ctx, `document.activeElement.textContent === "Servers"`)
	await(t, ctx, `document.querySelector("h1").textContent === "Servers"`)
	openQuestion(t, ctx)
	tab(t, ctx, `document.activeElement.name === "/nights"`)
	do(t, ctx, chromedp.KeyEvent("2"))
	tab(t, ctx, `document.activeElement.name === "/meal"`)
	do(t, ctx, chromedp.KeyEvent("b"))
	answer(t, ctx, "accept")
	if got := <-ended; got.err != nil || got.text != "2 nights with breakfast" {
		t.Errorf("got %q, %v, want the answer of the person", got.text, got.err)
	}
}
