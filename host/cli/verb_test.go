package cli_test

import (
	"context"
	"encoding/json/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestVerbsPrintDataAndExitWithTheirCodes(t *testing.T) {
	t.Parallel()
	s := up(t)
	tests := []struct {
		command        string
		stdout, stderr string // patterns of the whole
		code           int
	}{
		{"tools", `(?s)^demo/calculate\tEvaluate an .*demo/write_note\t[^\n]+\n$`, `^$`, 0},
		{"tools demo/convert", `(?s)^demo/convert\n  Convert .*\n  value\trequired\tnumber\t\n  from\trequired\tone of m, km`, `^$`, 0},
		{"tools demo__convert", `^demo/convert\n`, `^$`, 0},
		{"tools nope", `^$`, `tool "nope": unknown; fondaco tools lists them\n`, 2},
		{"call demo/calculate expression=0.1+0.2", `^{"exact":"3/10","float":0.3}\n$`, `^$`, 0},
		{"call demo__calculate expression=2*3", `"exact":"6"`, `^$`, 0},
		{"call demo/time zone=Europe/Rome", `"zone":"Europe/Rome"`, `^$`, 0},
		{"call demo/time zone=Nowhere/City", `^$`, `^demo/time failed: zone "Nowhere/City": unknown; want an IANA name`, 5},
		{"call demo/calculate expression=1/0 --json", `(?s)^{.*"isError": true.*}\n$`, `^$`, 5},
		{"call demo/convert value=3 from=km", `^$`, `demo/convert: argument "to" is missing, want one of m, km, .*: unit wanted, of the same quantity\n`, 2},
		{"call demo/convert value=x from=km to=mi", `^$`, `argument "value": found x, want a number`, 2},
		{"call demo/uuid count=0", `^$`, `demo/uuid failed: `, 5},
		{"call demo/nope", `^$`, `tool "demo/nope": unknown`, 2},
		{"call", `^$`, `want the name of a tool`, 2},
		{"call demo/uuid --args {} count=1", `^$`, `found both --args and "count=1"`, 2},
		{`call demo/convert --args {"value":1,"from":"km","to":"m"}`, `^{"value":1000,"unit":"m"}\n$`, `^$`, 0},
		{"resources", `(?s)^clock://now\tClock\ttext/plain\t.*notes://{title}\tNote\ttext/markdown\t`, `^$`, 0},
		{"read notes://welcome", `^# Welcome\n`, `^$`, 0},
		{"read notes://nope", `^$`, `notes://nope.*not found`, 1},
		{"read", `^$`, `found 0 operands, want one URI`, 2},
		{"prompts", `^demo/review\tcode=… \[language=…\]\tReview code\n`, `^$`, 0},
		{"prompt demo/review code=x:=1 language=Go", "^user:\nReview this Go code\\.(?s).*x:=1", `^$`, 0},
		{"prompt demo/review", `^$`, `demo/review: argument "code" is missing, want a string: the code to review`, 2},
		{"prompt demo/review cod=x", `^$`, `found "cod=x", want code=… \[language=…\]`, 2},
		{"version", `^fondaco \S+ \(go1\.`, `^$`, 0},
		{"--version", `^fondaco `, `^$`, 0},
		{"help", `(?s)^fondaco brings .*call NAME \[KEY=VALUE\.\.\.\]`, `^$`, 0},
		{"--help", `^fondaco brings `, `^$`, 0},
		{"help call", `^usage: fondaco call NAME`, `^$`, 0},
		{"call --help", `^usage: fondaco call NAME`, `^$`, 0},
		{"help nope", `^$`, `verb "nope": unknown`, 2},
		{"nope", `^$`, `^fondaco: verb "nope": unknown; fondaco help lists them\n$`, 2},
		{"", `^$`, `want a verb`, 2},
		{"tools --nope", `^$`, `flag provided but not defined: -nope\nfondaco tools --help shows how it is used\n$`, 2},
		{"tools a b", `^$`, `found 2 names, want one or none`, 2},
		{"up x", `^$`, `found "x", want no operands`, 2},
		{"up --addr 7332", `^$`, `--addr "7332": want HOST:PORT`, 2},
		{"up --addr 0.0.0.0:0", `^$`, `other machines could reach it.*--insecure-no-auth`, 2},
		{"up --addr :0", `^$`, `other machines could reach it`, 2},
		{"up --config /no/such/file", `^$`, `configuration: open /no/such/file`, 2},
	}
	for _, test := range tests {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := s.run(t.Context(), words(test.command)...)
			if code != test.code {
				t.Errorf("got exit code %d, want %d", code, test.code)
			}
			if !regexp.MustCompile(test.stdout).MatchString(stdout) {
				t.Errorf("got standard output %q, want %s", stdout, test.stdout)
			}
			if !regexp.MustCompile(test.stderr).MatchString(stderr) {
				t.Errorf("got standard error %q, want %s", stderr, test.stderr)
			}
		})
	}
}

// words splits a command at spaces.
func words(command string) []string { return strings.Fields(command) }

func TestArgumentsAreReadFromStandardInput(t *testing.T) {
	t.Parallel()
	s := up(t)
	s.stdin = `{"text": "from a pipe"}`
	stdout, stderr, code := s.run(t.Context(), "call", "demo/text_stats", "--args", "-")
	if code != 0 || !strings.Contains(stdout, `"words":3`) {
		t.Errorf("got %q, %q, %d, want the statistics", stdout, stderr, code)
	}
}

func TestFlagsStandAnywhereButAfterTwoDashes(t *testing.T) {
	t.Parallel()
	s := up(t)
	for _, args := range [][]string{
		{"call", "--json", "demo/text_stats", "text=-a"},
		{"call", "demo/text_stats", "--json", "text=-a"},
		{"call", "demo/text_stats", "text=-a", "--json"},
		{"call", "--json", "--", "demo/text_stats", "text=-a"},
	} {
		stdout, stderr, code := s.run(t.Context(), args...)
		if code != 0 || !strings.HasPrefix(stdout, "{\n") {
			t.Errorf("%q: got %q, %q, %d, want JSON", args, stdout, stderr, code)
		}
	}
	if _, stderr, code := s.run(t.Context(), "tools", "--", "--json"); code != 2 || !strings.Contains(stderr, `tool "--json": unknown`) {
		t.Errorf("got %q, %d, want --json to be a name", stderr, code)
	}
}

func TestJSONIsOneValue(t *testing.T) {
	t.Parallel()
	s := up(t)
	for command, member := range map[string]string{
		"tools": "", "tools demo/time": "inputSchema", "call demo/uuid": "content", "resources": "resourceTemplates",
		"read clock://now": "contents", "prompts": "", "prompt demo/summarize text=x": "messages", "version": "revisions",
	} {
		stdout, stderr, code := s.run(t.Context(), append(words(command), "--json")...)
		var value any
		if err := json.Unmarshal([]byte(stdout), &value); err != nil || code != 0 {
			t.Errorf("%s: got %q, %q, %d, want one JSON value: %v", command, stdout, stderr, code, err)
			continue
		}
		if object, _ := value.(map[string]any); member != "" && object[member] == nil {
			t.Errorf("%s: got %v, want a member %q", command, value, member)
		}
		if list, _ := value.([]any); member == "" && len(list) == 0 {
			t.Errorf("%s: got %v, want a list", command, value)
		}
	}
}

func TestWatchPrintsOneLinePerEvent(t *testing.T) {
	t.Parallel()
	s := up(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, words output
	m := &cli.Main{Stdout: &out, Stderr: &words, Args: []string{"fondaco", "watch", "--json"}, Env: s.env}
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
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(out.String(), "notes://new"); time.Sleep(50 * time.Millisecond) {
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
			Time  time.Time `json:"time"`
			Event string    `json:"event"`
			URI   string    `json:"uri"`
			List  string    `json:"list"`
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
	case <-time.After(10 * time.Second):
		t.Error("the server was not told")
	}
}

func TestNothingListensIsExplained(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := session{}
	for _, verb := range []string{"tools", "call x", "watch", "resources", "read x://y", "prompts", "prompt x"} {
		stdout, stderr, code := s.run(t.Context(), append(words(verb), "--url", gone.URL+"/mcp")...)
		if code != 4 || stdout != "" || !strings.Contains(stderr, "nothing answers at "+gone.URL+"/mcp; fondaco up starts a host there") {
			t.Errorf("%s: got %q, %q, %d, want an explanation and 4", verb, stdout, stderr, code)
		}
	}
}

func TestHelpOfEachVerbFitsOneScreen(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"up", "tools", "call", "watch", "resources", "read", "prompts", "prompt", "version", "help"} {
		stdout, _, code := session{}.run(t.Context(), verb, "--help")
		lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		if code != 0 || len(lines) > 24 || !strings.Contains(stdout, "\nexample:\n  fondaco "+verb) {
			t.Errorf("%s: got %d and %d lines, want at most 24 with an example:\n%s", verb, code, len(lines), stdout)
		}
		for _, line := range lines {
			if len([]rune(line)) > 80 {
				t.Errorf("%s: got a line of %d characters, want 80: %s", verb, len([]rune(line)), line)
			}
		}
	}
}
