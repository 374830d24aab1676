//go:build unix

package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

const (
	testKeys  = "CANARYkeysAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	otherKeys = "CANARYotherAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

// startWithKeys starts a host of a configuration and returns its process and address.
func startWithKeys(t *testing.T, home, keys, addr string) (*process, string) {
	t.Helper()
	p := start(t, home, fmt.Sprintf("env FONDACO_KEYS=%q XDG_RUNTIME_DIR=%q %s up --yes --addr %s --config %s",
		keys, filepath.Join(home, "run"), program(t), addr, filepath.Join(home, "mcp.json")))
	return p, p.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1]
}

// post sends a message to a host, in a session if the id is not empty.
func post(t *testing.T, addr, session, message string) (status int, header http.Header, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	return do(t, r)
}

// do sends a request and returns the response.
func do(t *testing.T, r *http.Request) (status int, header http.Header, body string) {
	t.Helper()
	return doWith(t, http.DefaultClient, r)
}

// doWith sends a request with a client of its own.
func doWith(t *testing.T, client *http.Client, r *http.Request) (status int, header http.Header, body string) {
	t.Helper()
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(content)
}

// callPID calls the tool pid of the upstream in a session.
func callPID(t *testing.T, addr, session string) (status int, body string) {
	t.Helper()
	status, _, body = post(t, addr, session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"up__pid"}}`)
	return status, body
}

func TestHostsWithTheSameKeysServeEachOthersSessions(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	environment := filepath.Join(home, "environment")
	config := fmt.Sprintf(`{"mcpServers": {"up": {"command": "sh", "args": ["-c", "env >> %s; exec %s"], "env": {%q: "upstream"}}}}`, environment, program(t), role)
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	host, addr := startWithKeys(t, home, testKeys, "127.0.0.1:0")
	sessions := make(map[mcp.Revision]string)
	for _, revision := range []mcp.Revision{mcp.V20250326, mcp.V20250618, mcp.V20251125} {
		status, header, body := post(t, addr, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, revision))
		if status != http.StatusOK {
			t.Fatalf("initialize of %s: got status %d, body %s", revision, status, body)
		}
		sessions[revision] = header.Get("Mcp-Session-Id")
		if status, body := callPID(t, addr, sessions[revision]); status != http.StatusOK || !strings.Contains(body, `"text"`) {
			t.Fatalf("%s: got status %d, body %s, want the result", revision, status, body)
		}
	}
	other, otherAddr := startWithKeys(t, home, otherKeys+","+testKeys, "127.0.0.1:0")
	host.signal(t, syscall.SIGTERM)
	restarted, _ := startWithKeys(t, home, testKeys, addr)
	for name, at := range map[string]string{"restarted": addr, "another host": otherAddr} {
		for revision, id := range sessions {
			if status, body := callPID(t, at, id); status != http.StatusOK || !strings.Contains(body, `"text"`) {
				t.Errorf("%s, %s: got status %d, body %s, want the result", name, revision, status, body)
			}
		}
	}
	stranger, strangerAddr := startWithKeys(t, home, otherKeys, "127.0.0.1:0")
	if status, body := callPID(t, strangerAddr, sessions[mcp.V20251125]); status != http.StatusNotFound || !strings.Contains(body, "set Keys on all replicas") {
		t.Errorf("a host with other keys: got status %d, body %s, want 404 and what is missing", status, body)
	}
	all := []*process{other, restarted, stranger}
	for _, p := range all {
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range all {
		if code := p.end(t); code != 0 {
			t.Errorf("got exit code %d, want 0\n%s", code, p.stderr.String())
		}
	}
	given, err := os.ReadFile(environment)
	if err != nil || !strings.Contains(string(given), role+"=upstream") {
		t.Fatalf("got %s, %v, want the environment of the upstream", given, err)
	}
	text := host.stderr.String() + host.stdout.String() + restarted.stderr.String() + other.stderr.String()
	for _, path := range files(t, home) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text += string(content)
	}
	if strings.Contains(text, "CANARY") || strings.Contains(string(given), "FONDACO_KEYS") {
		t.Errorf("the keys were passed on or written: %s", text)
	}
}

func TestInvalidKeysEndTheHostWithoutShowingThem(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]string{
		"short": "CANARYkeysAA", "no base64": "CANARY keys of no form", "second": testKeys + ",CANARY", "twice": testKeys + "," + testKeys,
	} {
		p := start(t, t.TempDir(), fmt.Sprintf("env FONDACO_KEYS=%q %s up --addr 127.0.0.1:0", keys, program(t)))
		code := p.end(t)
		said := p.stdout.String() + p.stderr.String()
		if code != 2 || strings.Contains(said, "CANARY") || !regexp.MustCompile(`FONDACO_KEYS: .*number [12] .*want`).MatchString(said) {
			t.Errorf("%s: got exit code %d, %s, want 2 and a sentence without the value", name, code, said)
		}
	}
}
