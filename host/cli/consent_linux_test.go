//go:build !race

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

// consentHost is a host in a terminal, with a tool that needs consent for each call.
type consentHost struct {
	*ptyProgram
	home string
}

func newConsentHost(t *testing.T, env ...string) *consentHost {
	t.Helper()
	return newHostOfOne(t, `"env": {"`+role+`": "server"}, "fondaco": {"confirm": {"describe": "always"}}`, env...)
}

// newHostOfOne is a host in a terminal with the server "one", which has the given members beside its command.
func newHostOfOne(t *testing.T, members string, env ...string) *consentHost {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, ".config", "fondaco", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	content := fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, %s}}}`, program(t), members)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append(env, "FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	p := inTerminalAt(t, home, env, "up", "--yes", "--addr", "127.0.0.1:0")
	p.screen.await(t, `LISTEN `)
	p.screen.await(t, `Ctrl-C stops it`)
	return &consentHost{p, p.home}
}

// command returns a command of another program of the same user.
func (h *consentHost) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(t), args...)
	c.Env = h.Env
	return c
}

// run runs a command and returns what it prints and its exit code.
func (h *consentHost) run(t *testing.T, args ...string) (printed string, code int) {
	t.Helper()
	c := h.command(t, args...)
	text, _ := c.CombinedOutput()
	return string(text), c.ProcessState.ExitCode()
}

// call starts a call of the tool and returns how it ends.
func (h *consentHost) call(t *testing.T, args ...string) (ended func() (string, int)) {
	t.Helper()
	return h.callOf(t, "one", args...)
}

// callOf starts a call of the tool describe of a server.
func (h *consentHost) callOf(t *testing.T, server string, args ...string) (ended func() (string, int)) {
	t.Helper()
	var words output
	c := h.command(t, append([]string{"call", server + "/describe"}, args...)...)
	c.Stdout, c.Stderr = &words, &words
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return func() (string, int) {
		_ = c.Wait()
		return words.String(), c.ProcessState.ExitCode()
	}
}

func TestConsentIsGivenOnTheTerminalOfTheHost(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-219b")
	h := newConsentHost(t)
	ended := h.call(t, "a=1")
	h.press(t, `(?s)1 Allow a call of one/describe\?.*arguments  \{"a":1\}.*client     fondaco-cli.*answer 1 yes --code \d{6}.*Allow call 1 of one/describe\?.*N no\] `, "y\n")
	if text, code := ended(); code != 0 || !strings.Contains(text, `"a":1`) {
		t.Errorf("got %q, %d, want the call made", text, code)
	}
	// Each call asks again, and Enter is no.
	ended = h.call(t, "a=1")
	h.press(t, `Allow call 2 of one/describe\?.*N no\] `, "what\n")
	h.press(t, `found "what", want one of: y once, .*a always, n no`, "\n")
	if text, code := ended(); code != 6 || !strings.Contains(text, "the user said no") {
		t.Errorf("got %q, %d, want the refusal of the user", text, code)
	}
	ended = h.call(t, "a=2")
	h.press(t, `Allow call 3 of one/describe\?.*N no\] `, "a\n")
	if text, code := ended(); code != 0 {
		t.Errorf("got %q, %d, want the call made", text, code)
	}
	if text, code := h.run(t, "call", "one/describe", "a=2"); code != 0 {
		t.Errorf("got %q, %d, want the identical call made without a question", text, code)
	}
	if text, code := h.run(t, "grants"); code != 0 || !strings.Contains(text, "3\tone/describe with identical arguments\talways") {
		t.Errorf("got %q, %d, want the grant", text, code)
	}
}

// A yes for a question that nobody has seen is none.
func TestWhatIsTypedBeforeAQuestionDoesNotAnswerIt(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	if _, err := h.keys.WriteString("y\nalways\ny"); err != nil {
		t.Fatal(err)
	}
	ended := h.call(t, "a=1")
	h.press(t, `Allow call 1 of one/describe\?.*N no\] `, "n\n")
	if text, code := ended(); code != 6 || !strings.Contains(text, "the user said no") {
		t.Errorf("got %q, %d, want the refusal of the user", text, code)
	}
}

func TestCommandAnswersOnlyWithTheCodeThatTheHostShows(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	ended := h.call(t, "a=1")
	code := h.screen.await(t, `answer 1 yes --code (\d{6})`)[1]
	wrong := "000000"
	if code == wrong {
		wrong = "000001"
	}
	for _, attempt := range [][]string{
		{"answer", "1", "yes"}, {"answer", "1", "yes", "--code", wrong}, {"answer", "1", "yes", "--for", "always", "--code", ""},
	} {
		if text, exit := h.run(t, attempt...); exit != 6 || strings.Count(text, "the code that the host shows")+strings.Count(text, "--code and that code") != 1 {
			t.Errorf("%q: got %q, %d, want the code missed", attempt, text, exit)
		}
	}
	h.screen.await(t, `(?s)A command gave a wrong code.*it wants to answer question 1`)
	// A program that hides the host from the command finds the question nevertheless, and no host.
	hidden := h.command(t, "answer", "1", "yes")
	hidden.Env = append(hidden.Env, "XDG_RUNTIME_DIR="+t.TempDir())
	if text, err := hidden.CombinedOutput(); err == nil {
		t.Errorf("got %q, want the code missed", text)
	}
	if text, exit := h.run(t, "answer", "1", "yes", "--code", code); exit != 0 {
		t.Errorf("got %q, %d, want the answer taken", text, exit)
	}
	if text, exit := ended(); exit != 0 {
		t.Errorf("got %q, %d, want the call made", text, exit)
	}
	h.screen.await(t, `call 1: answered elsewhere`)
	// What was typed for that question does not answer the next one.
	ended = h.call(t, "a=2")
	h.press(t, `Type a2 and then one of`, "2 n\n")
	h.press(t, `found "2 n", want a2 first`, "a2 n\n")
	if text, exit := ended(); exit != 6 {
		t.Errorf("got %q, %d, want the refusal", text, exit)
	}
	record, err := os.ReadFile(filepath.Join(h.home, ".local", "state", "fondaco", "audit.jsonl"))
	if err != nil || !regexp.MustCompile(`"action":"consent".*"name":"describe".*"outcome":"done","grant":"1","grantedBy":".+","grantedHow":"command"`).Match(record) ||
		!regexp.MustCompile(`"action":"consent".*"outcome":"refused","grant":"2".*"grantedHow":"terminal"`).Match(record) {
		t.Errorf("got %s, %v, want who has answered, and how", record, err)
	}
}

func TestAnotherTerminalAnswersNothingWhileAHostAsks(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	url := "http://" + h.screen.await(t, `LISTEN (\S+)`)[1] + "/mcp"
	other := inTerminalAt(t, h.home, h.Env, "up", "--addr", "127.0.0.1:0")
	other.press(t, `questions are shown by the host with process ID \d+, .* answer takes the code`, "1 y\n")
	ended := h.call(t, "a=1", "--url", url)
	h.screen.await(t, `Allow call 1 of one/describe\?.*N no\] `)
	other.press(t, `LISTEN`, "1 y\ny\n")
	h.press(t, `Allow call 1 of one/describe\?.*N no\] `, "n\n")
	if text, code := ended(); code != 6 || !strings.Contains(text, "the user said no") {
		t.Errorf("got %q, %d, want the refusal of the user", text, code)
	}
	if screen := other.screen.String(); strings.Contains(screen, "Allow") || strings.Contains(screen, "--code") {
		t.Errorf("got %q, want no question and no code", screen)
	}
	// When the host has ended, the other one asks.
	h.press(t, `LISTEN`, "\x03")
	url = "http://" + other.screen.await(t, `LISTEN (\S+)`)[1] + "/mcp"
	var text string
	var code int
	done := make(chan struct{})
	go func() {
		defer close(done)
		for text, code = h.run(t, "call", "one/describe", "a=2", "--url", url); strings.Contains(text, "a person has to allow"); {
			text, code = h.run(t, "call", "one/describe", "a=2", "--url", url)
		}
	}()
	other.press(t, `Allow call \d+ of one/describe\?.*N no\] `, "y\n")
	if <-done; code != 0 {
		t.Errorf("got %q, %d, want the call made", text, code)
	}
}

func TestAnotherTerminalApprovesNothingWithoutTheCodeOfTheHost(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	path := filepath.Join(h.home, "other.json")
	content := fmt.Sprintf(`{"mcpServers": {"two": {"command": %q, "env": {%q: "server"}}}}`, program(t), role)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	other := inTerminalAt(t, h.home, h.Env, "tools", "--config", path)
	other.press(t, `(?s)type the code that the host with process ID \d+ shows.*Start it now and in future\? \[the code for yes, N no\] `, "y\n")
	other.press(t, `found "y", want the code or n; the code has six digits`, "000000\n")
	other.press(t, `the code is wrong`, "n\n")
	if screen, code := other.end(t); code == 0 || !strings.Contains(screen, "needs approval") {
		t.Errorf("got %q, %d, want the server not approved", screen, code)
	}
	other = inTerminalAt(t, h.home, h.Env, "tools", "--config", path)
	code := h.screen.await(t, `its code is (\d{6}): type it there\s+it wants to approve two `)[1]
	other.press(t, `Start it now and in future\?`, code+"\n")
	other.press(t, `Approve what two lists\? \[the code for yes, N no, s shows the texts\]`, "n\n")
	other.end(t)
}

func TestYesOfAHostHasNoEffectOnceAnotherHostAsks(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	h.press(t, `LISTEN`, "\x03")
	h.end(t)
	path := filepath.Join(h.home, "other.json")
	write := func(names ...string) {
		var servers []string
		for _, name := range names {
			servers = append(servers, fmt.Sprintf(`%q: {"command": %q, "env": {%q: "server"}}`, name, program(t), role))
		}
		if err := os.WriteFile(path, []byte(`{"mcpServers": {`+strings.Join(servers, ",")+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("two")
	var printed output
	unattended := h.command(t, "up", "--yes", "--addr", "127.0.0.1:0", "--config", path)
	unattended.Stderr = &printed
	if err := unattended.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = unattended.Process.Kill()
		_ = unattended.Wait()
	}()
	printed.await(t, `upstream +two +ready`)
	again := inTerminalAt(t, h.home, h.Env, "up", "--addr", "127.0.0.1:0")
	again.screen.await(t, `Ctrl-C stops it`)
	write("two", "three")
	if state := printed.await(t, `upstream +three +(.*)`)[1]; !strings.Contains(state, "approv") {
		t.Errorf("got %q, want the server not approved", state)
	}
}

func TestQuestionsAreShownAfterTheInputHasEnded(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	ended := h.call(t, "a=1")
	code := h.screen.await(t, `answer 1 yes --code (\d{6})`)[1]
	h.press(t, `Allow call 1 of one/describe\?.*N no\] `, ctrlD)
	h.screen.await(t, `the input has ended`)
	if text, exit := h.run(t, "answer", "1", "yes"); exit != 6 {
		t.Errorf("got %q, %d, want the code missed", text, exit)
	}
	if text, exit := h.run(t, "answer", "1", "yes", "--code", code); exit != 0 {
		t.Errorf("got %q, %d, want the answer taken", text, exit)
	}
	if text, exit := ended(); exit != 0 {
		t.Errorf("got %q, %d, want the call made", text, exit)
	}
	ended = h.call(t, "a=2")
	code = h.screen.await(t, `answer 2 yes --code (\d{6})`)[1]
	if text, exit := h.run(t, "answer", "2", "no", "--code", code); exit != 0 {
		t.Errorf("got %q, %d, want the answer taken", text, exit)
	}
	if text, exit := ended(); exit != 6 || !strings.Contains(text, "the user said no") {
		t.Errorf("got %q, %d, want the refusal", text, exit)
	}
}

func TestApprovalByCommandNeedsTheCodeWhileAHostHasATerminal(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(fmt.Sprintf(`{"mcpServers": {"two": {"command": %q, "args": ["-x"], "env": {%q: "server"}}}}`, program(t), role)), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, exit := h.run(t, "approve", "two", "--yes", "--config", path); exit != 6 || !strings.Contains(text, "run the command again with --code") {
		t.Errorf("got %q, %d, want the code missed", text, exit)
	}
	code := h.screen.await(t, `its code is (\d{6}): type it there\s+it wants to approve two `)[1]
	if text, exit := h.run(t, "call", "two/add", "a=1", "--config", path); exit == 0 {
		t.Errorf("got %q, want it not approved", text)
	}
	if text, exit := h.run(t, "approve", "two", "--yes", "--config", path, "--code", code); exit != 0 {
		t.Errorf("got %q, %d, want it approved", text, exit)
	}
}

func TestHostWhoseEntryIsRemovedIsFoundAgain(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	ended := h.call(t, "a=1")
	h.screen.await(t, `answer 1 yes --code (\d{6})`)
	entries := filepath.Join(h.home, ".local", "state", "fondaco", "state", "watchers")
	// At once: the host may write its entry meanwhile.
	if err := os.Rename(entries, filepath.Join(t.TempDir(), "removed")); err != nil {
		t.Fatal(err)
	}
	if text, exit := h.run(t, "answer", "1", "yes"); exit != 6 {
		t.Errorf("got %q, %d, want the question answered with its code only", text, exit)
	}
	h.screen.await(t, `another program has removed the entry by which commands find this host`)
	within(t, "the host has an entry again", func() bool {
		found, err := filepath.Glob(filepath.Join(entries, "[^.]*")) // a file with "." in front is being written
		return err == nil && len(found) > 0
	})
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(fmt.Sprintf(`{"mcpServers": {"two": {"command": %q, "env": {%q: "server"}}}}`, program(t), role)), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, exit := h.run(t, "approve", "two", "--yes", "--config", path); exit != 6 {
		t.Errorf("got %q, %d, want the code missed", text, exit)
	}
	h.press(t, `Allow call 1 of one/describe\?.*N no\] `, "n\n")
	if text, exit := ended(); exit != 6 {
		t.Errorf("got %q, %d, want the refusal", text, exit)
	}
}

func TestRevocationIsUndoneWithTheCodeThatTheHostShows(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	h := newConsentHost(t)
	if text, exit := h.run(t, "revoke", "laptop"); exit != 0 || !strings.Contains(text, "can connect again") {
		t.Errorf("got %q, %d, want it revoked, and what that does not prevent", text, exit)
	}
	undo := []string{"revoke", "--undo", "laptop"}
	if text, exit := h.run(t, undo...); exit != 6 || !strings.Contains(text, "run the command again with --code") {
		t.Errorf("got %q, %d, want the code missed", text, exit)
	}
	code := h.screen.await(t, `its code is (\d{6}): type it there\s+it wants to accept "laptop" again, `)[1]
	if text, exit := h.run(t, append(undo, "--code", "no code")...); exit != 6 {
		t.Errorf("got %q, %d, want a wrong code refused", text, exit)
	}
	if text, _ := h.run(t, "revoke"); !strings.Contains(text, "laptop") {
		t.Errorf("got %q, want it still revoked", text)
	}
	if text, exit := h.run(t, append(undo, "--code", code)...); exit != 0 || !strings.Contains(text, "accepted again") {
		t.Errorf("got %q, %d, want it accepted again", text, exit)
	}
	record, err := os.ReadFile(filepath.Join(h.home, ".local", "state", "fondaco", "audit.jsonl"))
	if err != nil || !regexp.MustCompile(`"action":"revoke","name":"laptop".*"grantedHow":"command","reason":"undone by `).Match(record) {
		t.Errorf("got %s, %v, want who has undone it, and how", record, err)
	}
}

func TestQuestionIsShownAsANotification(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shown := filepath.Join(dir, "shown")
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >>"+shown+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := newConsentHost(t, "PATH="+dir+":"+os.Getenv("PATH"), "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere")
	ended := h.call(t, "a=1")
	code := h.screen.await(t, `answer 1 yes --code (\d{6})`)[1]
	within(t, "the notification is shown", func() bool {
		_, err := os.Stat(shown)
		return err == nil
	})
	h.press(t, `Allow call 1 of one/describe\?.*N no\] `, "n\n")
	ended()
	text, err := os.ReadFile(shown)
	if err != nil || !strings.Contains(string(text), "Allow a call of one/describe?") || !strings.Contains(string(text), "answer 1 yes --code "+code) || strings.Contains(string(text), `"a"`) {
		t.Errorf("got %q, %v, want the question and its code, without the arguments", text, err)
	}
}
