//go:build !race

package cli_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// consolePages are the pages of a session of the console of a host.
type consolePages struct {
	origin, path, token string
	cookie              *http.Cookie
}

// enterConsole opens the console by a link.
func enterConsole(t *testing.T, link string) *consolePages {
	t.Helper()
	response, err := http.Get(strings.TrimSpace(link))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	cookies := response.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("%s: got %d, want a session", link, response.StatusCode)
	}
	origin, _, _ := strings.Cut(link, "/console/")
	c := &consolePages{origin: origin, path: cookies[0].Path, cookie: cookies[0]}
	_, page := c.get(t, "")
	c.token = regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(page)[1]
	return c
}

func (c *consolePages) get(t *testing.T, page string) (status int, body string) {
	t.Helper()
	return c.do(t, http.MethodGet, page, nil)
}

func (c *consolePages) post(t *testing.T, page string, fields url.Values) (status int, body string) {
	t.Helper()
	fields.Set("token", c.token)
	return c.do(t, http.MethodPost, page, fields)
}

func (c *consolePages) do(t *testing.T, method, page string, fields url.Values) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.origin+c.path+page, strings.NewReader(fields.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", c.origin)
	r.AddCookie(c.cookie)
	response, err := http.DefaultTransport.RoundTrip(r) // follows no redirect
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestConsoleAnswersOnlyWithTheCodeThatTheHostShows(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	link, _ := h.run(t, "open", "--print")
	c := enterConsole(t, link)
	ended := h.call(t, "a=1")
	code := h.screen.await(t, `answer 1 yes --code (\d{6})`)[1]
	if _, page := c.get(t, "inbox"); !strings.Contains(page, "Allow a call of one/describe?") || !strings.Contains(page, `name="code"`) || strings.Contains(page, code) {
		t.Errorf("got %s, want the question and no code", page)
	}
	wrong := "000000"
	if code == wrong {
		wrong = "000001"
	}
	for _, given := range []string{"", wrong} {
		if status, page := c.post(t, "inbox/questions/1", url.Values{"answer": {"allow"}, "for": {"always"}, "code": {given}}); status != 409 || !strings.Contains(page, "Nothing was changed") {
			t.Errorf("code %q: got %d, %s, want it refused", given, status, page)
		}
	}
	h.screen.await(t, `(?s)A command gave a wrong code.*it wants to answer question 1`)
	if status, page := c.post(t, "inbox/questions/1", url.Values{"answer": {"allow"}, "for": {"once"}, "code": {code}}); status != 303 {
		t.Errorf("got %d, %s, want the answer taken", status, page)
	}
	if text, exit := ended(); exit != 0 {
		t.Errorf("got %q, %d, want the call made", text, exit)
	}
	if _, page := c.get(t, "servers/one"); !strings.Contains(page, "<dt>calls</dt><dd>1</dd>") {
		t.Errorf("got %s, want the call counted", page)
	}
}

// enterUnapproved starts a host whose only server, one, the user has not approved, and opens its console.
func enterUnapproved(t *testing.T, home string) (*ptyProgram, *consolePages) {
	t.Helper()
	path := filepath.Join(home, ".config", "fondaco", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {"one": {"command": %q, "env": {%q: "server"}}}}`, program(t), role), 0o600); err != nil {
		t.Fatal(err)
	}
	h := inTerminalAt(t, home, []string{"FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}, "up", "--addr", "127.0.0.1:0")
	h.press(t, `Start it now and in future\?`, "n\n")
	return h, enterConsole(t, h.screen.await(t, `(http://\S+/console/login\?key=\w+)`)[1])
}

func TestConsoleApprovesOnlyWithTheCodeThatTheHostShows(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	h, c := enterUnapproved(t, home)
	_, page := c.get(t, "inbox")
	id := regexp.MustCompile(`inbox/approvals/(\w+)"`).FindStringSubmatch(page)
	if id == nil || !strings.Contains(page, "Start one?") || !strings.Contains(page, program(t)) || !strings.Contains(page, "SHA-256") {
		t.Fatalf("got %s, want what the approval covers", page)
	}
	at := "inbox/approvals/" + id[1]
	for _, given := range []string{"", "000000"} {
		if status, page := c.post(t, at, url.Values{"do": {"approve"}, "code": {given}}); status != 409 {
			t.Errorf("code %q: got %d, %s, want it refused", given, status, page)
		}
	}
	if status, page := c.post(t, at, url.Values{"do": {"code"}}); status != 303 {
		t.Fatalf("got %d, %s, want a code shown", status, page)
	}
	code := h.screen.await(t, `its code is (\d{6}): type it there\s+it wants to approve one `)[1]
	if _, page := c.get(t, "servers/one"); !strings.Contains(page, "needs approval") {
		t.Errorf("got %s, want it not approved", page)
	}
	if status, page := c.post(t, "inbox/approvals/0000", url.Values{"do": {"approve"}, "code": {code}}); status != 409 || !strings.Contains(page, "does not wait any more") {
		t.Errorf("something else: got %d, %s, want it refused", status, page)
	}
	if status, page := c.post(t, at, url.Values{"do": {"approve"}, "code": {code}}); status != 303 {
		t.Errorf("got %d, %s, want it approved", status, page)
	}
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "servers/one")
		return strings.Contains(page, `<dt>processes</dt>`), page
	})
	record, err := os.ReadFile(filepath.Join(home, ".local", "state", "fondaco", "audit.jsonl"))
	if err != nil || !regexp.MustCompile(`"action":"approve".*"reason":"by the user, in the console"`).Match(record) {
		t.Errorf("got %s, %v, want how it was approved", record, err)
	}
}

func TestCallOfTheConsoleNeedsConsentAsThatOfAClient(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	link, _ := h.run(t, "open", "--print")
	c := enterConsole(t, link)
	if _, page := c.get(t, "try"); !strings.Contains(page, "one/describe") {
		t.Errorf("got %s, want the tools", page)
	}
	called := make(chan string, 1)
	go func() {
		status, page := c.post(t, "try/tool?name=one__describe&raw=1", url.Values{"json": {`{"a":1}`}})
		called <- fmt.Sprint(status, page)
	}()
	h.press(t, `(?s)1 Allow a call of one/describe\?.*client     fondaco-console.*N no\] `, "n\n")
	if page := <-called; !strings.Contains(page, "the user said no") {
		t.Errorf("got %s, want the refusal of the user", page)
	}
	if status, page := c.post(t, "try/tool?name=one__describe&raw=1", url.Values{"json": {`{"a":"b"`}}); status != 409 || !strings.Contains(page, "Nothing was sent") {
		t.Errorf("got %d, %s, want nothing sent", status, page)
	}
	record, err := os.ReadFile(filepath.Join(h.home, ".local", "state", "fondaco", "audit.jsonl"))
	if err != nil || !regexp.MustCompile(`"client":"fondaco-console.*"action":"call".*"outcome":"refused"`).Match(record) {
		t.Errorf("got %s, %v, want the call recorded", record, err)
	}
}

func TestConsoleShowsTheConfigurationWithoutItsValues(t *testing.T) {
	t.Parallel()
	words, home, _ := begin(t, "", "--yes")
	words.await(t, upstreamsStarted)
	link, _, _ := session{env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")}}.run(t.Context(), "open", "--print")
	c := enterConsole(t, link)
	_, page := c.get(t, "config")
	for _, want := range []string{"good", "API_KEY", program(t), filepath.Join(home, "mcp.json")} {
		if !strings.Contains(page, want) {
			t.Errorf("got %s, want %s", page, want)
		}
	}
	_, decisions := c.get(t, "audit?server=good")
	if !strings.Contains(decisions, ">approve<") || !strings.Contains(decisions, "by --yes") {
		t.Errorf("got %s, want the approval", decisions)
	}
	if _, other := c.get(t, "audit?server=other"); !strings.Contains(other, "No line of the audit log matches") {
		t.Errorf("got %s, want nothing of another server", other)
	}
	status, verified := c.post(t, "audit/verify", url.Values{})
	if status != 200 || !strings.Contains(verified, "The audit log is as it was written.") {
		t.Errorf("got %d, %s, want it verified", status, verified)
	}
	for _, text := range []string{page, decisions, verified} {
		if strings.Contains(text, "cAnArY") {
			t.Errorf("got %s, want no value", text)
		}
	}
}

// consoleHost is a running host with servers, and its console.
func consoleHost(t *testing.T, config string, flags ...string) (*ptyProgram, *consolePages) {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, ".config", "fondaco", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	h := inTerminalAt(t, home, []string{"FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}, append([]string{"up", "--addr", "127.0.0.1:0"}, flags...)...)
	return h, enterConsole(t, h.screen.await(t, `(http://\S+/console/login\?key=\w+)`)[1])
}

func TestConsoleSwitchesAServerOffAndOn(t *testing.T) {
	t.Parallel()
	h, c := consoleHost(t, fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "server"}}}}`, program(t), role), "--yes")
	page := func(want string) {
		t.Helper()
		awaitCondition(t, func() (bool, string) {
			_, page := c.get(t, "servers/one")
			return strings.Contains(page, want), page
		})
	}
	page(`<dt>process ids</dt><dd>`)
	_, before := c.get(t, "servers/one")
	if found := regexp.MustCompile(`<dt>process ids</dt><dd>(\d+) \(\d+[\d.]* [KM]iB\)</dd>`).FindStringSubmatch(before); found == nil {
		t.Errorf("got %s, want the process with its memory", before)
	} else if stat, err := os.ReadFile("/proc/" + found[1] + "/cmdline"); err != nil || !strings.Contains(string(stat), filepath.Base(program(t))) {
		t.Errorf("got process %s, %q, %v, want that of the server", found[1], stat, err)
	}
	if status, page := c.post(t, "servers/one/disable", url.Values{}); status != 303 {
		t.Fatalf("got %d, %s, want it switched off", status, page)
	}
	page(`You have switched it off`)
	if _, page := c.get(t, "try"); strings.Contains(page, "one/describe") {
		t.Errorf("got %s, want no tool of it", page)
	}
	commands := session{env: []string{"HOME=" + h.home, "XDG_RUNTIME_DIR=" + h.home, "PATH=" + os.Getenv("PATH")}}
	if stdout, stderr, exit := commands.run(t.Context(), "servers", "one"); exit != 0 || !strings.Contains(stdout, "off") || !strings.Contains(stdout, "switched off in the console") {
		t.Errorf("servers: got %s, %s, %d, want it off", stdout, stderr, exit)
	}
	if _, stderr, exit := commands.run(t.Context(), "call", "one/describe", "a=1"); exit != 4 || !strings.Contains(stderr, `server "one" is switched off in the console`) {
		t.Errorf("call: got %s, %d, want it off", stderr, exit)
	}
	// What is switched on is recorded before: without the line it stays off.
	log := filepath.Join(h.home, ".local", "state", "fondaco", "audit.jsonl")
	if err := errors.Join(os.Rename(log, log+".away"), os.Mkdir(log, 0o700)); err != nil { // it cannot be opened
		t.Fatal(err)
	}
	if status, page := c.post(t, "servers/one/enable", url.Values{}); status != 409 || !strings.Contains(page, "Not switched on") || !strings.Contains(page, "You have switched it off") {
		t.Errorf("without the audit log: got %d, %s, want it off", status, page)
	}
	if err := errors.Join(os.Remove(log), os.Rename(log+".away", log)); err != nil {
		t.Fatal(err)
	}
	if status, page := c.post(t, "servers/one/enable", url.Values{}); status != 303 {
		t.Fatalf("got %d, %s, want it switched on", status, page)
	}
	page(`<dt>process ids</dt><dd>`)
	page(`switched off in the console`) // the log outlasts it
	if status, page := c.post(t, "servers/one/restart", url.Values{}); status != 303 {
		t.Fatalf("got %d, %s, want it restarted", status, page)
	}
	record, err := os.ReadFile(log)
	if want := `(?s)"action":"switch off".*"grantedBy":".*in the console".*"action":"switch on".*"grantedBy":".*in the console".*"action":"restart".*"grantedBy":".*in the console"`; err != nil || !regexp.MustCompile(want).Match(record) {
		t.Errorf("got %s, %v, want who has switched it off and on, and restarted it", record, err)
	}
	if n := strings.Count(string(record), `"action":"switch on"`); n != 1 {
		t.Errorf("got %d lines that it was switched on, want that of the time when it was", n)
	}
	if status, _ := c.post(t, "servers/two/disable", url.Values{}); status != 409 {
		t.Errorf("got %d, want that there is no such server", status)
	}
}

func TestServerThatIsSwitchedOnIsNotApproved(t *testing.T) {
	t.Parallel()
	_, c := enterUnapproved(t, t.TempDir())
	for _, action := range []string{"disable", "enable", "retry", "restart"} {
		if status, page := c.post(t, "servers/one/"+action, url.Values{}); status != 303 {
			t.Errorf("%s: got %d, %s", action, status, page)
		}
	}
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "servers/one")
		return strings.Contains(page, `needs approval</span>`), page
	})
	if status, page := c.post(t, "servers/one/signin", url.Values{}); status != 409 || !strings.Contains(page, "needs approval before a sign-in") {
		t.Errorf("got %d, %s, want nothing sent to it", status, page)
	}
}

func TestConsoleSignsIn(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-10")
	a := newAuthority(t)
	srv := mcpserver.New("cloud", "1", &mcpserver.Options{Logger: quiet})
	srv.Tool("now", "The time", func(context.Context, struct{}) (string, error) { return "noon", nil })
	srv.Tool("export", "Export", func(context.Context, struct{}) (string, error) { return "exported", nil }, mcpserver.Scopes("export"))
	h, c := consoleHost(t, fmt.Sprintf(`{"mcpServers": {"cloud": {"url": %q}}}`, a.protect(t, srv)), "--yes")
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "servers/cloud")
		return strings.Contains(page, `id="signin"`), page
	})
	if _, page := c.get(t, "inbox"); !strings.Contains(page, "Sign in to cloud?") || !strings.Contains(page, "servers/cloud/signin") || !strings.Contains(page, `<span class="count">1`) {
		t.Errorf("got %s, want the sign-in in the inbox", page)
	}
	if status, page := c.post(t, "servers/cloud/signedin", url.Values{"address": {"http://127.0.0.1/x"}}); status != 409 || !strings.Contains(page, "no sign-in waits") {
		t.Errorf("got %d, %s, want that none waits", status, page)
	}
	if status, page := c.post(t, "servers/cloud/signin", url.Values{}); status != 303 {
		t.Fatalf("got %d, %s, want a sign-in begun", status, page)
	}
	_, page := c.get(t, "servers/cloud")
	link := regexp.MustCompile(`id="signin-link" href="([^"]+)"`).FindStringSubmatch(page)
	if link == nil || !strings.Contains(page, "<b>"+strings.TrimPrefix(a.URL, "http://")+"</b>") {
		t.Fatalf("got %s, want the address with its host set apart", page)
	}
	if status, page := c.post(t, "servers/cloud/signedin", url.Values{"address": {"http://127.0.0.1/x?code=1&state=2"}}); status != 409 || !strings.Contains(page, "not the redirect address") {
		t.Errorf("got %d, %s, want another address refused", status, page)
	}
	visit(html.UnescapeString(link[1]))
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "servers/cloud")
		return strings.Contains(page, `<dt>tools</dt><dd>2</dd>`) && strings.Contains(page, "signed in") && !strings.Contains(page, "signin-link"), page
	})
	if _, page := c.get(t, "inbox"); !strings.Contains(page, "Nothing waits for you.") {
		t.Errorf("got %s, want nothing in the inbox after the sign-in", page)
	}

	// A call that needs one scope more offers the sign-in again, and goes through after it.
	commands := &consentHost{h, h.home}
	if text, exit := commands.run(t, "call", "cloud/export"); exit != 3 || !strings.Contains(text, "auth login cloud") {
		t.Errorf("got %q, %d, want it refused with the command", text, exit)
	}
	if _, page := c.get(t, "inbox"); !strings.Contains(page, "scopes were not granted: <code>export</code>") || !strings.Contains(page, `<span class="count">1`) {
		t.Errorf("got %s, want the sign-in in the inbox", page)
	}
	if status, page := c.post(t, "servers/cloud/restart", url.Values{}); status != 303 { // the scopes are not only in memory
		t.Fatalf("got %d, %s, want the server connected to again", status, page)
	}
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "inbox")
		return strings.Contains(page, "scopes were not granted: <code>export</code>"), page
	})
	if status, page := c.post(t, "servers/cloud/signin", url.Values{}); status != 303 {
		t.Fatalf("got %d, %s, want a sign-in begun", status, page)
	}
	_, page = c.get(t, "servers/cloud")
	if link = regexp.MustCompile(`id="signin-link" href="([^"]+)"`).FindStringSubmatch(page); link == nil || !strings.Contains(link[1], "export") {
		t.Fatalf("got %s, want the scope requested", page)
	}
	visit(html.UnescapeString(link[1]))
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "inbox")
		return strings.Contains(page, "Nothing waits for you."), page
	})
	if text, exit := commands.run(t, "call", "cloud/export"); exit != 0 || !strings.Contains(text, "exported") {
		t.Errorf("got %q, %d, want the call made", text, exit)
	}
}

// openPage keeps a page of the console open as a browser does, until close is called.
func (c *consolePages) openPage(t *testing.T) (closePage func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.origin+c.path+"live?page=inbox", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(c.cookie)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := response.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return func() {
		cancel()
		_ = response.Body.Close()
	}
}

// A host without a terminal and a desktop has the console alone to show a code.
func TestCommandsNeedTheCodeOfAnOpenConsole(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "mcp.json")
	config := fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "server"}, "fondaco": {"confirm": {"describe": "always"}}}, "two": {"command": %q, "env": {%q: "server"}, "args": ["two"]}}}`,
		program(t), role, program(t), role)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), "FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "PATH=" + os.Getenv("PATH")}
	run := func(args ...string) (string, int) {
		t.Helper()
		stdout, stderr, code := session{env: env}.run(t.Context(), args...)
		return stdout + stderr, code
	}
	if text, code := run("approve", "one", "--yes", "--config", path); code != 0 {
		t.Fatalf("got %s, %d, want it approved", text, code)
	}
	words := new(output)
	up := &cli.Main{IO: terminal.IO{Stdin: strings.NewReader(""), Stdout: words, Stderr: words, Env: env}, Args: []string{"fondaco", "up", "--addr", "127.0.0.1:0", "--config", path}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- up.Main(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	words.await(t, upstreamsStarted)
	link, _ := run("open", "--print")
	c := enterConsole(t, link)
	closePage := c.openPage(t)
	called := make(chan string, 1)
	go func() {
		text, _ := run("call", "one/describe", "a=1")
		called <- text
	}()
	var code []string
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "inbox")
		code = regexp.MustCompile(`<code>fondaco answer 1</code> needs the code (\d{6})`).FindStringSubmatch(page)
		return code != nil, page
	})
	if text, exit := run("answer", "1", "yes"); exit == 0 {
		t.Errorf("without the code: got %s, want it refused", text)
	}
	wrong := "000000"
	if code[1] == wrong {
		wrong = "000001"
	}
	if text, exit := run("answer", "1", "yes", "--code", wrong); exit != 6 || !strings.Contains(text, "the code is wrong") {
		t.Errorf("with a wrong code: got %s, %d, want it refused", text, exit)
	}
	if text, exit := run("answer", "1", "yes", "--code", code[1]); exit != 0 {
		t.Errorf("with the code: got %s, %d, want it answered", text, exit)
	}
	if text := <-called; strings.Contains(text, "a person has to allow") {
		t.Errorf("got %s, want the call made", text)
	}

	if text, exit := run("approve", "two", "--yes", "--config", path); exit == 0 {
		t.Errorf("got %s, want a code asked for", text)
	}
	_, page := c.get(t, "inbox")
	wanted := regexp.MustCompile(`It wants to approve two[^<]*type this code there: <b>(\d{6})</b>`).FindStringSubmatch(page)
	if wanted == nil {
		t.Fatalf("got %s, want the code for the command", page)
	}
	if strings.Contains(page, "inbox/approvals/") || !strings.Contains(page, "approve two") {
		t.Errorf("got %s, want the command alone: a page that shows the code approves nothing", page)
	}
	if text, exit := run("approve", "two", "--yes", "--config", path, "--code", wanted[1]); exit != 0 {
		t.Errorf("with the code: got %s, %d, want it approved", text, exit)
	}
	if _, page := c.get(t, "inbox"); strings.Contains(page, "type this code there") {
		t.Errorf("got %s, want the code gone", page)
	}

	closePage()
	awaitCondition(t, func() (bool, string) { // as where no host shows questions
		text, exit := run("approve", "two", "--yes", "--config", path)
		return exit == 0, text
	})
}

// A new root is a directory that a server gets, so it needs the code, as what a person allows does.
func TestConsoleChangesRootsWithTheCodeThatTheHostShows(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-316b")
	dir := t.TempDir()
	h, c := consoleHost(t, fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "server", "SHOW_ROOTS": "yes"}}}}`, program(t), role), "--yes")
	h.screen.await(t, `Ctrl-C stops it`)
	host := &consentHost{h, h.home}
	add := func(code string) (int, string) {
		return c.post(t, "servers/one/addroot", url.Values{"do": {"add"}, "dir": {dir}, "code": {code}})
	}
	if status, page := c.post(t, "servers/one/addroot", url.Values{"do": {"add"}, "dir": {"src"}}); status != 409 || !strings.Contains(page, "want an absolute path") {
		t.Errorf("got %d, %s, want the path refused", status, page)
	}
	if status, page := add(""); status != 409 {
		t.Errorf("without a code: got %d, %s, want it refused", status, page)
	}
	if status, page := c.post(t, "servers/one/addroot", url.Values{"do": {"code"}, "dir": {dir}}); status != 303 {
		t.Fatalf("got %d, %s, want a code", status, page)
	}
	code := h.screen.await(t, `(?s)its code is (\d{6}): type it there.*it wants to give `+regexp.QuoteMeta(dir[:20]))[1]
	if status, page := c.post(t, "servers/one/addroot", url.Values{"do": {"add"}, "dir": {h.home}, "code": {code}}); status != 409 {
		t.Errorf("for another directory: got %d, %s, want it refused", status, page)
	}
	if status, page := add(code); status != 303 {
		t.Fatalf("got %d, %s, want it added", status, page)
	}
	_, page := c.get(t, "servers/one")
	id := regexp.MustCompile(`name="root" value="(\w+)"`).FindStringSubmatch(page)
	if id == nil || !strings.Contains(page, ">"+dir+"</code>") {
		t.Fatalf("got %s, want the root", page)
	}
	if text, exit := host.run(t, "call", "one/where"); exit != 0 || !strings.Contains(text, dir) {
		t.Errorf("got %q, %d, want the server to get it", text, exit)
	}
	if status, page := c.post(t, "servers/one/removeroot", url.Values{"root": {id[1]}}); status != 303 {
		t.Fatalf("got %d, %s, want it removed", status, page)
	}
	if text, exit := host.run(t, "roots", "one"); exit != 0 || strings.Contains(text, dir) {
		t.Errorf("got %q, %d, want it out of the file", text, exit)
	}
	record, err := os.ReadFile(filepath.Join(h.home, ".local", "state", "fondaco", "audit.jsonl"))
	if want := `(?s)"action":"add root".*` + dir + `.*in the console".*"action":"remove root".*` + dir + `.*in the console"`; err != nil || !regexp.MustCompile(want).Match(record) {
		t.Errorf("got %s, %v, want who has added and removed it", record, err)
	}
}

// What a project's server gets needs an approval, whoever changes the file.
func TestRootThatTheConsoleAddsToAProjectNeedsApproval(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	path := filepath.Join(project, ".mcp.json")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {"one": {"command": %q, "env": {%q: "server"}}}}`, program(t), role), 0o600); err != nil {
		t.Fatal(err)
	}
	approve := inTerminalAt(t, home, []string{userKey}, "approve", "one", "--config", path)
	approve.press(t, `Approve one\? \[y/N`, "y\n")
	if screen, code := approve.end(t); code != 0 {
		t.Fatalf("got %q, %d, want it approved", screen, code)
	}
	h := inTerminalAt(t, home, []string{userKey}, "up", "--addr", "127.0.0.1:0", "--config", path)
	c := enterConsole(t, h.screen.await(t, `(http://\S+/console/login\?key=\w+)`)[1])
	if status, page := c.post(t, "servers/one/addroot", url.Values{"do": {"code"}, "dir": {"/srv"}}); status != 303 {
		t.Fatalf("got %d, %s, want a code", status, page)
	}
	code := h.screen.await(t, `(?s)its code is (\d{6}): type it there.*it wants to give /srv as a root to the server one`)[1]
	if status, page := c.post(t, "servers/one/addroot", url.Values{"do": {"add"}, "dir": {"/srv"}, "code": {code}}); status != 303 {
		t.Fatalf("got %d, %s, want it added", status, page)
	}
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "servers/one")
		return strings.Contains(page, `needs approval</span>`), page
	})
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "inbox")
		return strings.Contains(page, "roots, in addition: /srv"), page
	})
}
