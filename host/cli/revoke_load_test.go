//go:build load && unix && !race

package cli_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxRevocation is how long what belongs to revoked credentials may go on.
const maxRevocation = 5 * time.Second

// openEvents opens an event stream of HTTP+SSE, and returns a channel that is closed when it ends.
func openEvents(t *testing.T, url, token string) <-chan struct{} {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(url, "/mcp")+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {"Bearer " + token}, "Accept": {"text/event-stream"}}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("got status %d", response.StatusCode)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
	}()
	return ended
}

// use makes ada use a host in all ways, and returns what has to end when she is revoked: each
// function waits for it.
func use(t *testing.T, url string) map[string]func() {
	t.Helper()
	ends := make(map[string]func())
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		c, err := as(t, url, canaryA, revision)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := c.Call[int](t.Context(), "one__pid", nil)
		if err != nil {
			t.Fatal(err)
		}
		held := hold(t, c, "one__hold")
		name := fmt.Sprintf("%s in %s: ", url, revision)
		ends[name+"call"] = func() { <-held }
		ends[name+"process"] = func() { within(t, "the process has ended", func() bool { return !runs(pid) }) }
	}
	stream := openEvents(t, url, canaryA)
	ends[url+": stream"] = func() { <-stream }
	ends[url+": credentials"] = func() {
		within(t, "the token is refused", func() bool { return statusOf(t, url, canaryA) == http.StatusUnauthorized })
	}
	return ends
}

// A failure here means that a revocation ends something later than SECURITY.md says. One of the
// hosts is not asked by the command, and has to notice the revocation by itself.
func TestLoadRevocationEndsAllWithinFiveSeconds(t *testing.T) {
	home := t.TempDir()
	_, url := startProtected(t, home)
	content := fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "upstream"}}, "asking": {"command": %[1]q, "env": {%[2]q: "upstream"}, "fondaco": {"confirm": {"pid": "always"}}}}}`, program(t), role)
	if err := errors.Join(os.Mkdir(filepath.Join(home, "elsewhere"), 0o700), os.WriteFile(filepath.Join(home, "other.json"), []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
	other := start(t, home, "env XDG_RUNTIME_DIR="+home+"/elsewhere "+program(t)+" up --yes --addr 127.0.0.1:0 --config other.json --auth-tokens tokens")
	otherURL := "http://" + other.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1] + "/mcp"
	call := "call asking/pid --url " + otherURL + " --token " + canaryA
	for _, step := range []struct {
		words string
		code  int
	}{{call, 6}, {"answer 1 yes --for always", 0}, {call, 0}} {
		if output, code := command(t, home, step.words); code != step.code {
			t.Fatalf("%s: got %s, %d, want %d", step.words, output, code, step.code)
		}
	}
	ends := use(t, url)
	for name, end := range use(t, otherURL) {
		ends[name] = end
	}
	ends["grant"] = func() {
		within(t, "the grant has ended", func() bool {
			output, _ := command(t, home, "grants")
			return !strings.Contains(output, "asking/pid")
		})
	}
	time.Sleep(maxRevocation + time.Second) // the responses of the calls have become event streams
	begin := time.Now()
	if output, code := command(t, home, "revoke ada"); code != 0 || !strings.Contains(output, "running hosts (1)") {
		t.Fatalf("got %s, %d, want one host asked", output, code)
	}
	var waiting sync.WaitGroup
	for name, end := range ends {
		waiting.Go(func() {
			end()
			if took := time.Since(begin); took > maxRevocation {
				t.Errorf("%s: ended after %v, want at most %v", name, took, maxRevocation)
			} else {
				t.Logf("%s: ended after %v", name, took)
			}
		})
	}
	waiting.Wait()
}
