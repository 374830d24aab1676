package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pictures is the directory for screenshots; none are made if it is empty.
var pictures = os.Getenv("PICTURES")

// open starts a browser.
func open(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)
	if path := os.Getenv("CHROMIUM"); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	do(t, ctx) // starts the browser, which lives as long as this context
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// do runs steps in the browser.
func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// enter opens the console by a link.
func enter(t *testing.T, ctx context.Context, h *host) {
	t.Helper()
	do(t, ctx, chromedp.Navigate(h.run(t, "open", "--print")), chromedp.WaitVisible(chromedp.CSS("nav a[aria-current]")))
}

// look is a screen on which pages are looked at.
type look struct {
	name, scheme  string
	width, height int64
}

var looks = []look{{"light", "light", 1200, 800}, {"dark", "dark", 1200, 800}, {"phone", "light", 390, 844}}

// apply makes the browser show pages on the screen.
func (l look) apply() chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.EmulateViewport(l.width, l.height), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
		})
		return err
	}))
}

// picture makes screenshots of a page: light, dark, and of a phone.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if pictures == "" {
		return
	}
	for _, look := range looks {
		do(t, ctx, look.apply(), chromedp.Sleep(300*time.Millisecond))
		shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(pictures, fmt.Sprintf("%s-%s.png", name, look.name)), shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	do(t, ctx, looks[0].apply())
}

// config has servers in several states. Each test has a host of its own.
const config = `{"mcpServers": {
	"airline": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "airline"}, "fondaco": {"confirm": {"book": "always"}}},
	"weather": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "broken"}},
	"library": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "many"}},
	"hostile": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "hostile"}},
	"tickets": {"url": "http://127.0.0.1:9/mcp"}
}}`

// axe has the rules of accessibility, which npm installs.
func axe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v; run npm ci in proof/browser", err)
	}
	return string(script)
}

// faults are what rules of accessibility find in a page, without what is minor.
type faults []struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML string }
}

const runAxe = `axe.run(document, {resultTypes: ["violations"]}).then((found) => found.passes.length < 5 ? [{ID: "no rules were checked"}] : found.violations
	.filter((v) => v.impact !== "minor").map((v) => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 3).map((n) => ({HTML: n.html.slice(0, 300)}))})))`

// Each page is looked at on three screens: its rules of accessibility, what it writes to the console of the
// browser, such as what the content security policy has refused, and whether it is wider than the screen.
func TestEachPageIsAccessible(t *testing.T) {
	script := axe(t)
	recordings := filepath.Join(t.TempDir(), "recordings")
	h := up(t, config, "--yes", "--record", recordings)
	h.run(t, "call", "airline/status")
	h.run(t, "call", "airline/status")
	h.run(t, "call", "airline/book", "from=TRN", "to=TRN")
	h.run(t, "call", "hostile/show")
	ctx := open(t)
	var said []string
	var mu sync.Mutex
	if err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch event := event.(type) {
		case *log.EventEntryAdded:
			said = append(said, event.Entry.Text)
		case *runtime.EventExceptionThrown:
			said = append(said, event.ExceptionDetails.Text)
		}
	}); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.Navigate(h.url))
	check(t, ctx, script, "front")
	enter(t, ctx, h)
	path, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.dataset.path`))
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{
		"servers": "", "server": "servers/weather", "server-hostile": "servers/hostile", "inbox": "inbox", "traffic": "traffic", "try": "try", "tool": "try/tool?name=airline__book",
		"tool-hostile": "try/tool?name=hostile__show", "json": "try/tool?name=airline__book&raw=1", "gone": "servers/gone", "audit": "audit", "config": "config",
		"recordings": "recordings", "traffic-all": "traffic?all=1", "log": "servers/airline?level=stderr",
	} {
		do(t, ctx, chromedp.Navigate(h.url+path+page), chromedp.WaitVisible(chromedp.CSS("h1")))
		check(t, ctx, script, name)
	}
	for name, row := range map[string]string{"recording": "airline", "recording-hostile": "hostile"} {
		do(t, ctx, chromedp.Navigate(h.url+path+"recordings"), chromedp.WaitVisible(chromedp.CSS("h1")))
		open := `[...document.querySelectorAll("#sessions tr")].find((row) => row.textContent.includes("` + row + `")).querySelector("a").href`
		page, err := chromedp.Run(ctx, chromedp.Evaluate[string](open))
		if err != nil {
			t.Fatal(err)
		}
		do(t, ctx, chromedp.Navigate(page), chromedp.WaitVisible(chromedp.CSS("#share")))
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](`document.querySelectorAll("details").forEach((d) => d.open = true);null`)); err != nil {
			t.Fatal(err)
		}
		check(t, ctx, script, name)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, text := range said {
		if !strings.Contains(text, "409") { // the page of what is gone
			t.Errorf("the browser says: %s", text)
		}
	}
}

// check looks at one page.
func check(t *testing.T, ctx context.Context, script, name string) {
	t.Helper()
	for _, look := range looks {
		do(t, ctx, look.apply(), chromedp.Sleep(200*time.Millisecond))
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](script+";null")); err != nil {
			t.Fatal(err)
		}
		found, err := chromedp.Run(ctx, chromedp.Evaluate[faults](runAxe, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			t.Errorf("%s, %s: %s (%s): %s %+v", name, look.name, f.ID, f.Impact, f.Help, f.Nodes)
		}
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - innerWidth`))
		if err != nil || wide > 0 {
			t.Errorf("%s, %s: %d pixels wider than the screen, %v", name, look.name, wide, err)
		}
		scripts, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.scripts.length`))
		if err != nil || scripts > 1 {
			t.Errorf("%s: got %d scripts, %v, want that of the console", name, scripts, err)
		}
	}
	picture(t, ctx, name)
}

// A person without a mouse finds the server that is not ready, allows a call, and calls a tool.
func TestEverythingIsDoneWithTheKeyboard(t *testing.T) {
	h := up(t, config, "--yes")
	ctx := open(t)
	enter(t, ctx, h)
	// The first key leads to the link that skips the navigation.
	tab(t, ctx, `document.activeElement.className === "skip"`)
	press(t, ctx, kb.Enter)
	tab(t, ctx, `document.activeElement.matches("[data-filter]")`)
	do(t, ctx, chromedp.KeyEvent("weather"))
	await(t, ctx, `document.querySelector("[data-count]").textContent === "1 of 5"`)
	tab(t, ctx, `document.activeElement.id === "server-weather"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.querySelector("h1").textContent.startsWith("weather") && document.body.textContent.includes("WEATHER_KEY is not set")`)

	// A question arrives while the page is open, and the navigation says so.
	called := make(chan string, 1)
	go func() { called <- h.run(t, "call", "airline/book", "from=TRN", "to=OSL") }()
	await(t, ctx, `document.querySelector(".count")?.textContent.startsWith("1")`)
	tab(t, ctx, `document.activeElement.textContent.startsWith("Inbox")`)
	press(t, ctx, kb.Enter)
	tab(t, ctx, `document.activeElement.id.startsWith("allow-")`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.querySelector("[role=status]").textContent === "Your answer was given." && document.body.textContent.includes("Nothing waits for you.")`)
	if got := <-called; !strings.Contains(got, "booked TRN to OSL") {
		t.Errorf("got %q, want the call made", got)
	}

	tab(t, ctx, `document.activeElement.textContent === "Try it"`)
	press(t, ctx, kb.Enter)
	tab(t, ctx, `document.activeElement.matches("[data-filter]")`)
	do(t, ctx, chromedp.KeyEvent("status flight"))
	tab(t, ctx, `document.activeElement.textContent === "airline/status"`)
	press(t, ctx, kb.Enter)
	tab(t, ctx, `document.activeElement.id === "call"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.querySelector("#result-head")?.parentElement.textContent.includes("on time")`)
	picture(t, ctx, "result")

	tab(t, ctx, `document.activeElement.textContent === "Traffic"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.querySelector(".traffic").textContent.includes("airline/status")`)
	tab(t, ctx, `document.activeElement.textContent === "Leave"`)
	press(t, ctx, kb.Enter)
	await(t, ctx, `document.querySelector("h1").textContent === "You have left the console"`)
}

// tab presses the key until a condition holds.
func tab(t *testing.T, ctx context.Context, condition string) {
	t.Helper()
	await(t, ctx, `document.readyState === "complete"`)
	for range 80 {
		press(t, ctx, kb.Tab)
		if holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool](condition)); err != nil {
			t.Fatal(err)
		} else if holds {
			outline, err := chromedp.Run(ctx, chromedp.Evaluate[string](`getComputedStyle(document.activeElement).outlineStyle`))
			if err != nil || outline != "solid" {
				t.Errorf("%s: got the outline %q, %v, want the focus seen", condition, outline, err)
			}
			return
		}
	}
	t.Fatalf("the focus does not reach %s", condition)
}

func press(t *testing.T, ctx context.Context, key string) {
	t.Helper()
	do(t, ctx, chromedp.KeyEvent(key))
}

// await waits until a condition holds in a page.
func await(t *testing.T, ctx context.Context, condition string) {
	t.Helper()
	for range 300 {
		if holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!!(`+condition+`)`)); err == nil && holds {
			return
		}
		do(t, ctx, chromedp.Sleep(50*time.Millisecond))
	}
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	t.Fatalf("not in the page: %s\n%s", condition, text)
}
