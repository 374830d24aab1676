package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const questionsConfig = `{"mcpServers": {"hotel": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "hotel"}, "fondaco": {"sampling": "ask"}}}}`

// A person without a mouse answers what a server asks in calls whose client cannot show it.
func TestQuestionsOfAServerAreAnsweredWithTheKeyboard(t *testing.T) {
	script := axe(t)
	h := up(t, questionsConfig, "--yes")
	ctx := open(t)
	enter(t, ctx, h)
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
		{"reserve", "fill in a form", func() {}, "decline", "declined"},
		{"pay", "open an address", func() {
			await(t, ctx, `document.querySelector("b.host").textContent === "pay.hotel.example" && document.querySelector("#open").href === "https://pay.hotel.example/room?id=7"`)
		}, "accept", "paid"},
		{"praise", "answer of a model", func() {
			await(t, ctx, `document.body.textContent.includes("Be kind.") && document.body.textContent.includes("Praise the hotel.")`)
			tab(t, ctx, `document.activeElement.id === "text"`)
			do(t, ctx, chromedp.KeyEvent("The beds are soft."))
		}, "accept", "The beds are soft."},
	} {
		called := make(chan string, 1)
		go func() { called <- h.run(t, "call", "hotel/"+test.tool) }()
		await(t, ctx, `document.querySelector(".count")?.textContent.startsWith("1")`)
		goTo(t, ctx, `document.activeElement.textContent.startsWith("Inbox")`)
		goTo(t, ctx, `document.activeElement.id.startsWith("answer-")`)
		await(t, ctx, `document.querySelector("h1").textContent.includes("`+test.asks+`")`)
		check(t, ctx, script, "question-"+test.tool)
		test.answer()
		tab(t, ctx, `document.activeElement.id === "`+test.button+`"`)
		press(t, ctx, kb.Enter)
		await(t, ctx, `document.body.textContent.includes("Nothing waits for you.")`)
		if got := <-called; !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.tool, got, test.want)
		}
	}
}
