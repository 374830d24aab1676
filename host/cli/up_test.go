package cli_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestConfigurationMistakesAreTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	content := "{\"mcpServers\": {\n  \"Files\": {\"command\": \"x\"},\n  \"b\": {\"command\": \"c\", \"args\": [\"\x7f\", 1]}\n}}"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := session{}.run(t.Context(), "up", "--addr", "127.0.0.1:0", "--config", path)
	for _, want := range []string{
		path + `:2:9: /mcpServers/Files: name "Files": want 1 to 32 of a-z, 0-9 and '-'`,
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

func TestTakenPortIsExplained(t *testing.T) {
	t.Parallel()
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	_, stderr, code := session{env: []string{"HOME=" + t.TempDir()}}.run(t.Context(), "up", "--addr", strings.TrimPrefix(taken.URL, "http://"))
	if code != 1 || !strings.Contains(stderr, "address already in use") || !strings.Contains(stderr, "--addr names another address") {
		t.Errorf("got %q, %d, want an explanation", stderr, code)
	}
}

func TestPageSaysWhatThisIs(t *testing.T) {
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
