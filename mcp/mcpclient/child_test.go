package mcpclient_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// behaviour is the variable that makes the test binary a server over stdio.
const behaviour = "MCPCLIENT_TEST_SERVER"

// runAsServer serves and exits when this process is the child of a test.
func runAsServer() {
	handle := func(s *script, m message) string {
		switch m.param("name") {
		case `"die"`:
			fmt.Fprintln(os.Stderr, "I was told to")
			os.Exit(3)
		case `"pid"`:
			return m.result(`{"content":[{"type":"text","text":"` + strconv.Itoa(os.Getpid()) + `"}]}`)
		case `"env"`:
			return m.result(`{"content":[{"type":"text","text":"` + os.Getenv("GIVEN") + os.Getenv("SECRET") + `"}]}`)
		}
		return m.fail(-32602, "no such tool", "")
	}
	switch os.Getenv(behaviour) {
	case "":
		return
	case "session":
		handle = session(mcp.V20250618, handle)
	case "stateless":
		handle = stateless(handle)
	case "broken":
		fmt.Fprintln(os.Stderr, "WEATHER_KEY is not set")
		os.Exit(1)
	case "help":
		fmt.Println("Usage: serve [options]")
		os.Exit(0)
	case "stack":
		for i := range 5 {
			fmt.Fprintln(os.Stderr, i, "line")
		}
		fmt.Fprint(os.Stderr, "throw new Error(\"\x1b[31mWEATHER_KEY\")\n\nError: WEATHER_KEY is not set\n    at serve.js:1\u202e\n\nNode.js v22\n")
		os.Exit(1)
	case "downloading":
		fmt.Fprintln(os.Stderr, "downloading \x1b[31mpackage 3 of 400")
		handle = func(*script, message) string { return "" }
	case "noisy":
		for i := range 5 {
			fmt.Printf("%d \x1b[31mStarting\n", i)
		}
		fmt.Println(`{"level":30,"msg":"listening"}`)
		handle = func(*script, message) string { return "" }
	case "deaf to the probe":
		fmt.Fprintln(os.Stderr, started)
		served := session(mcp.V20250618, handle)
		handle = func(s *script, m message) string {
			if m.Method == mcp.MethodDiscover {
				os.Exit(1)
			}
			return served(s, m)
		}
	}
	(&script{conn: stdio.New(os.Stdin, os.Stdout, nil, nil), handle: handle}).run()
	fmt.Fprintln(os.Stderr, endOfInput)
	os.Exit(0)
}

// started is what the server says that exits at the probe.
const started = "started"

// endOfInput is what the server says that ends because its input has ended.
const endOfInput = "end of input"

// child is this test binary as a server.
func child(t *testing.T, how string) *mcpclient.CommandTarget {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	target := mcpclient.Command(self)
	target.Env = map[string]string{
		behaviour: how,
		"GIVEN":   "given",
		"GORACE":  "atexit_sleep_ms=0", // the race detector waits a second at exit
	}
	return target
}

func TestCommandIsStartedAndEnded(t *testing.T) {
	claim.Shows(t, "R-050a", "R-073", "R-080", "R-086", "D-18")
	t.Setenv("SECRET", "secret")
	for how, want := range map[string]mcp.Revision{"session": mcp.V20250618, "stateless": mcp.V20260728} {
		t.Run(how, func(t *testing.T) {
			target := child(t, how)
			var last string
			target.Stderr = func(line string, _ int) { last = line }
			c := connect(t, target, nil)
			if got := c.Revision(); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			if got, err := c.Call[string](t.Context(), "env", nil); err != nil || got != "given" {
				t.Errorf("environment: got %q, %v, want what was given and no more", got, err)
			}
			pid := pidOf(t, c)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if last != endOfInput {
				t.Errorf("got %q at last, want a server that ends by itself", last)
			}
			if running(pid) {
				t.Errorf("process %d is still there", pid)
			}
		})
	}
}

func pidOf(t *testing.T, c *mcpclient.Client) int {
	t.Helper()
	text, err := c.Call[string](t.Context(), "pid", nil)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestExitedCommandIsRestartedAtTheNextCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-072b", "R-082a")
	lines := make(chan string, 8)
	target := child(t, "session")
	target.Stderr = func(line string, _ int) { lines <- line }
	c := connect(t, target, nil)
	first := pidOf(t, c)
	_, err := c.CallTool(t.Context(), "die", nil)
	lost, ok := errors.AsType[*mcpclient.LostError](err)
	if !ok || !strings.Contains(lost.Error(), "server exited with status 3: I was told to") {
		t.Errorf("got %v", err)
	}
	if got := <-lines; got != "I was told to" {
		t.Errorf("stderr: got %q", got)
	}
	if second := pidOf(t, c); second == first {
		t.Error("the same process")
	}
}

func TestCommandThatDoesNotRunReportsTheReason(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		target *mcpclient.CommandTarget
		want   string
	}{
		"exits": {child(t, "broken"), "the server exited with status 1 before answering initialize: WEATHER_KEY is not set"},
		"exits without a reason": {
			child(t, "help"),
			`": the server exited with status 0 before answering initialize; standard output has lines that are not messages: "Usage: serve [options]"`,
		},
		"says more than a line": {
			child(t, "stack"),
			`": the server exited with status 1 before answering initialize: 0 line | 1 line | 2 line | 3 line | 4 line | throw new Error("[31mWEATHER_KEY") | Error: WEATHER_KEY is not set | Node.js v22`,
		},
		"missing": {mcpclient.Command("no-such-program-anywhere"), `connect to command "no-such-program-anywhere": start command: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := mcpclient.Connect(t.Context(), test.target, &mcpclient.Options{Logger: quiet()})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestAnyStreamCanCarryMessages(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-087")
	ours, theirs := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		(&script{conn: stdio.New(theirs, theirs, theirs, nil), handle: stateless(pages{none: page("", "a")}.handle)}).run()
	}()
	c := connect(t, mcpclient.Conn(stdio.New(ours, ours, ours, nil)), nil)
	if got, err := names(t, c); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-served
}

// The longer timeouts are for slow machines, where the program may write late.
func TestLinesThatAreNoMessagesAreQuotedWhenConnectingFails(t *testing.T) {
	t.Parallel()
	const want = `: context deadline exceeded; standard output has lines that are not messages: "0 \x1b[31mStarting", "1 \x1b[31mStarting", "2 \x1b[31mStarting" and 3 more`
	var err error
	for _, timeout := range []time.Duration{time.Second, 10 * time.Second, 2 * time.Minute} {
		_, err = mcpclient.Connect(t.Context(), child(t, "noisy"), &mcpclient.Options{
			Logger: quiet(), Timeouts: mcpclient.TimeoutOptions{Probe: timeout / 2, Connect: timeout},
		})
		if err != nil && strings.HasSuffix(err.Error(), want) {
			return
		}
	}
	t.Errorf("got %v, want it to end in %s", err, want)
}

// The longer timeouts are for slow machines, where the program may write late.
func TestTimeoutOfAStartSaysWhatTheProgramLastWrote(t *testing.T) {
	t.Parallel()
	const want = `: context deadline exceeded; the last lines of its standard error: downloading [31mpackage 3 of 400`
	for _, timeout := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute} {
		_, err := mcpclient.Connect(t.Context(), child(t, "downloading"), &mcpclient.Options{
			Logger: quiet(), Timeouts: mcpclient.TimeoutOptions{Connect: timeout},
		})
		described, ok := errors.AsType[*mcpclient.CommandError](err)
		if !ok && timeout < 2*time.Minute {
			continue
		}
		if !ok || !strings.HasSuffix(err.Error(), want) || strings.Contains(described.Err.Error(), "downloading") {
			t.Errorf("got %v, want a CommandError that ends in %s, and its reason without that", err, want)
		}
		return
	}
}

func TestCommandThatExitsAtTheProbeIsStartedTwiceOnlyOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-083c")
	target := child(t, "deaf to the probe")
	target.Args = unique()
	lines := make(chan string, 16)
	target.Stderr = func(line string, _ int) { lines <- line }
	for i, want := range []int{2, 1, 1} {
		c := connect(t, target, nil)
		if got := c.Revision(); got != mcp.V20250618 {
			t.Errorf("got %v, want %v", got, mcp.V20250618)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		starts := 0
		for line := range lines {
			if line == started {
				starts++
			}
			if line == endOfInput { // the last line of the child that answered
				break
			}
		}
		if starts != want {
			t.Errorf("connection %d: started %d times, want %d", i+1, starts, want)
		}
	}
}

func TestRememberedCommandThatIsReplacedIsProbedAgain(t *testing.T) {
	t.Parallel()
	target := child(t, "deaf to the probe")
	target.Args = unique()
	if err := connect(t, target, nil).Close(); err != nil {
		t.Error(err)
	}
	target.Env[behaviour] = "stateless" // as after an upgrade
	for range 2 {
		c := connect(t, target, nil)
		if got := c.Revision(); got != mcp.V20260728 {
			t.Errorf("got %v, want %v", got, mcp.V20260728)
		}
	}
}

// unique returns arguments that no other test has, nor another run of the same.
func unique() []string { return []string{strconv.FormatInt(time.Now().UnixNano(), 10)} }
