//go:build unix

package cli_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/terminal"
)

// headerServer is a server that keeps the headers of its requests.
type headerServer struct {
	mu      sync.Mutex
	headers []http.Header
}

func (s *headerServer) serve(t *testing.T) (url string) {
	t.Helper()
	inner := newScriptServer().HTTPHandler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.headers = append(s.headers, r.Header.Clone())
		s.mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func (s *headerServer) all() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers
}

func TestEveryCommandSendsTheTokenAndTheHeadersOfItsFlags(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("\ufeff"+canaryA+"\r\n"), 0o600); err != nil { // as editors of Windows write it
		t.Fatal(err)
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("# NAME:TOKEN\n\nrobot:sha256:"+strings.Repeat("0", 64)+"\nada:"+canaryA+"\r\nbob:"+canaryB+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	more := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(more, []byte("# of the proxy\nX-Team: blue\nX-Role: reader\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"tools", "tools add", "call add a=1", "resources", "read notes://readme", "prompts", "prompt greet", "complete greet who=A", "servers", "watch"} {
		for name, test := range map[string]struct {
			flags []string
			env   string
		}{
			"flag": {flags: []string{"--token", canaryA}}, "file": {flags: []string{"--token", "@" + file}}, "file of tokens": {flags: []string{"--token", "@" + tokens}}, "variable": {env: canaryA}, "file of the variable": {env: "@" + file},
			"header": {flags: []string{"--header", "Authorization: Bearer " + canaryA}},
		} {
			if name != "file" && command != "tools" {
				continue
			}
			t.Run(command+" "+name, func(t *testing.T) {
				t.Parallel()
				var server headerServer
				url := server.serve(t)
				args := append(splitWords(command), test.flags...)
				args = append(args, "--timeout", "20s", "--header", "@"+more)
				s := session{env: []string{"HOME=" + t.TempDir(), "FONDACO_URL=" + url, "FONDACO_TOKEN=" + test.env}}
				if test.env == "" {
					s.env = s.env[:1]
					args = append(args, "--url", url)
				}
				if command == "watch" {
					args = append(args, "--timeout", "1s")
				}
				_, stderr, _ := s.run(t.Context(), args...)
				all := server.all()
				if len(all) == 0 {
					t.Fatalf("got %s, want requests", stderr)
				}
				for _, h := range all {
					if h.Get("Authorization") != "Bearer "+canaryA || h.Get("X-Team") != "blue" || h.Get("X-Role") != "reader" {
						t.Errorf("got %v, want the headers in each request", h)
					}
				}
				if strings.Contains(stderr, "CANARY") {
					t.Errorf("got %s, want no token shown", stderr)
				}
			})
		}
	}
}

// Commands that take the URL of a server, by their help, take the headers of its requests.
func TestEveryCommandWithAURLTakesATokenAndHeaders(t *testing.T) {
	t.Parallel()
	takesURL := regexp.MustCompile(`(?m)^usage: .*\bURL\b|^  --url URL|\ba\s+URL\.`)
	var found []string
	for _, name := range cli.CommandNames() {
		help, _, _ := session{}.run(t.Context(), "help", name)
		if !takesURL.MatchString(help) || name == "policy" || name == "open" { // which send nothing to the URL
			continue
		}
		found = append(found, name)
		for _, flag := range []string{"--token TOKEN", "--header KEY: VALUE"} {
			if !strings.Contains(help, "\n  "+flag) {
				t.Errorf("%s takes a URL and not %s:\n%s", name, flag, help)
			}
		}
	}
	for _, name := range []string{"add", "auth", "call", "connect", "read", "tools"} {
		if !slices.Contains(found, name) {
			t.Errorf("got %q with a URL, want %s among them", found, name)
		}
	}
}

func TestTokenOfTheEnvironmentIsForTheServerOfTheEnvironment(t *testing.T) {
	t.Parallel()
	var named, other headerServer
	s := session{env: []string{"HOME=" + t.TempDir(), "FONDACO_URL=" + named.serve(t), "FONDACO_TOKEN=" + canaryA}}
	if _, stderr, code := s.run(t.Context(), "tools", "--url", other.serve(t)); code != 0 {
		t.Errorf("got %s, %d", stderr, code)
	}
	if all := other.all(); len(all) == 0 || all[0].Get("Authorization") != "" || len(named.all()) > 0 {
		t.Errorf("got %v, want the token sent to no other server", all)
	}
}

func TestBadTokensAndHeadersAreUsageErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte(canaryA), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	utf16 := filepath.Join(dir, "utf16")
	if err := os.WriteFile(utf16, []byte("\xff\xfeC\x00A\x00N\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"token in UTF-16":         {[]string{"--token", "@" + utf16}, utf16 + ": found text in UTF-16, want UTF-8"},
		"headers in UTF-16":       {[]string{"--header", "@" + utf16}, utf16 + ": found text in UTF-16, want UTF-8"},
		"no token":                {[]string{"--token", "CANARY with spaces"}, "want letters, digits"},
		"no such file":            {[]string{"--token", "@/no/such"}, "--token: stat /no/such"},
		"file that others read":   {[]string{"--token", "@" + open}, "others can read it; chmod 600"},
		"header without a colon":  {[]string{"--header", "CANARY"}, "want KEY: VALUE"},
		"name with a space":       {[]string{"--header", "A B: CANARY"}, "want KEY: VALUE"},
		"line break":              {[]string{"--header", "A: CANARY\r\nB: c"}, `the value of "A" has a control character`},
		"token and authorization": {[]string{"--token", canaryA, "--header", "authorization: Basic CANARY"}, "found both --token and a header Authorization"},
		"command":                 {[]string{"--token", canaryA, "--", "true"}, "want them with a server over HTTP"},
		"configuration":           {[]string{"--header", "A: b", "--config", "x.json"}, "want them with a server over HTTP"},
	} {
		args := append([]string{"tools", "--url", "http://127.0.0.1:1/mcp"}, test.args...)
		if name == "command" || name == "configuration" {
			args = append([]string{"tools"}, test.args...)
		}
		_, stderr, code := session{env: []string{"HOME=" + dir}}.run(t.Context(), args...)
		if code != 2 || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "CANARY") {
			t.Errorf("%s: got %q, %d, want %q and 2", name, stderr, code, test.want)
		}
	}
}

// A server with a certificate of a company, as behind a proxy that reads all traffic, and a server that wants a key.
func TestErrorsOfTheFirstConnectionSayWhatToDo(t *testing.T) {
	t.Parallel()
	inner := newScriptServer().HTTPHandler()
	unknown := httptest.NewUnstartedServer(inner)
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that the client refuses
	unknown.StartTLS()
	t.Cleanup(unknown.Close)
	keyed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(keyed.Close)
	home := t.TempDir()
	config := filepath.Join(home, "mcp.json")
	if err := os.WriteFile(config, []byte(`{"mcpServers": {"corp": {"url": "`+unknown.URL+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const advice = "add its authority to the store of the system, or name its file in SSL_CERT_FILE"
	for name, test := range map[string]struct {
		env, args string
		want      string
	}{
		"certificate":            {"", "tools --url " + unknown.URL, advice},
		"certificate of a file":  {"", "up --yes --addr 127.0.0.1:0 --config " + config, advice},
		"file of authorities":    {"SSL_CERT_FILE=" + home + "/none.pem", "tools --url " + keyed.URL, "SSL_CERT_FILE: open " + home + "/none.pem: no such file"},
		"key for a URL":          {"", "tools --url " + keyed.URL, "give it with --token or --header to the commands that use the server"},
		"key for a URL, sign-in": {"", "auth login " + keyed.URL + " --no-browser", "give it with --token or --header to the commands that use the server"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var words output
		m := &cli.Main{IO: terminal.IO{Stdin: strings.NewReader(""), Stdout: &words, Stderr: &words, Env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), test.env}}, Args: append([]string{"fondaco"}, splitWords(test.args)...)}
		ended := make(chan int, 1)
		go func() { ended <- m.Main(ctx) }()
		words.await(t, "(?s)"+regexp.QuoteMeta(test.want))
		cancel()
		if code := <-ended; strings.Contains(name, "URL") && code != 3 {
			t.Errorf("%s: got exit code %d, want 3", name, code)
		}
	}
}
