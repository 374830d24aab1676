//go:build !race

package cli_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
)

// userHome is a home with a configuration of the user's own.
func userHome(t *testing.T, configuration string) (home string) {
	t.Helper()
	home = t.TempDir()
	path := filepath.Join(home, ".config", "fondaco", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// userKey is the variable with the key of the user, for homes without a keyring.
const userKey = "FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// No command starts a program or sends anything to a server that the user has not approved, and the question says
// what the server gets.
func TestNothingOfAServerRunsOrReceivesAnythingBeforeAYes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-359a")
	var requests atomic.Int64
	keys := make(chan string, 100)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		keys <- r.Header.Get("X-Key")
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(web.Close)
	marker := filepath.Join(t.TempDir(), "marker")
	home := userHome(t, fmt.Sprintf(`{"mcpServers": {
		"far": {"url": %q, "headers": {"X-Key": "${env:FAR_KEY}"}, "fondaco": {"roots": ["/srv/data"]}},
		"near": {"command": "sh", "args": ["-c", "touch %s; exec \"$0\"", %q], "env": {%q: "server", "API_KEY": "s3cret"}}
	}}`, web.URL+"/mcp", marker, program(t), role))
	env := []string{userKey, "FAR_KEY=k3y", "COLUMNS=400"}
	for _, args := range [][]string{
		{"tools"},
		{"call", "near/add", "a=1"},
		{"call", "far/add"},
		{"read", "note://a"},
		{"complete", "near/greet", "name", "a"},
		{"doctor"},
		{"doctor", "near", "--tool", "add"},
		{"auth", "login", "far", "--no-browser"},
		{"auth", "logout", "far"},
		{"roots", "add", "near", "/srv"},
		{"set", "far", "--header", "X-More: 1"},
	} {
		p := inTerminalAt(t, home, env, args...)
		if _, err := p.keys.WriteString("n\nn\nn\n"); err != nil { // to each question
			t.Fatal(err)
		}
		screen, _ := p.end(t)
		if _, err := os.Stat(marker); err == nil || requests.Load() > 0 {
			t.Fatalf("%q: got a program started or %d requests sent, want neither before a yes\n%s", args, requests.Load(), screen)
		}
	}

	// The question says what each gets, and only a yes gives it.
	p := inTerminalAt(t, home, env, "approve", "far")
	p.press(t, `(?s)The server "far" is a remote server .*`+web.URL+`/mcp.*header     X-Key, from \$\{env:FAR_KEY\}.*`+
		`sends      variable FAR_KEY, in the header X-Key.*roots      /srv/data\r\n.*tools      not known before its first start.*`+
		`Until you say yes nothing is sent to it\. .*Approve far\? \[y/N`, "y\n")
	if screen, code := p.end(t); code != 0 {
		t.Fatalf("got %q, %d, want it approved", screen, code)
	}
	p = inTerminalAt(t, home, env, "approve", "near")
	p.press(t, `(?s)The server "near" is a program .*touch .*with       API_KEY\r\n.*roots      those of its client, /srv\r\n.*Until you say yes nothing of it runs\. .*Approve near\? \[y/N`, "y\n")
	if screen, code := p.end(t); code != 0 || strings.Contains(screen, "s3cret") {
		t.Fatalf("got %q, %d, want it approved and no value shown", screen, code)
	}
	if _, err := os.Stat(marker); err == nil || requests.Load() > 0 {
		t.Error("got a program started, or a request sent, by the yes alone")
	}
	p = inTerminalAt(t, home, env, "call", "near/add", "a=1", "b=2")
	if screen, code := p.end(t); code != 0 || !strings.HasSuffix(screen, "3\r\n") {
		t.Errorf("got %q, %d, want the tool to run after the yes", screen, code)
	}
	_, _ = inTerminalAt(t, home, env, "tools", "--timeout", "20s").end(t)
	if requests.Load() == 0 || <-keys != "k3y" {
		t.Error("want the remote server to get the header after the yes")
	}

	// Once its tools are known, the question says what it may do.
	_, _ = inTerminalAt(t, home, env, "set", "near", "--env", "API_KEY=other").end(t)
	p = inTerminalAt(t, home, env, "approve", "near")
	p.press(t, `(?s)tools      7; not read-only, as it says itself: book, describe, fail, hold, media, slow.*changed    the variable API_KEY has another value.*Approve near\? \[y/N`, "n\n")
	if screen, code := p.end(t); code != 6 {
		t.Errorf("got %q, %d, want it not approved", screen, code)
	}
}

// What a server returns is in the terminal of the user who has asked for it, and nowhere else: not at another server,
// and in no file of the host.
func TestResultsOfAServerAreSentAndKeptNowhereElse(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-359b")
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	home := userHome(t, fmt.Sprintf(`{"mcpServers": {
		"one": {"command": %[1]q, "env": {%[2]q: "server"}},
		"two": {"command": "sh", "args": ["-c", "tee %[3]s | \"$0\"", %[1]q], "env": {%[2]q: "server"}}
	}}`, program(t), role, log))
	h := &consentHost{inTerminalAt(t, home, []string{userKey}, "up", "--yes", "--addr", "127.0.0.1:0"), home}
	h.screen.await(t, `(?s)Ctrl-C stops it`)
	reader := inTerminalAt(t, home, h.Env, "read", "note://a")
	if screen, code := reader.end(t); code != 0 || screen != "a note\r\n" {
		t.Fatalf("got %q, %d, want the text of the resource", screen, code)
	}
	if text, code := h.run(t, "call", "two/describe", "a=1"); code != 0 {
		t.Fatalf("got %q, %d, want a call of the other server", text, code)
	}
	awaitCondition(t, func() (bool, string) { // tee writes the file last
		got, err := os.ReadFile(log)
		return err == nil && bytes.Contains(got, []byte(`"tools/call"`)), string(got)
	})
	if got, err := os.ReadFile(log); err != nil || bytes.Contains(got, []byte("a note")) {
		t.Errorf("got %s, %v, want the call alone at the other server", got, err)
	}
	h.press(t, `Ctrl-C stops it`, ctrlC)
	if screen, code := h.end(t); code != 0 || strings.Contains(screen, "a note") {
		t.Errorf("got %q, %d, want no result on the terminal of the host", screen, code)
	}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("a note")) {
			t.Errorf("%s: got the text of the resource in a file of the host", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTerminalNamesTheCommandForAServerThatRefusesItsKey(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-10")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(web.Close)
	home := userHome(t, fmt.Sprintf(`{"mcpServers": {"locked": {"url": %q, "headers": {"Authorization": "Bearer old"}}}}`, web.URL))
	desktop := t.TempDir()
	shown := filepath.Join(desktop, "shown")
	if err := os.WriteFile(filepath.Join(desktop, "notify-send"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >>"+shown+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{userKey, "PATH=" + desktop + ":" + os.Getenv("PATH"), "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere"}
	h := &consentHost{inTerminalAt(t, home, env, "up", "--yes", "--addr", "127.0.0.1:0"), home}
	h.screen.await(t, `upstream   locked    sign in    \S+ set locked --header 'Authorization: Bearer KEY'`)
	if text, code := h.run(t, "inbox"); code != 0 || !strings.Contains(text, "locked wants another key: ") {
		t.Errorf("got %q, %d, want it in the inbox", text, code)
	}
	within(t, "the desktop names the command", func() bool {
		text, err := os.ReadFile(shown)
		return err == nil && strings.Contains(string(text), "set locked --header")
	})
	h.press(t, `Ctrl-C stops it`, ctrlC)
	if screen, code := h.end(t); code != 0 {
		t.Errorf("got %q, %d, want it ended", screen, code)
	}
}

// A grant can be revoked, and both are recorded; a client without a token is refused; and neither the arguments of a call
// nor the token of its client are in a file of the host.
func TestConsentAccessAndDataOfTheUserAreProtected(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-360")
	home := userHome(t, fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "server"}, "fondaco": {"confirm": {"add": "always"}}}}}`, program(t), role))
	tokens := tokenFile(t)
	h := &consentHost{inTerminalAt(t, home, []string{userKey}, "up", "--yes", "--addr", "127.0.0.1:0", "--auth-tokens", tokens), home}
	url := "http://" + h.screen.await(t, `LISTEN (\S+)`)[1] + "/mcp"
	h.screen.await(t, `Ctrl-C stops it`)

	// Access: a client without a token of the host gets nothing.
	for token, refused := range map[string]bool{"": true, "Bearer wrong": true, "Bearer " + canaryA: false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if (answer.StatusCode == http.StatusUnauthorized) != refused {
			t.Errorf("%q: got %s, want it refused: %t", token, answer.Status, refused)
		}
	}

	// Consent: a yes holds as long as the user says, until the user takes it back.
	call := func() (ended func() (string, int)) {
		done := make(chan struct{})
		var text string
		var code int
		go func() {
			defer close(done)
			text, code = h.run(t, "call", "one/add", "a=987654321")
		}()
		return func() (string, int) {
			<-done
			return text, code
		}
	}
	ended := call()
	h.press(t, `Allow call 1 of one/add\?.*N no\] `, "a\n")
	if text, code := ended(); code != 0 || !strings.Contains(text, "987654321") {
		t.Fatalf("got %q, %d, want the call made", text, code)
	}
	if text, code := call()(); code != 0 {
		t.Errorf("got %q, %d, want the identical call made without a question", text, code)
	}
	if text, code := h.run(t, "grants", "revoke", "1"); code != 0 {
		t.Errorf("got %q, %d, want the grant revoked", text, code)
	}
	ended = call()
	h.press(t, `Allow call 2 of one/add\?.*N no\] `, "n\n")
	if text, code := ended(); code != 6 {
		t.Errorf("got %q, %d, want the user asked again, and the no obeyed", text, code)
	}
	for _, action := range []string{"consent", "revoke"} {
		if text, code := h.run(t, "audit", "search", "--decision", action); code != 0 || !strings.Contains(text, "one/add") {
			t.Errorf("%s: got %q, %d, want it recorded", action, text, code)
		}
	}
	h.press(t, `Ctrl-C stops it`, ctrlC)
	if screen, code := h.end(t); code != 0 {
		t.Errorf("got %q, %d, want it ended", screen, code)
	}
	if text, code := h.run(t, "audit", "verify"); code != 0 {
		t.Errorf("got %q, %d, want the log intact", text, code)
	}

	// Data.
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, private := range []string{"987654321", canaryA} {
			if bytes.Contains(content, []byte(private)) {
				t.Errorf("%s: got %s in a file of the host", path, private)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A host that is killed cannot remove the images of its questions. The next one does, once nobody can answer them.
func TestImagesOfTheQuestionsOfAKilledHostAreRemoved(t *testing.T) {
	t.Parallel()
	home := userHome(t, fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "server", "ASK_MORE": "1"}, "fondaco": {"sampling": "ask"}}},
		"fondaco": {"consent": {"wait": "10s"}}}`, program(t), role))
	start := func() *consentHost {
		h := &consentHost{inTerminalAt(t, home, []string{userKey}, "up", "--yes", "--addr", "127.0.0.1:0"), home}
		h.screen.await(t, `Ctrl-C stops it`)
		return h
	}
	files := func() int {
		all, err := os.ReadDir(filepath.Join(home, ".local", "state", "fondaco", "state", "questionfiles"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	h := start()
	ended := h.weakCall(t, "one__caption")
	h.screen.await(t, `Answer question 1 of the server "one"\?`)
	asked := time.Now()
	if files() != 1 {
		t.Fatalf("got %d files, want the image", files())
	}
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended()
	if h.end(t); files() != 1 {
		t.Fatalf("got %d files, want the image left behind", files())
	}
	time.Sleep(time.Until(asked.Add(11 * time.Second))) // after its wait nobody can answer the question
	start()
	within(t, "the next host removes the image", func() bool { return files() == 0 })
}
