package cli_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/cli"

	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestConfigurationErrorsAreReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	content := "{\"mcpServers\": {\n  \"Files\": {\"command\": 7},\n  \"b\": {\"command\": \"c\", \"args\": [\"\x7f\", 1]}\n}}"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := session{}.run(t.Context(), "up", "--addr", "127.0.0.1:0", "--config", path)
	for _, want := range []string{
		path + `:2:24: /mcpServers/Files/command: found a number, want a string`,
		path + `:3:39: /mcpServers/b/args/1: found a number, want a string`,
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("got %s, want %s", stderr, want)
		}
	}
	if code != 2 || stdout != "" || strings.Contains(stderr, "LISTEN") {
		t.Errorf("got %q, %q, %d, want nothing started", stdout, stderr, code)
	}
}

func TestInputsAreRequestedOnATerminalOnly(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "mcp.json")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content := `{"inputs": [{"id": "key", "description": "Key of the API"}, {"id": "region", "options": ["eu", "us"], "default": "eu"}],
		"servers": {"a": {"command": ` + strconv.Quote(self) + `, "args": ["${input:key}", "${input:region}", "${input:key}"], "env": {"` + role + `": "quick"}}}}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, interactive := range []bool{true, false} {
		var words output
		m := &cli.Main{IO: terminal.IO{Stdin: strings.NewReader("y\ns3cr3t\n\n"), Stdout: &words, Stderr: &words, Interactive: interactive, Env: []string{"HOME=" + home}}, Args: []string{"fondaco", "up", "--strict", "--addr", "127.0.0.1:0", "--config", path}}
		if !interactive {
			if code := m.Main(t.Context()); code != 2 || !strings.Contains(words.String(), `input "key": there is no terminal to ask for it; set the variable FONDACO_INPUT_KEY`) {
				t.Errorf("got exit code %d, %s, want how to give the input", code, words.String())
			}
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan int, 1)
		go func() { ended <- m.Main(ctx) }()
		words.await(t, `upstream   a    ready`)
		cancel()
		<-ended
		if got := words.String(); strings.Count(got, "Key of the API: ") != 1 || !strings.Contains(got, "region (eu, us) [eu]: ") || strings.Index(got, "[y/N]") > strings.Index(got, "Key of the API") {
			t.Errorf("got %s, want each input asked for once, after the approval", got)
		}
	}
}

func TestPortInUseIsExplained(t *testing.T) {
	t.Parallel()
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	_, stderr, code := session{env: []string{"HOME=" + t.TempDir()}}.run(t.Context(), "up", "--addr", strings.TrimPrefix(taken.URL, "http://"))
	if code != 1 || !strings.Contains(stderr, "address already in use") || !strings.Contains(stderr, "use another port with --addr") {
		t.Errorf("got %q, %d, want an explanation", stderr, code)
	}
}

func TestPageNamesTheProgram(t *testing.T) {
	t.Parallel()
	s := up(t)
	url := strings.TrimSuffix(strings.TrimPrefix(s.env[1], "FONDACO_URL="), "/mcp")
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	policy := response.Header.Get("Content-Security-Policy")
	if response.StatusCode != http.StatusOK || !strings.Contains(body.String(), url+"/mcp") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("got %d, %q, %s, want a page with the URL of the endpoint", response.StatusCode, policy, body.String())
	}
	if response, err := http.Get(url + "/other"); err != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("got %v, %v, want 404 elsewhere", response, err)
	}
}

func TestEveryRevisionIsServedAtBothEndpoints(t *testing.T) {
	t.Parallel()
	s := up(t)
	url := strings.TrimPrefix(s.env[1], "FONDACO_URL=")
	try := func(target mcpclient.Target, revision mcp.Revision) {
		t.Helper()
		c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{Revisions: []mcp.Revision{revision}})
		if err != nil {
			t.Errorf("%s at %s: %v", revision, target, err)
			return
		}
		defer c.Close()
		if got, err := c.Call[string](t.Context(), "demo__digest", map[string]string{"text": ""}); err != nil || len(got) != 64 {
			t.Errorf("%s at %s: got %q, %v, want a digest", revision, target, got, err)
		}
	}
	for _, revision := range mcp.Revisions() {
		try(mcpclient.URL(url), revision)
	}
	try(mcpclient.EventStream(strings.TrimSuffix(url, "mcp")+"sse"), mcp.V20241105)
}
