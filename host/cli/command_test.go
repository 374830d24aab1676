package cli_test

import (
	"context"
	"encoding/json/v2"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// splitWords splits a command at spaces.
func splitWords(command string) []string { return strings.Fields(command) }

func TestFlagsAreAcceptedAnywhere(t *testing.T) {
	t.Parallel()
	s := up(t)
	for _, args := range [][]string{
		{"call", "--json", "demo/text_stats", "text=-a"},
		{"call", "demo/text_stats", "--json", "text=-a"},
		{"call", "demo/text_stats", "text=-a", "--json"},
	} {
		stdout, stderr, code := s.run(t.Context(), args...)
		if code != 0 || !strings.HasPrefix(stdout, "{\n") {
			t.Errorf("%q: got %q, %q, %d, want JSON", args, stdout, stderr, code)
		}
	}
}

func TestJSONIsOneVersionedObject(t *testing.T) {
	t.Parallel()
	s := up(t)
	for command, member := range map[string]string{
		"tools": "tools", "tools demo/time": "tool", "call demo/uuid": "result", "resources": "resourceTemplates",
		"read clock://now": "result", "prompts": "prompts", "prompt demo/summarize text=x": "result", "version": "revisions",
		"complete demo/review language=G": "completion", "servers": "servers", "servers demo": "server",
	} {
		stdout, stderr, code := s.run(t.Context(), append(splitWords(command), "--json")...)
		var value map[string]any
		if err := json.Unmarshal([]byte(stdout), &value); err != nil || code != 0 {
			t.Errorf("%s: got %q, %q, %d, want one JSON object: %v", command, stdout, stderr, code, err)
			continue
		}
		if value["format"] != 1.0 || value[member] == nil {
			t.Errorf("%s: got %v, want format 1 and a member %q", command, value, member)
		}
	}
}

func TestUnknownDecisionIsAUsageErrorThatListsAll(t *testing.T) {
	t.Parallel()
	s := up(t)
	_, stderr, code := s.run(t.Context(), "audit", "search", "--decision", "denid")
	if code != 2 || !strings.Contains(stderr, "did you mean denied?") || !strings.Contains(stderr, "begun, done, failed, denied") {
		t.Errorf("got %q, %d, want the decisions", stderr, code)
	}
}

func TestWatchPrintsOneLinePerEvent(t *testing.T) {
	t.Parallel()
	s := up(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, words output
	m := &cli.Main{IO: terminal.IO{Stdout: &out, Stderr: &words, Env: s.env}, Args: []string{"fondaco", "watch", "--json"}}
	ended := make(chan int, 1)
	go func() { ended <- m.Main(ctx) }()
	words.await(t, `watching 2 resources`)

	note := func(body string) {
		t.Helper()
		if _, stderr, code := s.run(t.Context(), "call", "demo/write_note", "title=new", "body="+body); code != 0 {
			t.Fatal(stderr)
		}
	}
	note("one")
	out.await(t, `"event":"changed","list":"resources"}\n`)
	words.await(t, `watching 3 resources`)
	for deadline := time.Now().Add(maxWait); !strings.Contains(out.String(), "notes://new"); time.Sleep(50 * time.Millisecond) {
		if note("again"); time.Now().After(deadline) {
			t.Fatalf("got %s, want an update of the new note", out.String())
		}
	}
	cancel()
	if code := <-ended; code != 130 {
		t.Errorf("got exit code %d, want 130", code)
	}
	for line := range strings.Lines(out.String()) {
		var event struct {
			Format int       `json:"format"`
			Time   time.Time `json:"time"`
			Event  string    `json:"event"`
			URI    string    `json:"uri"`
			List   string    `json:"list"`
		}
		if err := json.Unmarshal([]byte(line), &event, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestInterruptedCallIsCancelled(t *testing.T) {
	t.Parallel()
	cancelled := make(chan struct{})
	srv := mcpserver.New("s", "1", &mcpserver.Options{Logger: quiet})
	started := make(chan struct{})
	srv.Tool("hold", "Hold", func(ctx context.Context, _ struct{}) (string, error) {
		close(started)
		<-ctx.Done()
		close(cancelled)
		return "", ctx.Err()
	})
	s := serve(t, srv)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if stdout, stderr, code := s.run(ctx, "call", "hold"); code != 130 || stdout != "" || stderr != "" {
		t.Errorf("got %q, %q, %d, want silence and 130", stdout, stderr, code)
	}
	select {
	case <-cancelled:
	case <-time.After(maxWait):
		t.Error("the server was not told")
	}
}

func TestRefusedConnectionIsExplained(t *testing.T) {
	t.Parallel()
	const gone = "http://127.0.0.1:1/mcp"
	s := session{}
	for _, name := range []string{"tools", "call x", "watch", "resources", "read x://y", "prompts", "prompt x", "complete x a=b", "servers"} {
		stdout, stderr, code := s.run(t.Context(), append(splitWords(name), "--url", gone)...)
		if code != 4 || stdout != "" || !strings.Contains(stderr, gone) || !strings.Contains(stderr, "connection refused") {
			t.Errorf("%s: got %q, %q, %d, want an explanation and 4", name, stdout, stderr, code)
		}
	}
}

func TestHelpOfEachCommandFitsOneScreen(t *testing.T) {
	t.Parallel()
	const screen = 32
	for _, name := range []string{
		"up", "stdio", "connect", "approve", "auth", "revoke", "audit", "servers", "doctor", "check", "tools", "call", "watch", "resources", "read", "prompts", "prompt", "complete",
		"completion", "version", "help",
	} {
		stdout, _, code := session{}.run(t.Context(), name, "--help")
		lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		if code != 0 || len(lines) > screen || !strings.Contains(stdout, "\nexample:\n  fondaco "+name) {
			t.Errorf("%s: got %d and %d lines, want at most %d with an example:\n%s", name, code, len(lines), screen, stdout)
		}
		for _, line := range lines {
			if len([]rune(line)) > 80 {
				t.Errorf("%s: got a line of %d characters, want 80: %s", name, len([]rune(line)), line)
			}
		}
	}
}
