//go:build unix

package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/testengine"
)

const (
	laptopToken = "0123456789abcdef0123456789abcdef"
	deskToken   = "fedcba9876543210fedcba9876543210"
)

// writeTokens writes a file of tokens for two clients.
func writeTokens(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("laptop:"+laptopToken+"\ndesk:"+deskToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// withToken returns the headers of a client of the stateless era with a token.
func withToken(token string) http.Header {
	h := statelessHeader.Clone()
	h.Set("Authorization", "Bearer "+token)
	return h
}

func TestForwardedRequestsAreThoseOfTheirClients(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-192")
	s := newStoreTest(t, testengine.Redis(t).URL)
	tokens := writeTokens(t)
	addrs := make([]string, 3)
	for i := range addrs {
		_, addrs[i] = s.up(t, "--yes --auth-tokens "+tokens)
	}
	processes := make(map[string]string)
	for i, addr := range addrs {
		for _, token := range []string{laptopToken, deskToken} {
			status, body := callStateless(t, addr, withToken(token))
			switch got := pidIn(body); {
			case got == "":
				t.Fatalf("host %d: got status %d, body %s, want the result", i, status, body)
			case processes[token] == "":
				processes[token] = got
			case got != processes[token]:
				t.Errorf("host %d: got process %s, want %s of the same client", i, got, processes[token])
			}
		}
		if status, body := callStateless(t, addr, withToken("00000000000000000000000000000000")); status != http.StatusUnauthorized {
			t.Errorf("host %d: got status %d, body %s with an unknown token, want 401", i, status, body)
		}
		if status, _ := callStateless(t, addr, statelessHeader); status != http.StatusUnauthorized {
			t.Errorf("host %d: got status %d without a token, want 401", i, status)
		}
	}
	if processes[laptopToken] == processes[deskToken] {
		t.Error("two clients have one process")
	}
	admin := s.run(t, t.TempDir(), "revoke laptop")
	if code := admin.end(t); code != 0 {
		t.Fatalf("got exit code %d, want 0\n%s", code, admin.stderr.String())
	}
	for i, addr := range addrs {
		awaitCondition(t, func() (bool, string) {
			status, body := callStateless(t, addr, withToken(laptopToken))
			return status == http.StatusUnauthorized, fmt.Sprintf("host %d: %d %s", i, status, body)
		})
		if status, body := callStateless(t, addr, withToken(deskToken)); pidIn(body) != processes[deskToken] {
			t.Errorf("host %d: got status %d, body %s of the other client, want its process", i, status, body)
		}
	}
}

func TestHostThatEndsHandsItsCallersOver(t *testing.T) {
	t.Parallel()
	s := newStoreTest(t, testengine.Redis(t).URL)
	one, first := s.up(t, "--yes")
	_, second := s.up(t, "--yes")
	session := open(t, first)
	_, body := callPID(t, first, session)
	process := pidIn(body)
	if _, body := callPID(t, second, session); process == "" || pidIn(body) != process {
		t.Fatalf("got %s, want process %s", body, process)
	}
	if err := one.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitCondition(t, func() (bool, string) {
		status, body := callServed(t, second, session)
		if pidIn(body) == "" {
			t.Fatalf("got status %d, body %s, want the result", status, body)
		}
		return pidIn(body) != process, "the process of the host that ends"
	})
	if code := one.end(t); code != 0 {
		t.Errorf("got exit code %d, want 0\n%s", code, one.stderr.String())
	}
}
