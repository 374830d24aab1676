//go:build unix

package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	canaryA = "CANARY-token-of-ada-1234"
	canaryB = "CANARY-token-of-bob-1234"
)

// listener is an upstream that keeps whatever it is sent.
type listener struct {
	mu    sync.Mutex
	heard strings.Builder
}

func (l *listener) serve(t *testing.T) string {
	t.Helper()
	inner := newScriptServer().HTTPHandler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		l.mu.Lock()
		fmt.Fprintln(&l.heard, r.Method, r.URL, r.Header, string(body))
		l.mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// guarded starts a host with a configuration and returns the URL of its endpoint.
func guarded(t *testing.T, config string, args ...string) (url string, words *output, home string) {
	t.Helper()
	home = t.TempDir()
	path := filepath.Join(home, "mcp.json")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	words = new(output)
	m := &cli.Main{IO: terminal.IO{Stdin: strings.NewReader(""), Stdout: words, Stderr: words, Env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")}}, Args: append([]string{"fondaco", "up", "--addr", "127.0.0.1:0", "--config", path, "--yes", "--calls"}, args...)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- m.Main(ctx) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("up: got exit code %d, want 0\n%s", code, words.String())
		}
	})
	return "http://" + words.await(t, `(?m)^LISTEN (\S+)$`)[1] + "/mcp", words, home
}

func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("ada:"+canaryA+"\nbob:"+canaryB+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// as connects with a token.
func as(t *testing.T, url, token string, revision mcp.Revision) (*mcpclient.Client, error) {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{
		HTTP: mcpclient.HTTPOptions{Header: http.Header{"Authorization": {"Bearer " + token}}}, Revisions: []mcp.Revision{revision}, Logger: quiet,
	})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

func TestTokensOfCallersAreNotForwardedToUpstreams(t *testing.T) {
	t.Parallel()
	var heard listener
	url, words, home := guarded(t, fmt.Sprintf(`{"mcpServers": {"up": {"url": %q}}}`, heard.serve(t)), "--auth-tokens", tokenFile(t))
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		c, err := as(t, url, canaryA, revision)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Call[int](t.Context(), "up__add", map[string]int{"a": 1}); got != 1 || err != nil {
			t.Errorf("got %d, %v, want 1", got, err)
		}
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	if !strings.Contains(heard.heard.String(), `"name":"add"`) {
		t.Fatalf("the upstream has heard of no call: %s", &heard.heard)
	}
	text := heard.heard.String() + words.String()
	for _, path := range files(t, home) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text += string(content)
	}
	if strings.Contains(text, "CANARY") || strings.Contains(heard.heard.String(), "Authorization") {
		t.Errorf("a token has gone further: %s", text)
	}
	if !strings.Contains(text, `subject=\"ada\"`) {
		t.Errorf("the record does not name who called: %s", text)
	}
}

func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestEachPrincipalHasProcessesOfItsOwn(t *testing.T) {
	t.Parallel()
	config := fmt.Sprintf(`{"mcpServers": {"own": {"command": %q, "env": {%q: "upstream"}}}}`, program(t), role)
	url, _, _ := guarded(t, config, "--auth-tokens", tokenFile(t))
	pids := make(map[string][]int)
	for _, token := range []string{canaryA, canaryB, canaryA} {
		c, err := as(t, url, token, mcp.V20260728)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := c.Call[int](t.Context(), "own__pid", nil)
		if err != nil {
			t.Fatal(err)
		}
		pids[token] = append(pids[token], pid)
	}
	if ada, bob := pids[canaryA], pids[canaryB]; ada[0] != ada[1] || ada[0] == bob[0] {
		t.Errorf("got %v, want one process for each of two", slices.Collect(maps.Values(pids)))
	}
}

func TestSessionsOfOtherPrincipalsDoNotExist(t *testing.T) {
	t.Parallel()
	url, _, _ := guarded(t, fmt.Sprintf(`{"mcpServers": {"own": {"command": %q, "env": {%q: "upstream"}}}}`, program(t), role), "--auth-tokens", tokenFile(t))
	send := func(token, session, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{
			"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Session-Id": {session}, "Mcp-Protocol-Version": {"2025-11-25"},
		}
		if session == "" {
			req.Header.Del("Mcp-Session-Id")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp
	}
	begun := send(canaryA, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	id := begun.Header.Get("Mcp-Session-Id")
	if begun.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("got %d and session %q", begun.StatusCode, id)
	}
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for name, want := range map[string]struct {
		token, session string
		status         int
	}{
		"owner": {canaryA, id, 200}, "other": {canaryB, id, 404}, "nobody": {"x", id, 401}, "no such session": {canaryB, "nothing", 404},
	} {
		if got := send(want.token, want.session, ping).StatusCode; got != want.status {
			t.Errorf("%s: got %d, want %d", name, got, want.status)
		}
	}
}

// A proxy on the same machine passes the public name on, and connects to a loopback address.
func TestHostWithATokenFileIsReachedByItsPublicName(t *testing.T) {
	t.Parallel()
	url, _, _ := guarded(t, `{"mcpServers": {}}`, "--auth-tokens", tokenFile(t), "--resource", "https://mcp.example.com")
	for name, want := range map[string]int{"mcp.example.com": http.StatusBadRequest, "other.example.com": http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = name
		r.Header.Set("Authorization", "Bearer "+canaryA)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: got %s, want %d", name, answer.Status, want)
		}
	}
}

func TestHostAnswersForTheNamesAndPagesOfItsFlags(t *testing.T) {
	t.Parallel()
	url, _, _ := guarded(t, `{"mcpServers": {}}`, "--allow-host", "mcp.example.com", "--allow-host", "other.example.com:8443", "--allow-origin", "https://app.example.com:443")
	for name, test := range map[string]struct {
		host, origin string
		want         int
		says         string
	}{
		"host":               {"mcp.example.com", "", http.StatusBadRequest, ""},
		"host with a port":   {"other.example.com:8443", "", http.StatusBadRequest, ""},
		"loopback":           {"localhost", "", http.StatusBadRequest, ""},
		"foreign host":       {"evil.example", "", http.StatusForbidden, `"up --allow-host HOST\" adds one`},
		"page":               {"localhost", "https://app.example.com", http.StatusBadRequest, ""},
		"page of another":    {"localhost", "https://evil.example", http.StatusForbidden, `"up --allow-origin ORIGIN\" adds one`},
		"page, other scheme": {"localhost", "http://app.example.com", http.StatusForbidden, `"up --allow-origin ORIGIN\" adds one`},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = test.host
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != test.want || !strings.Contains(string(body), test.says) {
			t.Errorf("%s: got %s, %s, want %d with %q", name, answer.Status, body, test.want, test.says)
		}
		if got := answer.Header.Get("Access-Control-Allow-Origin"); (got != "") != (name == "page") {
			t.Errorf("%s: got Access-Control-Allow-Origin %q", name, got)
		}
	}
}

// A page of another origin gets the same answer whatever the credentials of its request are, and a page of
// an allowed one can read why it is refused.
func TestPagesOfOtherOriginsLearnNothingAboutCredentials(t *testing.T) {
	t.Parallel()
	url, _, home := guarded(t, `{"mcpServers": {}}`, "--auth-tokens", tokenFile(t), "--allow-origin", "https://app.example.com")
	env := session{env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")}}
	if _, stderr, code := env.run(t.Context(), "revoke", canaryB); code != 0 {
		t.Fatalf("revoke: got %s, %d", stderr, code)
	}
	for _, path := range []string{"/mcp", "/sse"} {
		var refusals []string
		for name, test := range map[string]struct {
			token string
			want  int // for the allowed origin; 0 is no refusal of the credentials
		}{
			"valid": {canaryA, 0}, "revoked": {canaryB, 401}, "unknown": {"x", 401}, "none": {"", 401},
		} {
			for _, origin := range []string{"https://evil.example", "https://app.example.com"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, strings.TrimSuffix(url, "/mcp")+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Origin", origin)
				if test.token != "" {
					r.Header.Set("Authorization", "Bearer "+test.token)
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				answer.Header.Del("Date")
				switch allowed := origin == "https://app.example.com"; {
				case !allowed:
					refusals = append(refusals, fmt.Sprint(answer.Status, answer.Header, string(body)))
				case (answer.StatusCode == http.StatusUnauthorized) != (test.want == http.StatusUnauthorized):
					t.Errorf("%s, token %s: got %s for the allowed origin", path, name, answer.Status)
				case answer.Header.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(answer.Header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate"):
					t.Errorf("%s, token %s: got %v, want the refusal readable for the allowed origin", path, name, answer.Header)
				}
			}
		}
		slices.Sort(refusals)
		if !strings.HasPrefix(refusals[0], "403") || len(slices.Compact(refusals)) != 1 {
			t.Errorf("%s: got %q for another origin, want one 403 for all credentials", path, slices.Compact(refusals))
		}
	}
}

func TestProtectedHostRefusesOtherClients(t *testing.T) {
	t.Parallel()
	auth := newAuthority(t)
	config := `{"mcpServers": {}}`
	url, _, _ := guarded(t, config, "--auth", auth.URL, "--auth-tokens", tokenFile(t), "--scope", "use")
	base := strings.TrimSuffix(url, "/mcp")
	for name, test := range map[string]struct {
		token string
		want  int // 0 lets it in
	}{
		"a good token": {auth.mint("ada", base, "use"), 0}, "of another audience": {auth.mint("ada", "https://other.example", "use"), 401},
		"without the scope": {auth.mint("ada", base, "read"), 403}, "of the file": {canaryA, 0}, "nonsense": {"x", 401},
	} {
		_, err := as(t, url, test.token, mcp.V20260728)
		refused, _ := errors.AsType[*mcpclient.HTTPError](err)
		if test.want == 0 && err != nil || test.want != 0 && (refused == nil || refused.Status != test.want) {
			t.Errorf("%s: got %v, want status %d", name, err, test.want)
		}
	}
	for path, want := range map[string]int{
		"/mcp": 401, "/sse": 401, "/": 200, "/readyz": 200, "/healthz": 200, "/.well-known/oauth-protected-resource": 200, "/debug/pprof/": 404,
	} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want || want == 401 && !strings.Contains(resp.Header.Get("WWW-Authenticate"), "resource_metadata=") {
			t.Errorf("%s: got %d, %v, want %d", path, resp.StatusCode, resp.Header, want)
		}
		if strings.HasPrefix(path, "/.well") && !strings.Contains(string(body), auth.URL) {
			t.Errorf("%s: got %s, want the authorization server", path, body)
		}
	}
}

func TestContradictoryAuthenticationFlagsAreRefused(t *testing.T) {
	t.Parallel()
	tokens := tokenFile(t)
	readable := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(readable, []byte("ada:"+canaryA), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(readable, 0o644); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"--addr 0.0.0.0:0": "without authentication",
		"--addr [::]:0":    "without authentication",
		"--addr 0.0.0.0:0 --auth https://id.example.com":                                                  "want --resource",
		"--addr 0.0.0.0:0 --behind-proxy 10.0.0.1 --auth https://id.example.com --resource http://a.test": "want https",
		"--auth http://id.example.com":                                                                    `--auth "http://id.example.com": URL of scheme "http"`,
		"--auth https://id.example.com --resource :bad":                                                   `--resource ":bad": URL: want`,
		"--auth https://id.example.com --insecure-no-auth":                                                "want one of them",
		"--allow-origin *":                           `--allow-origin "*": every web page that you visit could use the host`,
		"--allow-origin https://*.example.com":       `--allow-origin "https://*.example.com": want a scheme and a host`,
		"--allow-origin app.example.com":             `--allow-origin "app.example.com": want a scheme and a host`,
		"--allow-host https://mcp.example.com":       `--allow-host "https://mcp.example.com": want a name such as "mcp.example.com"`,
		"--allow-host *":                             `--allow-host "*": want a name`,
		"--resource https://a.test":                  "need --auth",
		"--auth-tokens " + tokens + " --scope x":     "no scopes",
		"--auth-tokens " + readable:                  "chmod 600",
		"--auth-tokens /nowhere/tokens":              "no such file",
		"--auth https://id.example.com --scope a\"b": `--scope "a\"b": want`,
	} {
		_, stderr, code := session{env: []string{"HOME=" + t.TempDir()}}.run(t.Context(), append([]string{"up", "--addr", "127.0.0.1:0"}, splitWords(flags)...)...)
		if code != 2 || !strings.Contains(stderr, want) || strings.Contains(stderr, "LISTEN") || strings.Contains(stderr, "CANARY") {
			t.Errorf("%s: got %s, %d, want %q and 2", flags, stderr, code, want)
		}
	}
}
