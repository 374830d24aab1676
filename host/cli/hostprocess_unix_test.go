//go:build unix

package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/claim"
)

// configureOne writes a configuration of one server that works, under a name.
func configureOne(t *testing.T, path, key string) {
	t.Helper()
	content := fmt.Sprintf(`{"mcpServers": {%q: {"command": %q, "args": ["a b"], "env": {%q: "quick", "API_KEY": "cAnArY-1234"}}}}`, key, program(t), role)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// begin starts a host with a configuration of one server, in a home of its own.
func begin(t *testing.T, stdin string, args ...string) (words *output, home string, end func()) {
	t.Helper()
	home = t.TempDir()
	path := filepath.Join(home, "mcp.json")
	configureOne(t, path, "good")
	words = new(output)
	m := &cli.Main{IO: terminal.IO{Stdin: strings.NewReader(stdin), Stdout: words, Stderr: words, Interactive: stdin != "", Env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")}}, Args: append([]string{"fondaco", "up", "--addr", "127.0.0.1:0", "--config", path}, args...)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- m.Main(ctx) }()
	end = func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("up: got exit code %d, want 0\n%s", code, words.String())
		}
		ended <- 0
	}
	t.Cleanup(end)
	return words, home, end
}

// upstreamsStarted is printed when each upstream is ready or has failed, or takes long.
const upstreamsStarted = `(?m)^Ctrl-C stops it`

// status asks a host what is running, once each upstream is ready or has failed: the summary does
// not wait for one that takes long.
func status(t *testing.T, words *output, home string) *control.Status {
	t.Helper()
	words.await(t, upstreamsStarted)
	port := words.await(t, `(?m)^LISTEN 127\.0\.0\.1:(\d+)$`)[1]
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	c := control.NewClient(control.Path(filepath.Join(home, "run", "fondaco"), number))
	var s *control.Status
	awaitCondition(t, func() (bool, string) {
		if s, err = c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		starting := slices.ContainsFunc(s.Upstreams, func(u host.Status) bool { return u.State == host.Starting })
		return !starting, fmt.Sprintf("%+v", s)
	})
	return s
}

func TestProgramIsNotStartedWithoutApproval(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-363a")
	words, home, _ := begin(t, "")
	words.await(t, `upstream   good    needs approval    fondaco approve good --config \S+   `+regexp.QuoteMeta(program(t))+` 'a b'`)
	if s := status(t, words, home); s.Upstreams[0].State != host.NeedsApproval || s.Upstreams[0].Key != "good" {
		t.Errorf("got %+v, want it waiting", s)
	}
	if strings.Contains(words.String(), "[y/N]") {
		t.Errorf("got %s, want no question where nobody can answer", words.String())
	}
}

func TestProgramIsShownInFullAndStartedOnConsent(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-363a")
	for answer, want := range map[string]host.State{"y\n": host.Ready, "YES\n": host.Ready, "n\n": host.NeedsApproval, "\n": host.NeedsApproval, "yep\n": host.NeedsApproval} {
		t.Run(strings.TrimSpace(answer), func(t *testing.T) {
			t.Parallel()
			words, home, _ := begin(t, answer)
			if s := status(t, words, home); s.Upstreams[0].State != want {
				t.Errorf("got %+v, want it %s", s, want)
			}
			for _, shown := range []string{
				`The server "good" is a program`, "\n  " + program(t) + " 'a b'\n", "program    " + program(t),
				"with       API_KEY\n", "with       " + role + "\n", "[y/N]",
			} {
				if !strings.Contains(words.String(), shown) {
					t.Errorf("got %s, want %s", words.String(), shown)
				}
			}
			if strings.Contains(words.String(), "cAnArY") {
				t.Errorf("got %s, want no secret shown", words.String())
			}
		})
	}
}

func TestApprovalIsRememberedAndNoticed(t *testing.T) {
	t.Parallel()
	words, home, _ := begin(t, "")
	words.await(t, `needs approval`)
	// Another process approves it, which the running one notices.
	other := new(output)
	m := &cli.Main{IO: terminal.IO{Stdin: strings.NewReader("y\n"), Stdout: other, Stderr: other, Interactive: true, Env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")}}, Args: []string{"fondaco", "up", "--addr", "127.0.0.1:0", "--config", filepath.Join(home, "mcp.json")}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- m.Main(ctx) }()
	other.await(t, `upstream   good    ready`)
	words.await(t, `upstream   good    ready`)
	cancel()
	<-ended
}

func TestConfigurationIsReadAgain(t *testing.T) {
	t.Parallel()
	words, home, _ := begin(t, "", "--yes")
	words.await(t, upstreamsStarted)
	path := filepath.Join(home, "mcp.json")
	configureOne(t, path, "better")
	words.await(t, `configuration: reloaded`)
	words.await(t, `upstream   better    ready`)
	if s := status(t, words, home); len(s.Upstreams) != 1 || s.Upstreams[0].Key != "better" {
		t.Errorf("got %+v, want what the file says now", s)
	}
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"better": {"command": 7}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	words.await(t, `mcp\.json:1:\d+: /mcpServers/better/command: found a number, want a string, or an array of strings\n  the running servers are unchanged`)
	if s := status(t, words, home); s.Upstreams[0].State != host.Ready {
		t.Errorf("got %+v, want what was running to go on", s)
	}
}

func TestHangupReadsTheConfigurationAgain(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	configureOne(t, filepath.Join(home, "mcp.json"), "good")
	p := start(t, home, program(t)+" up --yes --addr 127.0.0.1:0 --config mcp.json")
	p.stderr.await(t, upstreamsStarted)
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.stderr.await(t, `configuration: reloaded`)
	if code := p.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}

func TestEachCallIsPrintedWhenAskedForAndRecordedInAnyCase(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-219e", "R-220")
	for _, asked := range []bool{true, false} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			t.Parallel()
			args := []string{"--yes"}
			if asked {
				args = append(args, "--calls")
			}
			words, home, end := begin(t, "", args...)
			s := session{env: []string{"HOME=" + home, "FONDACO_URL=http://" + words.await(t, `(?m)^LISTEN (\S+)$`)[1] + "/mcp"}}
			if _, stderr, code := s.run(t.Context(), "call", "good/pid"); code != 0 {
				t.Fatal(stderr)
			}
			end()
			if printed := regexp.MustCompile(`(?m)^  call       good/pid   done   \d+ ms$`).MatchString(words.String()); printed != asked {
				t.Errorf("got %s, want the line printed: %v", words.String(), asked)
			}
			record, err := os.ReadFile(filepath.Join(home, ".local", "state", "fondaco", "audit.jsonl"))
			if err != nil || !regexp.MustCompile(`"client":"fondaco-cli [^"]+","upstream":"good","action":"call","name":"pid","arguments":"[0-9a-f]{32}","outcome":"done"`).Match(record) || !strings.Contains(string(record), `"action":"start","outcome":"done"`) ||
				!strings.Contains(string(record), `"outcome":"done","reason":"by --yes"`) {
				t.Errorf("got %s, %v, want the approval, the start and the call", record, err)
			}
			if strings.Contains(string(record), "cAnArY") {
				t.Errorf("got %s, want no secret", record)
			}
		})
	}
}

func TestPortTakenByAHostOfTheUserNamesIt(t *testing.T) {
	t.Parallel()
	words, home, _ := begin(t, "", "--yes")
	addr := words.await(t, `(?m)^LISTEN (\S+)$`)[1]
	_, stderr, code := session{env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")}}.run(t.Context(), "up", "--addr", addr)
	if want := fmt.Sprintf("your host with process ID %d uses the port", os.Getpid()); code != 1 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "--addr") {
		t.Errorf("got %q, %d, want %s", stderr, code, want)
	}
}

// What other programs' configurations say of trust counts for nothing.
func TestTrustInOtherConfigurationsIsIgnored(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	started := filepath.Join(home, "started")
	path := filepath.Join(home, "mcp.json")
	content := fmt.Sprintf(`{"mcpServers": {"x": {"command": "touch", "args": [%q], "trust": true, "autoApprove": ["*"], "alwaysAllow": ["*"]}}}`, started)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, home, program(t)+" up --addr 127.0.0.1:0 --config "+path)
	p.stderr.await(t, upstreamsStarted)
	time.Sleep(50 * time.Millisecond)
	if _, err := os.Stat(started); !os.IsNotExist(err) || !strings.Contains(p.stderr.String(), "needs approval") {
		t.Errorf("got %v, %s, want nothing started", err, p.stderr.String())
	}
}

func TestChangedToolWaitsUntilItIsApproved(t *testing.T) {
	t.Parallel()
	words, home, end := begin(t, "", "--yes")
	words.await(t, `upstream   good    ready`)
	end()
	// The same server comes with another definition, as if it had been updated.
	path := filepath.Join(home, "mcp.json")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(content), `"env": {`, fmt.Sprintf(`"env": {%q: "Tell something else", `, descriptionVariable), 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, home, program(t)+" up --addr 127.0.0.1:0 --yes --config mcp.json")
	p.stderr.await(t, `waiting    good: changed tool "pid"; .* approve good`)
	url := "http://" + p.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1] + "/mcp"
	call := start(t, home, program(t)+" call good/pid --url "+url)
	if code := call.end(t); code != 7 || !strings.Contains(call.stderr.String(), "waits for approval, because it is changed") {
		t.Errorf("got %d, %s, want the change", code, call.stderr.String())
	}
	approve := start(t, home, program(t)+" approve good --yes --config mcp.json")
	if code := approve.end(t); code != 0 {
		t.Errorf("got %d, want it approved", code)
	}
	for _, want := range []string{`-  "description": "Tell the number of the process"`, `+  "description": "Tell something else"`} {
		if !strings.Contains(approve.stderr.String(), want) {
			t.Errorf("got %s, want %s", approve.stderr.String(), want)
		}
	}
	for deadline := time.Now().Add(maxWait); start(t, home, program(t)+" call good/pid --url "+url).end(t) != 0; {
		if time.Now().After(deadline) {
			t.Fatal("the tool is still unknown, want it called after its approval")
		}
	}
	p.signal(t, syscall.SIGTERM)
}

// A server that does not answer delays neither the host's address nor the requests to it.
func TestSlowServerDoesNotDelayListening(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"slow": {"command": "sleep", "args": ["600"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, home, program(t)+" up --addr 127.0.0.1:0 --yes --config "+path)
	base := "http://" + p.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1]
	response, err := http.Get(base + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("got %s, want 200", response.Status)
	}
	if strings.Contains(p.stderr.String(), "upstream   slow") {
		t.Errorf("got %s, want the address before the state of the server", p.stderr.String())
	}
	if code := p.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}
