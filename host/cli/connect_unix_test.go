//go:build unix

package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tokenServer is an MCP server that wants a token.
func tokenServer(t *testing.T, challenge string) (url string) {
	t.Helper()
	inner := newScriptServer().HTTPHandler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+canaryA {
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

func TestConnectWritesNoURLThatIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	wantsToken := tokenServer(t, "Bearer")
	signsIn := tokenServer(t, `Bearer resource_metadata="http://127.0.0.1:1/.well-known/oauth-protected-resource"`)
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	for name, test := range map[string]struct {
		client string
		flags  []string
		code   int
		says   string
		has    []string // in the file; nil if there is none
	}{
		"no token":      {"cursor", []string{"--url", wantsToken}, 3, "refuses clients without credentials, nothing was written; want --token TOKEN", nil},
		"a wrong token": {"cursor", []string{"--url", wantsToken, "--token", canaryB}, 3, "refuses the credentials, nothing was written", nil},
		"the token":     {"cursor", []string{"--url", wantsToken, "--token", canaryA}, 0, "added fondaco to Cursor", []string{`"headers": {`, `"Authorization": "Bearer ` + canaryA + `"`}},
		"TOML":          {"codex", []string{"--url", wantsToken, "--header", "authorization: Bearer " + canaryA}, 0, "added fondaco to Codex", []string{"http_headers = { ", "Bearer " + canaryA}},
		"a reference":   {"cursor", []string{"--url", wantsToken, "--token", "${env:HOST_TOKEN}"}, 0, "added fondaco to Cursor", []string{`"Authorization": "Bearer ${env:HOST_TOKEN}"`}},
		"a sign-in":     {"cursor", []string{"--url", signsIn}, 0, "asks for a sign-in, which Cursor has to do", []string{signsIn}},
		"no server":     {"cursor", []string{"--url", page.URL + "/mcp"}, 4, "refuses the client, nothing was written: ", nil},
		"unreachable":   {"cursor", []string{"--url", "http://127.0.0.1:1/mcp"}, 0, "http://127.0.0.1:1/… cannot be reached now", []string{"http://127.0.0.1:1/mcp"}},
		"no URL":        {"cursor", []string{"--url", "mcp.example.com"}, 2, "--url: want an http or https URL", nil},
		"token alone":   {"cursor", []string{"--token", canaryA}, 2, "found --token or --header without --url", nil},
		"token, dry":    {"cursor", []string{"--url", wantsToken, "--token", canaryA, "--dry-run"}, 0, "", nil},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "mcp.json")
		if name == "TOML" {
			file = filepath.Join(dir, "config.toml")
		}
		stdout, stderr, code := session{env: []string{"HOME=" + dir}}.run(t.Context(), append([]string{"connect", test.client, "--file", file}, test.flags...)...)
		if code != test.code || !strings.Contains(stderr, test.says) || strings.Contains(stderr+stdout, "CANARY") {
			t.Errorf("%s: got %q, %q, %d, want %q and %d", name, stdout, stderr, code, test.says, test.code)
		}
		written, err := os.ReadFile(file)
		if (err == nil) != (test.has != nil) {
			t.Errorf("%s: got %s, %v, want a file: %v", name, written, err, test.has != nil)
		}
		for _, want := range test.has {
			if !strings.Contains(string(written), want) {
				t.Errorf("%s: got %s, want %s", name, written, want)
			}
		}
	}
}

func TestConnectWritesNoTokenBelowVersionControl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".cursor", "mcp.json")
	s := session{env: []string{"HOME=" + t.TempDir()}}
	_, stderr, code := s.run(t.Context(), "connect", "cursor", "--file", file, "--url", "http://127.0.0.1:1/mcp", "--token", canaryA)
	if code != 2 || !strings.Contains(stderr, `--token and --header: found what looks like a secret (header "Authorization")`) || strings.Contains(stderr, "CANARY") {
		t.Errorf("got %q, %d, want it refused", stderr, code)
	}
	if _, stderr, code = s.run(t.Context(), "connect", "cursor", "--file", file, "--url", "http://127.0.0.1:1/mcp", "--token", "${env:TOKEN}"); code != 0 {
		t.Errorf("a reference: got %q, %d", stderr, code)
	}
}
