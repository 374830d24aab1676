//go:build unix

package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

// upIn starts a host in a home.
func upIn(t *testing.T, home string, args ...string) (url string, words *output, end func()) {
	t.Helper()
	words = new(output)
	m := &cli.Main{IO: terminal.IO{Stdin: strings.NewReader(""), Stdout: words, Stderr: words, Env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")}}, Args: append([]string{"fondaco", "up", "--addr", "127.0.0.1:0"}, args...)}
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
	return "http://" + words.await(t, `(?m)^LISTEN (\S+)$`)[1] + "/mcp", words, end
}

const openHint = "every user and program of this machine can use the host"

func TestProtectRequiresATokenThatItCreates(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-364b")
	home := t.TempDir()
	path := filepath.Join(home, ".local", "state", "fondaco", "clients.tokens")
	var token string
	for range 2 { // the second start uses the same token
		url, words, end := upIn(t, home, "--protect")
		if !strings.Contains(words.String(), path) || strings.Contains(words.String(), openHint) {
			t.Errorf("got %s, want the file of the token", words.String())
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v, want mode 600", info.Mode(), err)
		}
		found := regexp.MustCompile(`(?m)^user:(\S{20,})$`).FindStringSubmatch(string(text))
		if found == nil || token != "" && found[1] != token {
			t.Fatalf("got %s, want the token %q", text, token)
		}
		token = found[1]
		if strings.Contains(words.String(), token) {
			t.Error("the token was printed")
		}
		if _, err := as(t, url, token, mcp.V20260728); err != nil {
			t.Errorf("with the token: %v", err)
		}
		if _, err := as(t, url, strings.Repeat("x", 26), mcp.V20260728); err == nil {
			t.Error("another token was accepted")
		}
		if _, stderr, code := (session{env: []string{"HOME=" + home}}).run(t.Context(), "tools", "--url", url); code != 3 {
			t.Errorf("without a token: got %d, %s, want 3", code, stderr)
		}
		if _, stderr, code := (session{env: []string{"HOME=" + home}}).run(t.Context(), "tools", "--url", url, "--token", token); code != 0 {
			t.Errorf("with --token: got %d, %s, want 0", code, stderr)
		}
		// The control socket identifies the user, who needs no token.
		if _, stderr, code := (session{env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")}}).run(t.Context(), "tools", "--url", url); code != 0 {
			t.Errorf("over the socket: got %d, %s, want 0", code, stderr)
		}
		end()
	}
}

// The commands that the host prints work where its control socket is not found, too.
func TestCommandsThatAProtectedHostPrintsWork(t *testing.T) {
	t.Parallel()
	home, elsewhere := t.TempDir(), t.TempDir()
	_, words, _ := upIn(t, home, "--protect")
	words.await(t, `(Ctrl-C stops it)`)
	commands := regexp.MustCompile(`(?m)^  fondaco (.*)$`).FindAllStringSubmatch(words.String(), -1)
	if len(commands) < 3 {
		t.Fatalf("got %s, want three commands", words.String())
	}
	for _, command := range commands {
		args := splitWords(strings.ReplaceAll(command[1], "'", ""))
		want := 0
		if args[0] == "watch" {
			args, want = append(args, "--timeout", "1s"), 8 // it watches until then
		}
		_, stderr, code := (session{env: []string{"HOME=" + elsewhere}}).run(t.Context(), args...)
		if code != want {
			t.Errorf("%s: got %d, %s, want %d", command[1], code, stderr, want)
		}
	}
}

func TestHostWithDigestsOfTokensPrintsCommandsForItsUser(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("ada:sha256:"+strings.Repeat("0", 64)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, words, _ := upIn(t, t.TempDir(), "--auth-tokens", path)
	words.await(t, `(Ctrl-C stops it)`)
	if strings.Contains(words.String(), "--token") {
		t.Errorf("got %s, want no flag for a token that is not known", words.String())
	}
}

func TestUpSaysOnceThatTheMachineCanUseTheHost(t *testing.T) {
	t.Parallel()
	_, words, _ := upIn(t, t.TempDir())
	words.await(t, upstreamsStarted)
	if n := strings.Count(words.String(), openHint); n != 1 || !strings.Contains(words.String(), "--protect") {
		t.Errorf("got %s, want the hint once", words.String())
	}
}

// endingOutput calls end when a text is written.
type endingOutput struct {
	output
	text string
	end  func()
}

func (o *endingOutput) Write(p []byte) (int, error) {
	if strings.Contains(string(p), o.text) {
		o.end()
	}
	return o.output.Write(p)
}

func TestNoTokenIsCreatedInARepository(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git", ".hg", ".svn", ".jj"} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil { // .git of a worktree is a file
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		words := &endingOutput{text: "LISTEN", end: cancel} // a host that is not refused ends, and does not hang
		m := &cli.Main{IO: terminal.IO{Stdout: words, Stderr: words, Env: []string{"HOME=" + home}}, Args: []string{"fondaco", "up", "--addr", "127.0.0.1:0", "--protect"}}
		code := m.Main(ctx)
		cancel()
		stderr := words.String()
		if code != 2 || !strings.Contains(stderr, "is below the repository "+home) || !strings.Contains(stderr, "--auth-tokens FILE") {
			t.Errorf("%s: got %d, %s, want it refused", name, code, stderr)
		}
		if _, err := os.Stat(filepath.Join(home, ".local", "state", "fondaco", "clients.tokens")); err == nil {
			t.Errorf("%s: the token was written", name)
		}
	}
}
