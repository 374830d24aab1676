//go:build !race

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newProjectHost is a host in a terminal, with the servers of a project's file. A call of the
// tool describe of a server needs consent.
func newProjectHost(t *testing.T, servers ...string) (h *consentHost, write func(servers ...string)) {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, "project.json")
	write = func(servers ...string) {
		var entries []string
		for _, name := range servers {
			entries = append(entries, fmt.Sprintf(`%q: {"command": %q, "env": {%q: "server"}, "fondaco": {"confirm": {"describe": "always"}}}`, name, program(t), role))
		}
		if err := os.WriteFile(path, []byte(`{"mcpServers": {`+strings.Join(entries, ",")+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(servers...)
	env := []string{"FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
	return &consentHost{inTerminalAt(t, home, env, "up", "--addr", "127.0.0.1:0", "--config", path), home}, write
}

func TestHostAsksOnItsTerminalForWhatServersList(t *testing.T) {
	t.Parallel()
	h, write := newProjectHost(t, "one", "two")
	h.press(t, `Start these 2 servers now and in future\? \[y/N, s asks for each\] `, "maybe\n")
	h.press(t, `found "maybe", want y, s or n`, "y\n")
	// The servers are asked for one after the other, in the order in which they have answered.
	first := h.screen.await(t, `(?s)Ctrl-C stops it.*The server "(one|two)" .*7 new tools, 1 new prompt.*tool add .*read-only  Add two numbers.*Approve what (?:one|two) lists\? \[y/N, s shows the texts\] `)[1]
	second := map[string]string{"one": "two", "two": "one"}[first]
	h.press(t, `Approve what `+first+` lists`, "s\n")
	h.press(t, `(?s)\+  "description": "Add two numbers.*Approve what `+first+` lists\?`, "yse\n")
	h.press(t, `found "yse", want y, s or n`, "yes\n")
	h.screen.await(t, first+` is approved`)
	if text, code := h.run(t, "call", first+"/add", "a=1", "b=2"); code != 0 {
		t.Errorf("got %q, %d, want the tool to be usable", text, code)
	}
	// A call is more urgent. What is typed for the question before it is not its answer.
	h.screen.await(t, `Approve what `+second+` lists\?`)
	ended := h.callOf(t, first, "a=1")
	h.press(t, `(?s)1 Allow a call of `+first+`/describe\?.*Type (a\d+) and then one of`, "y\n")
	name := h.screen.await(t, `found "y", want (a\d+) first`)[1]
	h.press(t, name, name+" y\n")
	if text, code := ended(); code != 0 {
		t.Errorf("got %q, %d, want the call made", text, code)
	}
	// The other question comes back, and another terminal can answer it with the code.
	h.screen.await(t, `(?s)found "y", want a\d+ first.*The server "`+second+`" .*Approve what `+second+` lists\?`)
	other := inTerminalAt(t, h.home, h.Env, "approve", second)
	code := h.screen.await(t, `its code is (\d{6}): type it there\s+it wants to approve `+second+` `)[1]
	other.press(t, `Approve what `+second+` lists\? \[the code for yes, N no, s shows the texts\] `, code+"\n")
	if screen, code := other.end(t); code != 0 || !strings.Contains(screen, second+" is approved") {
		t.Errorf("got %q, %d, want it approved with one code", screen, code)
	}
	h.screen.await(t, second+`: answered elsewhere`)
	// A server that is added while the host runs is asked for, too, and a no is not asked again.
	write("one", "two", "three")
	h.press(t, `(?s)The server "three" is a program.*Type a\d+ and then one of \[y, s or n\]`, "three y\n")
	name = h.screen.await(t, `found "three y", want (a\d+) first`)[1]
	h.press(t, name, name+" n\n")
	h.screen.await(t, `not approved: three; to be asked again: \S+ approve three`)
	write("one", "two", "three", "four")
	h.press(t, `(?s)The server "four" is a program.*Start it now and in future\? \[y/N, s shows the texts\] `, "n\n")
	h.screen.await(t, `not approved: four`)
	if screen := h.screen.String(); strings.Count(screen, `The server "three" is`) != 1 {
		t.Errorf("got %q, want one question about the server that was refused", screen)
	}
}

// The process whose lists clients see was approved and runs on, and a call needs another process.
func TestTerminalAsksAboutAProgramThatChangesWhileItRuns(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path, script := filepath.Join(home, "project.json"), filepath.Join(home, "server.sh")
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	start := "#!/bin/sh\nexec '" + program(t) + "'\n"
	write(script, start, 0o700)
	write(path, fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "server"}}}}`, script, role), 0o600)
	env := []string{"FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
	h := &consentHost{inTerminalAt(t, home, env, "up", "--addr", "127.0.0.1:0", "--config", path), home}
	h.press(t, `Start it now and in future\? \[y/N\] `, "y\n")
	h.press(t, `Approve what one lists\?`, "y\n")
	h.screen.await(t, `one is approved`)
	write(script, start+"# changed\n", 0o700)
	within(t, "a call needs a process that is not approved", func() bool {
		text, code := h.run(t, "call", "one/add", "a=1")
		return code != 0 && strings.Contains(text, `a person has to approve the server "one"`)
	})
	h.press(t, `(?s)The server "one" is a program that has changed.*Start it now and in future\? \[y/N, s shows the texts\] `, "y\n")
	within(t, "the process is approved", func() bool {
		_, code := h.run(t, "call", "one/add", "a=1")
		return code == 0
	})
}

func TestSeveralApprovalsNeedOneCode(t *testing.T) {
	t.Parallel()
	h, _ := newProjectHost(t, "a", "b", "c", "d", "e")
	h.press(t, `Start these 5 servers now and in future\?`, "y\n")
	h.screen.await(t, `Approve what [a-e] lists\?`)
	within(t, "all five wait", func() bool {
		text, _ := h.run(t, "servers")
		return strings.Count(text, "definitions that wait for approval: 8") == 5
	})
	other := inTerminalAt(t, h.home, h.Env, "approve", "--all")
	code := h.screen.await(t, `its code is (\d{6}): type it there\s+it wants to approve a, b, c, d, e `)[1]
	other.press(t, `Approve all 5\? \[the code for yes, N no, s shows the texts\] `, code+"\n")
	screen, exit := other.end(t)
	if lines := strings.Count(screen, "\n"); exit != 0 || lines > 24 || !strings.Contains(screen, "e is approved") {
		t.Errorf("got %q with %d lines, %d, want one screen and one code", screen, lines, exit)
	}
	within(t, "the tools can be used", func() bool {
		_, code := h.run(t, "call", "e/add", "a=1")
		return code == 0
	})
}

func TestEndOfTheInputApprovesNothing(t *testing.T) {
	t.Parallel()
	h, _ := newProjectHost(t, "one")
	h.press(t, `Start it now and in future\? \[y/N\] `, "y\n")
	h.press(t, `Approve what one lists\?`, ctrlD)
	h.screen.await(t, `(?s)the input has ended.*waiting    one: \S+ approve one`)
	if text, code := h.run(t, "call", "one/add", "a=1"); code != 7 {
		t.Errorf("got %q, %d, want the tool to wait", text, code)
	}
}

// Where another host shows the code that is the yes, no letter can stand for it.
func TestTerminalAsksWhetherAProgramGetsAProxyWithAPassword(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "project.json")
	write := func(servers ...string) {
		var entries []string
		for _, name := range servers {
			entries = append(entries, fmt.Sprintf(`%q: {"command": %q, "env": {%q: "server"}}`, name, program(t), role))
		}
		if err := os.WriteFile(path, []byte(`{"mcpServers": {`+strings.Join(entries, ",")+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	env := []string{"FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "HTTPS_PROXY=http://user:CANARY@127.0.0.1:9", "NO_PROXY=*"}
	h := &consentHost{inTerminalAt(t, home, env, "up", "--addr", "127.0.0.1:0", "--config", path), home}
	const option = `p yes, and passes HTTPS_PROXY, which has a user or password`
	h.press(t, `(?s)withheld   HTTPS_PROXY, the URL of a proxy with a user or password.*Start it now and in future\? \[y/N, `+option+`\] `, "p\n")
	h.press(t, `Approve what one lists\?`, "y\n")
	h.screen.await(t, `one is approved`)
	passed := func() int {
		text, _ := h.run(t, "approvals", "--json")
		return strings.Count(strings.Join(strings.Fields(text), ""), `"proxies":["HTTPS_PROXY"]`)
	}
	if passed() != 1 {
		t.Error("got an approval without the proxy that the answer has named")
	}
	write("one", "two")
	h.screen.await(t, `(?s)The server "two" .*Start it now and in future\? \[y/N, s shows the texts, `+option+`\] `)
	other := inTerminalAt(t, h.home, h.Env, "approve", "two")
	h.screen.await(t, `its code is (\d{6}): type it there\s+it wants to approve two `)
	other.press(t, `Approve two\? \[the code for yes, N no, s shows the texts\] `, "p\n")
	other.press(t, `found "p", want the code, s or n`, "n\n")
	if _, code := other.end(t); code == 0 {
		t.Error("got an approval without the code")
	}
	h.press(t, `Start it now and in future\?`, "p\n")
	h.screen.await(t, `two is approved`)
	if passed() != 2 {
		t.Error("got an approval without the proxy that the answer on the running host has named")
	}
	if strings.Contains(h.screen.String(), "CANARY") {
		t.Errorf("got %q, want no value", h.screen.String())
	}
}
