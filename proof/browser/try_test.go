package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// inspect runs fondaco inspect with a server of this program, and opens its console.
func inspect(t *testing.T, ctx context.Context, which string) *host {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &host{home: t.TempDir()}
	h.env = []string{"HOME=" + h.home, "XDG_RUNTIME_DIR=" + filepath.Join(h.home, "run"), "PATH=" + os.Getenv("PATH"), role + "=" + which}
	log, err := os.Create(filepath.Join(h.home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(fondaco, "inspect", "--no-open", "--", self)
	c.Env, c.Stdout, c.Stderr = h.env, log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("log of the host:\n%s", text)
		}
	})
	link := h.await(t, `(?m)^(http://\S+/console/login\?key=\S+)$`)
	h.url, _, _ = strings.Cut(link, "/console/")
	do(t, ctx, chromedp.Navigate(link), chromedp.WaitVisible(chromedp.CSS("nav a[aria-current]")))
	await(t, ctx, `document.body.textContent.includes("ready")`)
	return h
}

// page opens a page of the session.
func page(t *testing.T, ctx context.Context, h *host, path string) {
	t.Helper()
	base, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.dataset.path`))
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.Navigate(h.url+base+path), chromedp.WaitVisible(chromedp.CSS("h1")))
}

// textOf returns the text of an element.
func textOf(t *testing.T, ctx context.Context, selector string) string {
	t.Helper()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector(`+fmt.Sprintf("%q", selector)+`).textContent`))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Somebody who writes a server tries all of it with the keyboard: a form with alternatives and lists, the call as a
// program, media, a prompt with suggestions, resources, a watch, and the checks.
func TestServerIsInspectedWithTheKeyboard(t *testing.T) {
	script := axe(t)
	ctx := open(t)
	h := inspect(t, ctx, "workshop")

	page(t, ctx, h, "try/tool?name=server__order")
	check(t, ctx, script, "order")
	tab(t, ctx, `document.activeElement.type === "radio"`) // the chosen one, after which is the first
	press(t, ctx, kb.ArrowDown)
	await(t, ctx, `document.activeElement.value === "0" && document.activeElement.checked`)
	tab(t, ctx, `document.activeElement.name === "/pay~20/number"`)
	do(t, ctx, chromedp.KeyEvent("42"))
	tab(t, ctx, `document.activeElement.name === "/lines/0/sku"`)
	do(t, ctx, chromedp.KeyEvent("first"))
	tab(t, ctx, `document.activeElement.name === "more"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.getElementsByName("/lines/1/sku").length === 1 && document.getElementsByName("/lines/0/sku")[0].value === "first"`)
	tab(t, ctx, `document.activeElement.name === "/lines/1/sku"`)
	do(t, ctx, chromedp.KeyEvent("second"))
	tab(t, ctx, `document.activeElement.id === "call"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.querySelector(".tree")?.textContent.includes("second")`)
	check(t, ctx, script, "order-result")
	if got := textOf(t, ctx, `.card details pre`); !strings.Contains(strings.Join(strings.Fields(got), ""), `{"pay":{"number":"42"},"lines":[{"sku":"first"},{"sku":"second"}],"count":3}`) {
		t.Errorf("got %s, want the values of the form", got)
	}
	tab(t, ctx, `document.activeElement.matches("summary") && document.activeElement.textContent.includes("Go")`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.activeElement.parentElement.open`)
	if got := runProgram(t, textOf(t, ctx, "#program")); !strings.Contains(got, `"second"`) {
		t.Errorf("got %s, want the program to make the call", got)
	}
	if _, err := exec.LookPath("curl"); err == nil {
		out, err := exec.Command("sh", "-c", textOf(t, ctx, "#curl")).CombinedOutput()
		if err != nil || !strings.Contains(string(out), `second`) {
			t.Errorf("got %s, %v, want the line to make the call", out, err)
		}
	}

	page(t, ctx, h, "try/tool?name=server__media")
	tab(t, ctx, `document.activeElement.id === "call"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.querySelector(".card img")?.naturalWidth === 40 && document.querySelector("audio").duration > 0.05 && document.querySelector("a[download]") !== null`)
	check(t, ctx, script, "media")
	goTo(t, ctx, `document.activeElement.getAttribute("aria-label") === "Read counter://now"`)
	await(t, ctx, `document.body.textContent.includes("it is 0")`)

	page(t, ctx, h, "try/prompt?name=server__review")
	tab(t, ctx, `document.activeElement.name === "/language"`)
	do(t, ctx, chromedp.KeyEvent("G"))
	await(t, ctx, `[...document.getElementsByName("take")].map((b) => b.textContent).join() === "German,Greek"`)
	check(t, ctx, script, "suggestions")
	tab(t, ctx, `document.activeElement.textContent === "Greek"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.activeElement.name === "/language" && document.activeElement.value === "Greek"`)
	tab(t, ctx, `document.activeElement.id === "call"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.querySelector("#result-head")?.parentElement.textContent.includes("Review this in Greek.")`)

	page(t, ctx, h, "try")
	check(t, ctx, script, "try-tree")
	tab(t, ctx, `document.activeElement.matches("[data-filter]")`)
	do(t, ctx, chromedp.KeyEvent("guide/use"))
	await(t, ctx, `document.querySelector("[data-count]").textContent.startsWith("2 of ")`)
	tab(t, ctx, `document.activeElement.getAttribute("aria-label") === "Read doc://guide/use/second.md"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.body.textContent.includes("# doc://guide/use/second.md")`)

	page(t, ctx, h, "try")
	tab(t, ctx, `document.activeElement.getAttribute("aria-label") === "Read counter://now"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.body.textContent.includes("it is 0")`)
	tab(t, ctx, `document.activeElement.id === "watch"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.body.textContent.includes("Changes: 0")`)
	if status := number(t, ctx, `fetch(document.body.dataset.path + "try/tool?name=server__count", {method: "POST", body: new URLSearchParams({token: document.querySelector("[name=token]").value})}).then((r) => r.status)`); status != 200 {
		t.Errorf("got %v, want another page to call a tool", status)
	}
	await(t, ctx, `document.body.textContent.includes("Changes: 1") && document.body.textContent.includes("it is 1")`)
	check(t, ctx, script, "watch")

	page(t, ctx, h, "check")
	tab(t, ctx, `document.activeElement.id === "check"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.body.textContent.includes("Checks of ") && document.body.textContent.includes("unknown-method")`)
	check(t, ctx, script, "check")
}

// runProgram runs a program in Go with the library of this tree.
func runProgram(t *testing.T, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "program-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "main.go")
	if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", "./"+path).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s\n%s", err, out, program)
	}
	return string(out)
}

// A list of 1,000 tools. The times are reported, not asserted: they are those of the machine.
func TestLongListIsFiltered(t *testing.T) {
	ctx := open(t)
	h := inspect(t, ctx, "thousand")
	page(t, ctx, h, "try")
	var arrivals, paints, filters []float64
	for range 9 {
		do(t, ctx, chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("h1")))
		await(t, ctx, `document.readyState === "complete" && performance.getEntriesByName("first-contentful-paint").length === 1`)
		arrivals = append(arrivals, number(t, ctx, `performance.getEntriesByType("navigation")[0].responseEnd`))
		paints = append(paints, number(t, ctx, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
		filters = append(filters, number(t, ctx, `new Promise((done) => {
			const input = document.querySelector("[data-filter]");
			input.value = "many tool_99";
			requestAnimationFrame(() => {
				const begun = performance.now();
				input.dispatchEvent(new Event("input", { bubbles: true }));
				document.body.offsetHeight; // lays the page out
				done(performance.now() - begun);
			});
		})`))
		await(t, ctx, `document.querySelector("[data-count]").textContent === "10 of 1000"`)
	}
	for name, times := range map[string][]float64{"page arrived": arrivals, "first paint": paints, "filtered": filters} {
		slices.Sort(times)
		t.Logf("1,000 tools: %-12s %5.1f ms (median of %d; fastest %.1f, slowest %.1f)", name, times[len(times)/2], len(times), times[0], times[len(times)-1])
	}
	if got := number(t, ctx, `document.querySelectorAll("[data-row]:not([hidden])").length`); got != 10 {
		t.Errorf("got %v rows, want 10", got)
	}
	// Without the script the button of the filter does the same.
	do(t, ctx, chromedp.Navigate(regexp.MustCompile(`[?#].*`).ReplaceAllString(location(t, ctx), "")+"?filter=many+tool_99"), chromedp.WaitVisible(chromedp.CSS("h1")))
	if got := number(t, ctx, `document.querySelectorAll("[data-row]").length`); got != 10 {
		t.Errorf("got %v rows, want 10", got)
	}
}

func number(t *testing.T, ctx context.Context, expression string) float64 {
	t.Helper()
	n, err := chromedp.Run(ctx, chromedp.Evaluate[float64](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func location(t *testing.T, ctx context.Context) string {
	t.Helper()
	at, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.location.href`))
	if err != nil {
		t.Fatal(err)
	}
	return at
}
