package browser_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const rootsConfig = `{"mcpServers": {"museum": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "museum"}}}}`

// A person without a mouse gives a server a root, with the code that the desktop shows, and takes it away. The server
// gets the roots that the page shows.
func TestRootsOfAServerAreChangedWithTheKeyboard(t *testing.T) {
	script := axe(t)
	home, root := t.TempDir(), t.TempDir()
	notified := filepath.Join(home, "notified")
	if err := os.WriteFile(filepath.Join(home, "notify-send"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >>"+notified+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	desktop := []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere", "PATH=" + home + ":" + os.Getenv("PATH")}
	h := upAt(t, home, desktop, rootsConfig, "--yes")
	ctx := open(t)
	enter(t, ctx, h)
	goTo(t, ctx, `document.activeElement.id === "server-museum"`)
	await(t, ctx, `document.querySelector("#live-roots")?.textContent.includes("None.")`)
	if got := h.run(t, "call", "museum/where"); !strings.Contains(got, "fondaco roots add museum DIRECTORY") {
		t.Errorf("got %q, want no roots", got)
	}

	tab(t, ctx, `document.activeElement.id === "newroot"`)
	do(t, ctx, chromedp.KeyEvent(root))
	goTo(t, ctx, `document.activeElement.id === "rootcode"`)
	await(t, ctx, `document.querySelector("main [role=status]")?.textContent.includes("The host shows a code") && document.querySelector("#newroot").value === "`+root+`"`)
	check(t, ctx, script, "root-code")
	tab(t, ctx, `document.activeElement.id === "code"`)
	do(t, ctx, chromedp.KeyEvent(codeOf(t, notified)))
	goTo(t, ctx, `document.activeElement.id === "addroot"`)
	await(t, ctx, `[...document.querySelectorAll(".roots code")].map((dir) => dir.textContent).join() === "`+root+`"`)
	check(t, ctx, script, "roots")
	if got := h.run(t, "call", "museum/where"); got != "roots: file://"+root {
		t.Errorf("got %q, want the root that the page shows", got)
	}

	goTo(t, ctx, `document.activeElement.id.startsWith("remove-")`)
	await(t, ctx, `document.querySelector("main [role=status]")?.textContent.includes("The configuration is changed.") && document.querySelector("#live-roots").textContent.includes("None.")`)
	if got := h.run(t, "call", "museum/where"); !strings.Contains(got, "fondaco roots add museum DIRECTORY") {
		t.Errorf("got %q, want no roots", got)
	}
}

// codeOf returns the code that the desktop has shown last.
func codeOf(t *testing.T, notified string) string {
	t.Helper()
	shown := regexp.MustCompile(`its code is (\d{6})`)
	for range 100 {
		text, _ := os.ReadFile(notified)
		if found := shown.FindAllStringSubmatch(string(text), -1); found != nil {
			return found[len(found)-1][1]
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, err := os.ReadFile(notified)
	t.Fatalf("the desktop shows no code: %s, %v", strings.TrimSpace(string(text)), err)
	return ""
}
