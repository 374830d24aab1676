//go:build !race

package cli_test

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// inspect runs the command for a server as long as the test, and enters its console once the server is ready.
func inspect(t *testing.T, server ...string) (s session, c *consolePages) {
	t.Helper()
	s, c = inspectUnready(t, server...)
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "servers/server")
		return strings.Contains(page, "ready"), page
	})
	return s, c
}

// inspectUnready is inspect for a server that does not become ready by itself.
func inspectUnready(t *testing.T, server ...string) (s session, c *consolePages) {
	t.Helper()
	home := t.TempDir()
	env := []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), "FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
	var words, link output
	m := &cli.Main{IO: terminal.IO{Stdout: &link, Stderr: &words, Env: env}, Args: append([]string{"fondaco", "inspect", "--no-open"}, server...)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- m.Main(ctx) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("got exit code %d, want 0\n%s", code, words.String())
		}
		_ = filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				t.Errorf("got the file %s, want nothing written", path)
			}
			return nil
		})
	})
	c = enterConsole(t, link.await(t, `(?s)^(http://127\.0\.0\.1:\d+/console/login\?key=\S+)`)[1])
	return session{env: env}, c
}

func TestInspectOpensTheConsoleOnOneServer(t *testing.T) {
	t.Parallel()
	s, c := inspect(t, "--", "env", role+"=server", program(t))
	if _, page := c.get(t, "try"); !strings.Contains(page, "server/add") || strings.Contains(page, ">Configuration<") {
		t.Errorf("got %s, want the tools of the server, and no page of a configuration", page)
	}
	_, page := c.post(t, "try/tool?name=server__add", url.Values{"/a": {"3"}, "/b": {"4"}})
	line := regexp.MustCompile(`<code data-copy>fondaco (call [^<]+)</code>`).FindStringSubmatch(page)
	if line == nil {
		t.Fatalf("got %s, want the command of a terminal", page)
	}
	stdout, stderr, code := s.run(t.Context(), words(html.UnescapeString(line[1]))...)
	if code != 0 || strings.TrimSpace(stdout) != "7" {
		t.Errorf("%s: got %q, %q, %d, want 7", line[1], stdout, stderr, code)
	}
	if _, page := c.post(t, "try/prompt?name=server__greet", url.Values{"/name": {"A"}, "suggest": {"/name"}}); !strings.Contains(page, "Alan</button>") {
		t.Errorf("got %s, want the suggestions of the server", page)
	}
	if status, _ := c.post(t, "try/watch", url.Values{"uri": {"note://a"}}); status != 303 {
		t.Errorf("got %d, want a resource watched", status)
	}
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "try/watch/1")
		return strings.Contains(page, "It is watched since") && strings.Contains(page, "a note"), page
	})
	if status, _ := c.post(t, "check", url.Values{}); status != 303 {
		t.Errorf("got %d, want the checks begun", status)
	}
	awaitCondition(t, func() (bool, string) {
		_, page = c.get(t, "check")
		return strings.Contains(page, "Checks of "), page
	})
	if !strings.Contains(page, "unknown-method") || !strings.Contains(page, " 0 faults") {
		t.Errorf("got %s, want the checks of messages, and no fault", page)
	}
}

func TestInspectedServerIsOneProcessForTheConsoleAndTheEndpoint(t *testing.T) {
	t.Parallel()
	_, c := inspect(t, "--", "env", role+"=upstream", program(t))
	_, page := c.post(t, "try/tool?name=server__pid", url.Values{})
	pid := regexp.MustCompile(`<pre tabindex="0">(\d+)</pre>`).FindStringSubmatch(page)
	if pid == nil {
		t.Fatalf("got %s, want the number of the process", page)
	}
	line := regexp.MustCompile(`(?s)id="curl">(.*?)</pre>`).FindStringSubmatch(page)
	if line == nil {
		t.Fatalf("got %s, want a line for curl", page)
	}
	if _, answer := runCurl(t, html.UnescapeString(line[1])); !strings.Contains(answer, `"`+pid[1]+`"`) {
		t.Errorf("got %s, want the process %s", answer, pid[1])
	}
}

func TestInspectedServerAsksOnThePage(t *testing.T) {
	t.Parallel()
	_, c := inspect(t, "--", "env", role+"=server", program(t))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.origin+c.path+"live?page=inbox", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(c.cookie)
	stream, err := http.DefaultTransport.RoundTrip(r) // as long as a page is open the user can answer
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	called := make(chan string, 1)
	go func() {
		_, page := c.post(t, "try/tool?name=server__book", url.Values{})
		called <- page
	}()
	var id []string
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "inbox")
		id = regexp.MustCompile(`id="answer-(\w+)"`).FindStringSubmatch(page)
		return id != nil, page
	})
	fields := url.Values{"answer": {"accept"}, "/row": {"7"}, "/window": {"true"}, "/class": {`"first"`}}
	if status, page := c.post(t, "inbox/questions/"+id[1], fields); status != 303 {
		t.Errorf("got %d, %s, want the answer taken", status, page)
	}
	if page := <-called; !strings.Contains(page, "booked first") {
		t.Errorf("got %s, want the call to go on with the answer", page)
	}
}

// The token ends with the command: inspectUnready fails the test if a file is written.
func TestInspectSignsInInItsConsole(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, c := inspectUnready(t, a.protect(t, newScriptServer()))
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "servers/server")
		return strings.Contains(page, `id="signin"`), page
	})
	if status, page := c.post(t, "servers/server/signin", url.Values{}); status != 303 {
		t.Fatalf("got %d, %s, want a sign-in begun", status, page)
	}
	_, page := c.get(t, "servers/server")
	link := regexp.MustCompile(`id="signin-link" href="([^"]+)"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("got %s, want the address of the sign-in", page)
	}
	visit(html.UnescapeString(link[1]))
	awaitCondition(t, func() (bool, string) {
		_, page := c.get(t, "servers/server")
		return strings.Contains(page, "ready") && strings.Contains(page, "signed in"), page
	})
	if _, page := c.post(t, "try/tool?name=server__add", url.Values{"/a": {"3"}, "/b": {"4"}}); !strings.Contains(page, ">7<") {
		t.Errorf("got %s, want the tool called with the token", page)
	}
}

func TestInspectSendsHeadersToAURL(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(keyed(newScriptServer().HTTPHandler()))
	t.Cleanup(web.Close)
	_, c := inspect(t, web.URL, "--header", "X-Gateway-Key: open-sesame")
	if _, page := c.get(t, "try"); !strings.Contains(page, "server/add") {
		t.Errorf("got %s, want the tools of the server", page)
	}
}

func TestCurlLineOfTheConsoleMakesTheCall(t *testing.T) {
	t.Parallel()
	type book struct {
		Region string `json:"region" header:"Region"`
		Note   string `json:"note"`
	}
	srv := mcpserver.New("library", "1.0.0", &mcpserver.Options{Logger: quiet})
	srv.Tool("find", "Find a book", func(_ context.Context, in book) (string, error) { return "found in " + in.Region + in.Note, nil })
	srv.Prompt("plan", "Plan a visit", func(_ context.Context, p person) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{mcpserver.UserMessage("Greet " + p.Name + ".")}, nil
	})
	srv.Resource("note://a", "A note", "text/plain", func(context.Context) ([]byte, error) { return []byte("a note"), nil })
	web := httptest.NewServer(srv.HTTPHandler())
	t.Cleanup(web.Close)
	_, c := inspect(t, web.URL)
	for _, request := range []struct {
		page        string
		fields      url.Values
		header, got string
	}{
		{"try/tool?name=server__find", url.Values{"/region": {"eu"}, "/note": {" \u202eit's"}}, "Mcp-Param-Region: eu", `found in eu`},
		{"try/prompt?name=server__plan", url.Values{"/name": {"Ada"}}, "Mcp-Name: server__plan", "Greet Ada."},
		{"try/resource", url.Values{"uri": {"note://a"}}, "Mcp-Method: resources/read", "a note"},
	} {
		_, page := c.post(t, request.page, request.fields)
		m := regexp.MustCompile(`(?s)id="curl">(.*?)</pre>`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("got %s, want a line for curl", page)
		}
		line := html.UnescapeString(m[1])
		if status, answer := runCurl(t, line); status != 200 || !strings.Contains(answer, request.got) || !strings.Contains(line, request.header) {
			t.Errorf("%s: got %d, %s, want %s", line, status, answer, request.got)
		}
	}
}

// runCurl sends what a line of curl sends.
func runCurl(t *testing.T, line string) (status int, answer string) {
	t.Helper()
	all := words(strings.ReplaceAll(line, `'\''`, "\x00")) // a quote in quotes
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "\x00", "'")
	}
	if len(all) < 5 || all[0] != "curl" || all[1] != "-sS" || all[len(all)-2] != "--data-raw" {
		t.Fatalf("got %q, want a line for curl", all)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, all[2], strings.NewReader(all[len(all)-1]))
	if err != nil {
		t.Fatal(err)
	}
	for i := 3; i < len(all)-2; i += 2 {
		name, value, ok := strings.Cut(all[i+1], ": ")
		if all[i] != "-H" || !ok {
			t.Fatalf("got %q, want a header", all[i:i+2])
		}
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
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

// words returns the words of a line that has quotes of a shell around some of them.
func words(line string) (all []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}
