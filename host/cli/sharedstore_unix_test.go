//go:build unix

package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
)

// storeTest has hosts on several machines, which share a store and a configuration.
type storeTest struct {
	config string
	env    string // the variables of all commands
}

func newStoreTest(t *testing.T, store string) *storeTest {
	t.Helper()
	dir := t.TempDir()
	s := &storeTest{
		config: filepath.Join(dir, "mcp.json"),
		env:    fmt.Sprintf("FONDACO_KEYS=%q FONDACO_STORE=%q", testKeys, store),
	}
	content := fmt.Sprintf(`{"mcpServers": {"up": {"command": %q, "env": {%q: "upstream"}}}}`, program(t), role)
	if err := os.WriteFile(s.config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a command on a machine.
func (s *storeTest) run(t *testing.T, home, command string) *process {
	t.Helper()
	return start(t, home, fmt.Sprintf("env %s XDG_RUNTIME_DIR=%q %s %s", s.env, filepath.Join(home, "run"), program(t), command))
}

// up starts a host on a machine of its own and returns its address.
func (s *storeTest) up(t *testing.T, flags string) (*process, string) {
	t.Helper()
	p := s.run(t, t.TempDir(), "up --addr 127.0.0.1:0 --config "+s.config+" "+flags)
	return p, p.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1]
}

// open opens a session at a host.
func open(t *testing.T, addr string) (session string) {
	t.Helper()
	status, header, body := post(t, addr, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if status != http.StatusOK {
		t.Fatalf("initialize: got status %d, body %s", status, body)
	}
	return header.Get("Mcp-Session-Id")
}

// awaitCondition waits until a condition holds, which says what it has found.
func awaitCondition(t *testing.T, holds func() (bool, string)) {
	t.Helper()
	for deadline := time.Now().Add(maxWait); ; time.Sleep(20 * time.Millisecond) {
		ok, found := holds()
		switch {
		case ok:
			return
		case time.Now().After(deadline):
			t.Fatalf("after %v: got %s", maxWait, found)
		}
	}
}

// pidIn returns the process ID in the result of the tool pid, empty if there is none.
func pidIn(body string) string {
	if match := pidText.FindStringSubmatch(body); match != nil {
		return match[1]
	}
	return ""
}

var pidText = regexp.MustCompile(`"text":"(\d+)"`)

func TestApprovalIsSharedByMachines(t *testing.T) {
	t.Parallel()
	s := newStoreTest(t, testengine.Redis(t).URL)
	host, addr := s.up(t, "")
	host.stderr.await(t, `upstream +up +needs approval`)
	admin := s.run(t, t.TempDir(), "approve up --yes --config "+s.config)
	if code := admin.end(t); code != 0 {
		t.Fatalf("got exit code %d, want 0\n%s", code, admin.stderr.String())
	}
	session := open(t, addr)
	awaitCondition(t, func() (bool, string) {
		status, body := callPID(t, addr, session)
		return pidIn(body) != "", fmt.Sprint(status, body)
	})
	listed := s.run(t, t.TempDir(), "approvals")
	if code := listed.end(t); code != 0 || !strings.Contains(listed.stdout.String(), "up") {
		t.Errorf("got exit code %d, %s, want the approval\n%s", code, listed.stdout.String(), listed.stderr.String())
	}
}

func TestStoreNeedsKeys(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, store := range []string{"redis://user:CANARY@127.0.0.1:1", "file:" + filepath.Join(home, "store.db")} {
		p := start(t, home, fmt.Sprintf("%s up --addr 127.0.0.1:0 --store %q", program(t), store))
		if code := p.end(t); code != 2 || !strings.Contains(p.stderr.String(), "a store needs the variable FONDACO_KEYS") {
			t.Errorf("got exit code %d, %s, want 2 and what is missing", code, p.stderr.String())
		}
	}
}

func TestUnreachableStoreIsNamedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, store := range []string{
		"redis://user:CANARY@127.0.0.1:1", "nats://user:CANARY@127.0.0.1:1", "postgres://user:CANARY@127.0.0.1:1/x", "redis://user:CANARY%@127.0.0.1:1", "mysql://user:CANARY@127.0.0.1",
	} {
		p := start(t, t.TempDir(), fmt.Sprintf("env FONDACO_KEYS=%q %s up --addr 127.0.0.1:0 --store %q", testKeys, program(t), store))
		if code, said := p.end(t), p.stderr.String(); code == 0 || strings.Contains(said, "CANARY") || !strings.Contains(said, "open store") {
			t.Errorf("%s: got exit code %d, %s, want an error without the password", store, code, said)
		}
	}
}

func TestRevocationOnOneMachineHoldsOnAnother(t *testing.T) {
	t.Parallel()
	s := newStoreTest(t, testengine.Redis(t).URL)
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("laptop:0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, addr := s.up(t, "--auth-tokens "+tokens)
	status := func() int {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/mcp", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	if got := status(); got == http.StatusUnauthorized {
		t.Fatalf("got status %d before the revocation", got)
	}
	admin := s.run(t, t.TempDir(), "revoke laptop")
	if code := admin.end(t); code != 0 {
		t.Fatalf("got exit code %d, want 0\n%s", code, admin.stderr.String())
	}
	awaitCondition(t, func() (bool, string) {
		got := status()
		return got == http.StatusUnauthorized, fmt.Sprint("status ", got)
	})
}

func TestFileKeepsSessionsOverARestart(t *testing.T) {
	t.Parallel()
	s := newStoreTest(t, "file:"+filepath.Join(t.TempDir(), "store.db"))
	host, addr := s.up(t, "--yes")
	session := open(t, addr)
	second := s.run(t, t.TempDir(), "up --addr 127.0.0.1:0 --config "+s.config)
	if code := second.end(t); code == 0 || !strings.Contains(second.stderr.String(), fmt.Sprint(host.Process.Pid)) {
		t.Errorf("a second host of the file: got exit code %d, %s, want the process that has it", code, second.stderr.String())
	}
	host.signal(t, syscall.SIGTERM)
	_, addr = s.up(t, "--yes")
	if status, body := callPID(t, addr, session); status != http.StatusOK || pidIn(body) == "" {
		t.Errorf("got status %d, body %s, want the session served", status, body)
	}
}
