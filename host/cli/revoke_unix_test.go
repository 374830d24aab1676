//go:build unix && !race

package cli_test

import (
	"context"
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// startProtected starts a host with the tokens of tokenFile, a server that has a process
// for each caller, and one with a process for all of them.
func startProtected(t *testing.T, home string) (host *process, url string) {
	t.Helper()
	content := fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "upstream"}}, "shared": {"command": %[1]q, "env": {%[2]q: "upstream", %[3]q: %[4]q}, "fondaco": {"share": true}}}}`,
		program(t), role, heldVariable, filepath.Join(home, "held"))
	if err := errors.Join(
		os.WriteFile(filepath.Join(home, "mcp.json"), []byte(content), 0o600),
		os.WriteFile(filepath.Join(home, "tokens"), []byte("ada:"+canaryA+"\nbob:"+canaryB+"\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	host = start(t, home, "env XDG_RUNTIME_DIR="+home+"/run "+program(t)+" up --yes --addr 127.0.0.1:0 --config mcp.json --auth-tokens tokens")
	return host, "http://" + host.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1] + "/mcp"
}

// command runs a command to its end.
func command(t *testing.T, home, words string) (output string, code int) {
	t.Helper()
	p := start(t, home, "env XDG_RUNTIME_DIR="+home+"/run "+program(t)+" "+words)
	code = p.end(t)
	return p.stdout.String() + p.stderr.String(), code
}

// statusOf sends a ping with a token.
func statusOf(t *testing.T, url, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"},
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// hold calls a tool that does not end by itself. The channel gets how the call has ended, which
// is not by a time limit.
func hold(t *testing.T, c *mcpclient.Client, tool string) <-chan error {
	held := make(chan error, 1)
	go func() {
		_, err := c.Call[string](context.WithoutCancel(t.Context()), tool, nil, mcpclient.WithTimeout(-1))
		held <- err
	}()
	return held
}

// checkEnded waits until a held call has failed.
func checkEnded(t *testing.T, held <-chan error, what string) {
	t.Helper()
	select {
	case err := <-held:
		if err == nil {
			t.Errorf("%s: the call has succeeded, want it ended", what)
		}
	case <-time.After(maxWait):
		t.Errorf("%s: the call goes on, want it ended", what)
	}
}

// checkRefused is checkEnded for a call whose client has credentials: unless the response has started,
// which it does within five seconds, the client learns that they are not accepted any more.
func checkRefused(t *testing.T, held <-chan error, what string) {
	t.Helper()
	select {
	case err := <-held:
		refused, _ := errors.AsType[*mcpclient.HTTPError](err)
		if err == nil || strings.Contains(err.Error(), "HTTP 200") || refused != nil && refused.Status != http.StatusUnauthorized {
			t.Errorf("%s: got %v, want 401", what, err)
		}
	case <-time.After(maxWait):
		t.Errorf("%s: the call goes on, want it ended", what)
	}
}

func TestRevokeEndsAllOfAPrincipal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, url := startProtected(t, home)
	pids, held := make(map[string]int), make(map[string][]<-chan error)
	for name, session := range map[string]struct {
		token    string
		revision mcp.Revision
	}{"ada session": {canaryA, mcp.V20251125}, "ada stateless": {canaryA, mcp.V20260728}, "bob": {canaryB, mcp.V20251125}} {
		c, err := as(t, url, session.token, session.revision)
		if err != nil {
			t.Fatal(err)
		}
		if pids[name], err = c.Call[int](t.Context(), "one__pid", nil); err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"one__hold", "shared__hold"} {
			held[name] = append(held[name], hold(t, c, tool))
		}
	}
	within(t, "a call at the shared server runs", func() bool {
		_, err := os.Stat(filepath.Join(home, "held"))
		return err == nil
	})
	output, code := command(t, home, "revoke ada")
	if code != 0 || !strings.Contains(output, "ada is revoked; ended in running hosts (1)") {
		t.Fatalf("got %s, %d", output, code)
	}
	for _, name := range []string{"ada session", "ada stateless"} {
		within(t, name+": the process has ended", func() bool { return !runs(pids[name]) })
		for _, call := range held[name] {
			checkRefused(t, call, name)
		}
	}
	if got := statusOf(t, url, canaryA); got != http.StatusUnauthorized {
		t.Errorf("got status %d with the revoked token, want 401", got)
	}
	if got := statusOf(t, url, canaryB); got != http.StatusOK || !runs(pids["bob"]) {
		t.Errorf("got status %d of the other principal, want it untouched", got)
	}
	record, err := os.ReadFile(filepath.Join(home, ".local", "state", "fondaco", "audit.jsonl"))
	if err != nil || !strings.Contains(string(record), `"action":"revoke","name":"ada"`) {
		t.Errorf("got %s, %v, want the revocation recorded", record, err)
	}
	if output, code := command(t, home, "revoke"); code != 0 || !strings.Contains(output, "ada\t") {
		t.Errorf("got %s, %d, want the list", output, code)
	}
	if output, code := command(t, home, "revoke --undo ada"); code != 0 {
		t.Errorf("got %s, %d", output, code)
	}
	if got := statusOf(t, url, canaryA); got != http.StatusOK {
		t.Errorf("got status %d after --undo, want 200", got)
	}
}

func TestRevokedTokenIsRefusedByLaterHosts(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	leaked := filepath.Join(home, "leaked")
	if err := os.WriteFile(leaked, []byte(canaryA+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, code := command(t, home, "revoke @leaked"); code != 0 || strings.Contains(output, "CANARY") || !strings.Contains(output, "sha256:") {
		t.Fatalf("got %s, %d, want the digest", output, code)
	}
	_, url := startProtected(t, home)
	if got := statusOf(t, url, canaryA); got != http.StatusUnauthorized {
		t.Errorf("got status %d with the revoked token, want 401", got)
	}
	// The same principal gets another token.
	const next = "another-token-of-ada-5678"
	if err := os.WriteFile(filepath.Join(home, "tokens"), []byte("ada:"+next+"\nbob:"+canaryB+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := statusOf(t, url, next); got != http.StatusOK {
		t.Errorf("got status %d with the new token, want 200", got)
	}
	// A host that is not asked by the socket notices a revocation by itself.
	p := start(t, home, "printf %s "+next+" | env XDG_RUNTIME_DIR="+home+"/elsewhere "+program(t)+" revoke -")
	if code := p.end(t); code != 0 {
		t.Fatalf("got %d, %s", code, p.stderr.String())
	}
	within(t, "the host refuses the token", func() bool { return statusOf(t, url, next) == http.StatusUnauthorized })
}

// respelled returns the same JSON Web Token with other bits that its signature does not use, and
// with the other signature that ECDSA has for each: its s is n-s.
func respelled(t *testing.T, token string) map[string]string {
	t.Helper()
	signed, text := token[:strings.LastIndex(token, ".")+1], token[strings.LastIndex(token, ".")+1:]
	signature, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	s := new(big.Int).SetBytes(signature[32:])
	s.Sub(elliptic.P256().Params().N, s).FillBytes(signature[32:])
	return map[string]string{
		"unused bits":       token[:len(token)-1] + string(token[len(token)-1]+1),
		"another signature": signed + base64.RawURLEncoding.EncodeToString(signature),
	}
}

func TestRevokedJSONWebTokenIsRefusedInEverySpelling(t *testing.T) {
	t.Parallel()
	auth := newAuthority(t)
	url, _, home := guarded(t, `{"mcpServers": {}}`, "--auth", auth.URL)
	base := strings.TrimSuffix(url, "/mcp")
	leaked, kept := auth.mint("ada", base, ""), auth.mint("ada", base, "")
	if got := statusOf(t, url, respelled(t, leaked)["another signature"]); got != http.StatusOK {
		t.Fatalf("got status %d before the token is revoked, want 200", got)
	}
	if err := os.WriteFile(filepath.Join(home, "leaked"), []byte(leaked+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, code := command(t, home, "revoke @leaked"); code != 0 || !strings.Contains(output, "running hosts (1)") {
		t.Fatalf("got %s, %d", output, code)
	}
	for what, token := range respelled(t, leaked) {
		if got := statusOf(t, url, token); got != http.StatusUnauthorized {
			t.Errorf("%s: got status %d, want 401", what, got)
		}
	}
	if got := statusOf(t, url, kept); got != http.StatusOK {
		t.Errorf("got status %d with another token of the same principal, want 200", got)
	}
}

// The host does not wait for a body to refuse what was revoked.
func TestRefusalOfARevokedTokenEndsTheConnection(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if output, code := command(t, home, "revoke "+canaryA); code != 0 {
		t.Fatalf("got %s, %d", output, code)
	}
	_, url := startProtected(t, home)
	for body, want := range map[string]bool{"": false, "{}": true} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+canaryA)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized || response.Close != want {
			t.Errorf("body %q: got status %d, closes: %v, want 401, %v", body, response.StatusCode, response.Close, want)
		}
	}
}

func TestDamagedListOfRevocationsAcceptsNobody(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if output, code := command(t, home, "revoke eve"); code != 0 {
		t.Fatalf("got %s, %d", output, code)
	}
	host, url := startProtected(t, home)
	entries, err := filepath.Glob(filepath.Join(home, ".local", "state", "fondaco", "state", "revoked", "*"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("got %v, %v, want one entry", entries, err)
	}
	if err := os.WriteFile(entries[0]+".new", []byte("CANARY"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(entries[0]+".new", entries[0]); err != nil {
		t.Fatal(err)
	}
	within(t, "the host refuses every token", func() bool { return statusOf(t, url, canaryB) == http.StatusServiceUnavailable })
	host.signal(t, syscall.SIGTERM)
	if again := start(t, home, program(t)+" up --addr 127.0.0.1:0 --config mcp.json --auth-tokens tokens"); again.end(t) != 1 || !strings.Contains(again.stderr.String(), "revocations:") {
		t.Errorf("got %s, want no host without the list", again.stderr.String())
	}
}

func TestRevokeEndsTheSessionsOfALocalProgram(t *testing.T) {
	t.Parallel()
	_, home := startShared(t)
	c := overStdio(t, home, mcp.V20251125, &mcpclient.Options{Info: mcp.Implementation{Name: "editor", Version: "1"}})
	other := overStdio(t, home, mcp.V20251125, &mcpclient.Options{Info: mcp.Implementation{Name: "terminal", Version: "1"}})
	held := hold(t, c, "one__hold")
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if output, code := command(t, home, "revoke editor"); code != 0 || !strings.Contains(output, "sessions 1") {
		t.Errorf("got %s, %d, want one session ended", output, code)
	}
	checkEnded(t, held, "the revoked program")
	if err := other.Ping(t.Context()); err != nil {
		t.Errorf("the other program: %v", err)
	}
}

func TestRevokeEndsTheSessionOfAProgramWithAHostOfItsOwn(t *testing.T) {
	t.Parallel()
	host, home := startShared(t) // which approves the server
	if code := host.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("got exit code %d\n%s", code, host.stderr.String())
	}
	c := overStdio(t, home, mcp.V20251125, &mcpclient.Options{Info: mcp.Implementation{Name: "Code Editor", Version: "1"}})
	held := hold(t, c, "one__hold")
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if output, code := command(t, home, "revoke 'Code Editor'"); code != 0 {
		t.Errorf("got %s, %d", output, code)
	}
	checkEnded(t, held, "the revoked program")
}

func TestNamesThatCannotBeRevokedAreUsageErrors(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for words, want := range map[string]string{
		"revoke local": "control socket", "revoke anonymous": "--protect", "revoke a b": "want one", "revoke --undo": "want one",
		"revoke --undo nobody": "is not revoked", "revoke ada --code 123456": "--undo only", "revoke @/no/such": "no such file",
	} {
		if output, code := command(t, home, words); code != 2 || !strings.Contains(output, want) {
			t.Errorf("%s: got %s, %d, want %q and 2", words, output, code, want)
		}
	}
}

func TestRevokeEndsTheGrantsOfAPrincipal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	host, url := startProtected(t, home)
	content := fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "upstream"}, "fondaco": {"confirm": {"pid": "always"}}}}}`, program(t), role)
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	host.stderr.await(t, `configuration: reloaded`)
	for number, token := range []string{canaryA, canaryB} {
		call := "call one/pid --url " + url + " --token " + token
		if output, code := command(t, home, call); code != 6 {
			t.Fatalf("got %s, %d, want a question", output, code)
		}
		if output, code := command(t, home, fmt.Sprintf("answer %d yes --for always", number+1)); code != 0 {
			t.Fatalf("got %s, %d", output, code)
		}
		if output, code := command(t, home, call); code != 0 {
			t.Fatalf("got %s, %d, want the grant used", output, code)
		}
	}
	if output, code := command(t, home, "revoke ada"); code != 0 || !strings.Contains(output, "grants 1") {
		t.Errorf("got %s, %d, want one grant ended", output, code)
	}
	if output, _ := command(t, home, "grants"); strings.Contains(output, "1\tone/pid") || !strings.Contains(output, "2\tone/pid") {
		t.Errorf("got %s, want the grant of the other principal alone", output)
	}
	if output, code := command(t, home, "revoke --undo ada"); code != 0 {
		t.Fatalf("got %s, %d", output, code)
	}
	if output, code := command(t, home, "call one/pid --url "+url+" --token "+canaryA); code != 6 {
		t.Errorf("got %s, %d, want another question", output, code)
	}
}
