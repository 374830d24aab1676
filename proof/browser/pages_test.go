package browser_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// goTo follows the link or presses the button that a condition finds, with the keyboard.
func goTo(t *testing.T, ctx context.Context, condition string) {
	t.Helper()
	tab(t, ctx, condition)
	press(t, ctx, kb.Enter)
}

// A person without a mouse finds out what a server has said, switches it off and on, looks at a call that was recorded,
// and finds who has used what.
func TestServersAndRecordingsWithTheKeyboard(t *testing.T) {
	script := axe(t)
	h := up(t, config, "--yes", "--record", filepath.Join(t.TempDir(), "recordings"))
	h.run(t, "call", "airline/status")
	ctx := open(t)
	enter(t, ctx, h)

	goTo(t, ctx, `document.activeElement.id === "server-airline"`)
	await(t, ctx, `document.querySelector("h1").textContent.startsWith("airline") && document.querySelector("#log").textContent.includes("connected to the timetable")`)
	tab(t, ctx, `document.activeElement.matches("[data-filter=log]")`)
	do(t, ctx, chromedp.KeyEvent("timetable"))
	await(t, ctx, `[...document.querySelectorAll("#log li")].every((line) => line.hidden !== line.textContent.includes("timetable"))`)
	do(t, ctx, chromedp.Navigate(h.url+path(t, ctx)+"servers/airline"), chromedp.WaitVisible(chromedp.CSS("h1")))
	goTo(t, ctx, `document.activeElement.id === "disable"`)
	await(t, ctx, `document.body.textContent.includes("You have switched it off")`)
	check(t, ctx, script, "server-off")
	goTo(t, ctx, `document.activeElement.id === "enable"`)
	await(t, ctx, `[...document.querySelectorAll("dt")].some((term) => term.textContent === "process ids") && document.querySelector("#log").textContent.includes("switched on")`)

	goTo(t, ctx, `document.activeElement.textContent === "Traffic"`)
	await(t, ctx, `document.querySelector(".traffic").textContent.includes("airline/status")`)
	goTo(t, ctx, `document.activeElement.id === "recordings"`)
	await(t, ctx, `document.querySelector("h1").textContent === "Recorded sessions"`)
	goTo(t, ctx, `!!document.activeElement.closest("tr")?.textContent.includes("clients")`)
	await(t, ctx, `document.querySelector("h1").textContent.startsWith("Recorded: clients")`)
	goTo(t, ctx, `!!document.activeElement.closest(".body")?.textContent.includes("on time")`)
	await(t, ctx, `document.querySelector(".body details[open] pre").textContent.includes("on time")`)

	goTo(t, ctx, `document.activeElement.textContent === "Audit"`)
	goTo(t, ctx, `document.activeElement.id === "usage"`)
	await(t, ctx, `document.querySelector("h1").textContent === "Usage" && document.querySelector("#live-usage").textContent.includes("airline/status")`)
	check(t, ctx, script, "usage")
	goTo(t, ctx, `document.activeElement.textContent === "Configuration"`)
	await(t, ctx, `document.querySelector(".source").textContent.includes('"CONSOLE_TEST_SERVER": "…"')`)
	if text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector(".source").textContent`)); err != nil || !strings.Contains(text, `"confirm"`) {
		t.Errorf("got %q, %v, want the rules of the file", text, err)
	}
	check(t, ctx, script, "config")
}

// path returns the path of the pages of the session.
func path(t *testing.T, ctx context.Context) string {
	t.Helper()
	path, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.dataset.path`))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
